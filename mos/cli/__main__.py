"""`python -m mos.cli` is `mos`."""

from mos.cli.app import main

main()
