"""`python -m mos.local.aws --host 127.0.0.1 --port 4566`."""

from __future__ import annotations

import argparse
import sys

from mos.local.aws.server import serve


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m mos.local.aws", description="AWS on this machine, in memory.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    arguments = parser.parse_args()
    return serve(arguments.host, arguments.port)


if __name__ == "__main__":
    sys.exit(main())
