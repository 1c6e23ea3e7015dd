"""Delays between attempts (§2.1 rule 8)."""

from __future__ import annotations

from datetime import timedelta

from mos.domain.timings import Timings


def retry_delay(receive_count: int, timings: Timings) -> timedelta:
    """`min(max, base * 2^(receives - 1))`: 30, 60, 120, 240, 480, 900, 900 … seconds by default.

    An absurd count must not overflow, and less than one counts as the first.
    """
    exponent = min(max(receive_count, 1) - 1, 30)
    return min(timings.retry_max, timings.retry_base * float(2**exponent))
