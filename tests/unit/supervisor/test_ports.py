"""Ports of the parts."""

import os
import socket

import pytest

from mos.local.supervisor import StackError, free_port, require_port


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_free_port_can_be_bound_and_lies_below_the_range_of_outgoing_connections():
    port = free_port()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
    assert 15_000 <= port <= 32_000


def test_a_taken_port_names_who_has_it_and_what_to_do(taken):
    with pytest.raises(
        StackError, match=rf"port {taken}, wanted by the page, .*pid {os.getpid()}.*another port"
    ) as caught:
        require_port(taken, wanted_by="the page")
    assert caught.value.exit_code == 69


def test_a_port_that_is_free_is_given_back():
    port = free_port()
    assert require_port(port, wanted_by="the page") == port
