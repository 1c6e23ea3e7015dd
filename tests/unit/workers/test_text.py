"""Foreign text becomes one plain line that can be stored."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.domain.text import clean


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("a\r\nb\tc", "a b c"),
        ("\x1b[31mred", "�[31mred"),
        ("\ud800", "�"),
        ("a\u202eb", "a�b"),
        ("  spaces   inside  ", "spaces inside"),
        ("", ""),
    ],
)
def test_it_is_one_plain_line(text, line):
    assert clean(text) == line


@given(st.text(st.characters(), max_size=300), st.integers(1, 100))
def test_whatever_comes_in_can_be_stored_and_is_short(text, limit):
    line = clean(text, limit)
    assert len(line) <= limit
    assert line.encode("utf-8").decode() == line
    assert not [char for char in line if unicodedata.category(char).startswith("C")]
    assert clean(line, limit) == line
