"""Names with control characters, ports and addresses that cannot be, and pages of others."""

from __future__ import annotations

import time
import unicodedata
from pathlib import Path

import pytest
from loaders.support import joint, link, robot, write
from typer.testing import CliRunner

from mozzi.cli import application
from mozzi.cli.console import visible
from mozzi.errors import ConfigurationError
from mozzi.model.generate import double_pendulum
from mozzi.viz.serving import free_port, own_page

NASTY = "\x85\x9b31m\u202eevil\u2028"


def test_info_spells_out_what_a_terminal_would_obey(tmp_path: Path):
    a, b, j = f"a{NASTY}", f"b{NASTY}", f"j{NASTY}"
    text = robot(link(a), link(b), joint(j, a, b)).replace('name="r"', f'name="r{NASTY}"')
    path = write(tmp_path, text)
    result = CliRunner().invoke(application(), ["info", str(path)])
    assert result.exit_code == 0, result.output
    bad = [c for c in result.output if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl")]
    assert not bad
    assert "\\x9b31m" in result.output and "\\u202e" in result.output


def test_every_control_character_is_spelled_out():
    for code in (*range(0x20), *range(0x7F, 0xA0)):
        assert visible(f"a{chr(code)}b") == f"a\\x{code:02x}b"
    assert visible("Roboter-Ärmchen [bold] 腕") == "Roboter-Ärmchen [bold] 腕"


@pytest.mark.parametrize("port", [99999, -1, 65536])
def test_a_port_that_cannot_be_is_an_error_at_once(port, tmp_path: Path):
    path = write(tmp_path, robot(link("a"), link("b"), joint()))
    begin = time.monotonic()
    line = ["view", str(path), "--port", str(port), "--no-browser"]
    result = CliRunner().invoke(application(), line)
    assert result.exit_code != 0
    assert time.monotonic() - begin < 5.0
    with pytest.raises(ConfigurationError, match="from 0 to 65535"):
        free_port("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 300])
def test_an_address_that_cannot_be_bound_is_an_error_at_once(host):
    begin = time.monotonic()
    with pytest.raises(ConfigurationError, match="give a"):
        free_port(host, 8080)
    assert time.monotonic() - begin < 5.0


def test_a_port_that_is_taken_gives_the_next():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        if port < 65535:
            assert free_port("127.0.0.1", port) > port


@pytest.mark.parametrize(
    ("origin", "host", "bound", "good"),
    [
        (None, "127.0.0.1:8080", "127.0.0.1", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1", True),
        ("http://localhost:8080", "localhost:8080", "127.0.0.1", True),
        ("http://[::1]:8080", "[::1]:8080", "::1", True),
        ("http://127.0.0.1:9000", "127.0.0.1:8080", "127.0.0.1", False),
        ("https://evil.example", "127.0.0.1:8080", "127.0.0.1", False),
        ("http://evil.example:8080", "evil.example:8080", "127.0.0.1", False),
        ("http://robot.lab:8080", "robot.lab:8080", "0.0.0.0", True),
        ("http://evil.example", "robot.lab:8080", "0.0.0.0", False),
        ("null", "127.0.0.1:8080", "127.0.0.1", False),
        ("file://", "127.0.0.1:8080", "127.0.0.1", False),
    ],
)  # fmt: skip
def test_whose_page_it_is(origin, host, bound, good):
    assert own_page(origin, host, bound) is good


def test_the_viewer_refuses_pages_of_others():
    """Over a real socket: its own page gets a websocket, another one 403."""
    pytest.importorskip("viser")
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    from mozzi.viz.viewer import Viewer

    with Viewer(double_pendulum(), port=0) as viewer:
        port = viewer.server.get_port()
        url, own = f"ws://127.0.0.1:{port}", f"http://127.0.0.1:{port}"
        for origin in ("https://evil.example", "null", f"http://127.0.0.1:{port + 1}"):
            with pytest.raises(InvalidStatus) as refused:
                connect(url, origin=origin, subprotocols=None, open_timeout=5)  # type: ignore
            assert refused.value.response.status_code == 403
        with connect(url, origin=own, open_timeout=5):  # type: ignore
            pass
