"""The render farm on this machine: the real nexrender server and core, with a stand-in for After Effects.

What npm lacks (a current worker) and what After Effects would do are short
scripts of ours; see docs/render-farm.md for how they differ from production.
Nothing is imported here: each render starts the stand-in anew.
"""
