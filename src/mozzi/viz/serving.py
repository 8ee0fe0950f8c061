"""Where the viewer's server listens, and to whom."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from mozzi.errors import ConfigurationError

__all__ = ["free_port", "only_own_pages", "own_page"]

PORTS_TRIED = 100  # ports that are tried where the first is taken
_lock = threading.Lock()


def free_port(host: str, port: int) -> int:
    """The first port from this one on that can be bound; an error at once where none can."""
    if type(port) is not int or not 0 <= port <= 65535:
        raise ConfigurationError(f"port {port!r}; give a whole number from 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(
            f"host {host!r}: {error}; give an address of this machine, such as 127.0.0.1"
        ) from None
    for attempt in range(port, min(port + PORTS_TRIED, 65536)) if port else (0,):
        with socket.socket(family, kind, protocol) as trial:
            try:
                trial.bind((address[0], attempt, *address[2:]))
                return int(trial.getsockname()[1])
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise ConfigurationError(
                        f"{host}:{attempt} cannot be bound: {error.strerror or error}; give another"
                        " host or port"
                    ) from None
    raise ConfigurationError(f"{host}: ports {port} and the next are taken; give another port")


def own_page(origin: str | None, host: str | None, bound: str) -> bool:
    """Whether a websocket is asked for by a page that this server gave out.

    Its origin is the host that was asked; where the server listens to this machine only, that is a
    name of this machine (a page of another name could point its name here). What sends no origin
    is no browser.
    """
    if origin is None:
        return True
    page, asked = urlsplit(origin), urlsplit(f"//{host}")
    if page.scheme not in ("http", "https") or page.netloc != asked.netloc:
        return False
    name = asked.hostname or ""
    if not _loops_back(bound):
        return True
    return name == bound or _loops_back(name)


def _loops_back(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@contextmanager
def only_own_pages(bound: str) -> Generator[None]:
    """Servers that are started meanwhile give websockets to their own pages only."""
    from websockets.asyncio import server

    serve: Callable[..., Any] = server.serve

    def guarded(*args: Any, process_request: Any = None, **options: Any) -> Any:
        def look(connection: Any, request: Any) -> Any:
            upgrade = request.headers.get("Upgrade", "").lower()
            origin, host = (request.headers.get(name) for name in ("Origin", "Host"))
            if upgrade == "websocket" and not own_page(origin, host, bound):
                return connection.respond(403, f"{origin} is not the page of this viewer\n")
            return None if process_request is None else process_request(connection, request)

        return serve(*args, process_request=look, **options)

    with _lock:
        server.serve = guarded  # type: ignore[assignment]
        try:
            yield
        finally:
            server.serve = serve  # type: ignore[assignment]
