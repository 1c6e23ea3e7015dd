"""What the supervisor accepts."""

import pytest

from mos.local.supervisor import Part, PortOpen, StackError
from mos.local.supervisor.part import in_start_order


def part(name, *depends_on):
    return Part(name=name, argv=["x"], ready=PortOpen(1), depends_on=depends_on)


def names(*parts):
    return [p.name for p in in_start_order(parts)]


def test_dependencies_come_first_and_the_given_order_is_kept_otherwise():
    assert names(part("c", "a"), part("b"), part("a", "z"), part("z")) == ["z", "a", "c", "b"]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([part("a"), part("a")], "same name"),
        ([part("a", "b")], "a depends on b, which the stack does not have"),
        ([part("a", "b"), part("b", "a")], "a → b → a wait for each other"),
        ([part("a", "a")], "a → a wait for each other"),
    ],
)
def test_a_stack_that_cannot_start_is_refused_in_a_sentence(parts, sentence):
    with pytest.raises(StackError, match=sentence):
        in_start_order(parts)


@pytest.mark.parametrize("name", ["", "../x", "A", "a b", "-a", "a/b"])
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises(StackError, match="part name"):
        part(name)
