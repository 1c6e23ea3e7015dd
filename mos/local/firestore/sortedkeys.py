"""A sorted list of byte keys, each with one value; add, remove and range scans cost a block, not the whole list."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
BLOCK = 512


class SortedKeys(Generic[T]):
    """Blocks of at most `2 * BLOCK` keys; keys are unique."""

    def __init__(self, pairs: Iterable[tuple[bytes, T]] = ()) -> None:
        ordered = sorted(pairs, key=lambda pair: pair[0])
        chunks = [ordered[at : at + BLOCK] for at in range(0, len(ordered), BLOCK)]
        self._keys: list[list[bytes]] = [[key for key, _ in chunk] for chunk in chunks]
        self._values: list[list[T]] = [[value for _, value in chunk] for chunk in chunks]
        self._last: list[bytes] = [chunk[-1][0] for chunk in chunks]
        self._size = len(ordered)

    def __len__(self) -> int:
        return self._size

    def put(self, key: bytes, value: T) -> None:
        """Add a key or replace its value."""
        if not self._last:
            self._keys, self._values, self._last = [[key]], [[value]], [key]
            self._size = 1
            return
        block = min(bisect_left(self._last, key), len(self._last) - 1)
        keys, values = self._keys[block], self._values[block]
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            values[at] = value
            return
        keys.insert(at, key)
        values.insert(at, value)
        self._size += 1
        self._last[block] = keys[-1]
        if len(keys) > 2 * BLOCK:
            self._split(block)

    def _split(self, block: int) -> None:
        keys, values = self._keys[block], self._values[block]
        self._keys[block : block + 1] = [keys[:BLOCK], keys[BLOCK:]]
        self._values[block : block + 1] = [values[:BLOCK], values[BLOCK:]]
        self._last[block : block + 1] = [keys[BLOCK - 1], keys[-1]]

    def remove(self, key: bytes) -> None:
        """Take a key out; it must be there."""
        block = bisect_left(self._last, key)
        keys, values = self._keys[block], self._values[block]
        at = bisect_left(keys, key)
        if keys[at] != key:
            raise KeyError(key)
        del keys[at], values[at]
        self._size -= 1
        if keys:
            self._last[block] = keys[-1]
        else:
            del self._keys[block], self._values[block], self._last[block]

    def scan(self, low: bytes = b"", high: bytes | None = None) -> Iterator[tuple[bytes, T]]:
        """Keys in `[low, high)` in order. The list must not change while the scan is under way."""
        block = bisect_left(self._last, low)
        start = bisect_left(self._keys[block], low) if block < len(self._last) else 0
        while block < len(self._last):
            keys = self._keys[block]
            ends_here = high is not None and high <= self._last[block]
            stop = bisect_left(keys, high) if ends_here and high is not None else len(keys)
            yield from zip(keys[start:stop], self._values[block][start:stop], strict=True)
            if ends_here:
                return
            block, start = block + 1, 0

    def count(self, low: bytes = b"", high: bytes | None = None) -> int:
        """How many keys lie in `[low, high)`, without visiting them."""
        return self._rank(high) - self._rank(low)

    def _rank(self, key: bytes | None) -> int:
        if key is None:
            return self._size
        block = bisect_left(self._last, key)
        before = sum(len(keys) for keys in self._keys[:block])
        return before + (bisect_left(self._keys[block], key) if block < len(self._last) else 0)
