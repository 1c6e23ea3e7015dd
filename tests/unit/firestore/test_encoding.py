"""Keys compare as bytes exactly as Firestore compares the values."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mos.local.firestore.encoding import AFTER, bounds, encode, invert, name_key
from mos.local.firestore.messages import Value

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.one_of(INT64, st.floats(allow_nan=False), st.sampled_from([0, -0.0, 2**53, 2**53 + 1, float(2**53)]))
TEXTS = st.text(max_size=4)


def number(value: float) -> Any:
    return Value(integer_value=value) if isinstance(value, int) else Value(double_value=value)


def text(value: str) -> Any:
    return Value(string_value=value)


def array(items: list[Any]) -> Any:
    made = Value()
    made.array_value.SetInParent()
    made.array_value.values.extend(items)
    return made


def sign(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


@given(NUMBERS, NUMBERS)
def test_numbers_compare_exactly_across_types(left: float, right: float) -> None:
    """Python compares ints and floats exactly too."""
    assert sign(encode(number(left)), encode(number(right))) == sign(left, right)


@given(TEXTS, TEXTS)
def test_strings_compare_by_their_utf8(left: str, right: str) -> None:
    assert sign(encode(text(left)), encode(text(right))) == sign(left.encode(), right.encode())


@given(st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_arrays_compare_item_by_item(left: list[str], right: list[str]) -> None:
    ours = sign(encode(array([text(item) for item in left])), encode(array([text(item) for item in right])))
    assert ours == sign([item.encode() for item in left], [item.encode() for item in right])


@given(NUMBERS, NUMBERS, TEXTS)
def test_inverted_keys_compare_the_other_way_and_nothing_is_a_prefix(left: float, right: float, word: str) -> None:
    one, two = encode(number(left)) + encode(text(word)), encode(number(right)) + encode(text(word))
    assert sign(invert(one), invert(two)) == -sign(one, two)
    assert one == two or not (one.startswith(two) or two.startswith(one))


@given(operand=NUMBERS, value=NUMBERS, op=st.sampled_from(["<", "<=", ">", ">=", "=="]), descending=st.booleans())
def test_bounds_hold_exactly_what_the_operator_admits(operand: float, value: float, op: str, descending: bool) -> None:
    low, high = bounds(op, encode(number(operand)), descending=descending)
    key = encode(number(value))
    stored = (invert(key) if descending else key) + name_key("projects/p/databases/d/documents/c/x")
    admitted = {
        "<": value < operand,
        "<=": value <= operand,
        ">": value > operand,
        ">=": value >= operand,
        "==": value == operand,
    }
    assert (low <= stored < high) == admitted[op]


@given(word=TEXTS, op=st.sampled_from(["<", "<=", ">", ">="]), descending=st.booleans())
def test_other_types_are_outside_all_bounds(word: str, op: str, descending: bool) -> None:
    for stranger in (text(word), Value(null_value=0), Value(boolean_value=True), Value(double_value=math.nan)):
        low, high = bounds(op, encode(number(1)), descending=descending)
        key = encode(stranger)
        assert not low <= (invert(key) if descending else key) < high


def test_a_key_and_what_follows_it_lie_below_its_end() -> None:
    key = encode(text("a"))
    for follower in (encode(Value(null_value=0)), invert(encode(Value(null_value=0))), encode(text("z"))):
        assert key <= key + follower < key + AFTER
