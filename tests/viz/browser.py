"""A headless Chromium to test pages with, driven over its own protocol (no further packages)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--hide-scrollbars", "--mute-audio", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage",
    "--remote-debugging-port=0", "--remote-allow-origins=*", "--window-size=1000,700",
)  # fmt: skip


def executable() -> str | None:
    """A Chromium on this machine."""
    given = os.environ.get("MOZZI_CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless Chromium. `problems` collects errors of the console, `requests` the
    addresses that were asked.
    """

    def __init__(self) -> None:
        from websockets.sync.client import connect

        path = executable()
        assert path is not None
        self.folder = tempfile.mkdtemp(prefix="mozzi-browser-")
        command = [path, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
        port = wait(lambda: _port(Path(self.folder)), 30.0)
        address = f"http://127.0.0.1:{port}/json"
        page = wait(lambda: _page(address), 30.0)
        self.socket = connect(page, max_size=None)
        self.number = 0
        self.problems: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=60.0))
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._event(message)

    def _event(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                self.problems.append(json.dumps(params["args"])[:500])
            case "Network.requestWillBeSent" | "Network.webSocketCreated":
                self.requests.append(params.get("url") or params["request"]["url"])
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.problems.append(json.dumps(params["entry"])[:500])

    def begin(self) -> None:
        """Leave what is shown and forget what was told."""
        self.open("about:blank")
        self.problems.clear()
        self.requests.clear()

    def strangers(self) -> list[str]:
        """Requests to anything but this machine."""
        own = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "ws://127.0.0.1:")
        return [url for url in self.requests if not url.startswith(own)]

    def open(self, url: str) -> None:
        """Go to a page."""
        self.call("Page.navigate", url=url)
        wait(lambda: self.run("document.readyState") == "complete", 30.0)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def picture(self, clip: tuple[float, float, float, float] | None = None) -> Any:
        """A screenshot as an array (height, width, 3); clip is (x, y, width, height)."""
        import io

        import numpy as np
        from PIL import Image

        options: dict[str, Any] = {"format": "png"}
        if clip is not None:
            names = ("x", "y", "width", "height")
            options["clip"] = dict(zip(names, clip, strict=True)) | {"scale": 1}
        data = base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=int)

    def press(self, key: str, times: int = 1) -> None:
        """Press a key."""
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def close(self) -> None:
        with suppress(Exception):
            self.socket.close()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # our own session, which we started
        self.process.wait(timeout=10.0)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(condition: Any, seconds: float = 20.0) -> Any:
    """The first true value of a condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise TimeoutError(f"waited {seconds} s")


def _port(folder: Path) -> str | None:
    file = folder / "DevToolsActivePort"
    lines = file.read_text().split("\n") if file.exists() else []
    return lines[0] if len(lines) > 1 else None


def _page(address: str) -> str | None:
    with suppress(OSError):
        for target in json.load(urllib.request.urlopen(address, timeout=5.0)):
            if target["type"] == "page":
                return target["webSocketDebuggerUrl"]
    return None
