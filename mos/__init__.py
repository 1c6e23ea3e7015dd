"""MOS Self-Healing: the recovery layer that makes silence impossible in a content pipeline."""
