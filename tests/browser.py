"""A headless Chromium, driven by the WebDriver protocol (https://www.w3.org/TR/webdriver2/)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's name, fixed by the protocol."""
KEYS = {
    **{"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Home": "\ue011", "End": "\ue010"},
    **{"Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Space": " "},
}


def missing() -> str | None:
    """What there is no browser for want of; ``None`` where there is one."""
    lost = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"there is no {' and no '.join(lost)}" if lost else None


class Browser:
    """One window."""

    def __init__(self, port: int) -> None:
        self._port = port
        # Chromium refuses its sandbox to root; the pages are this project's own.
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []
        options = {
            "binary": shutil.which(PROGRAMS[0]),
            "args": ["--headless=new", "--disable-gpu", "--window-size=1440,1000", *alone],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer['message']}")
        return answer

    def _send(self, path: str, **body: object) -> Any:
        return self._ask("POST", self._session + path, body)

    def open(self, file: Path) -> None:
        """Shows a file."""
        self._send("/url", url=file.as_uri())

    def run(self, script: str, *args: object) -> Any:
        """What a script returns."""
        return self._send("/execute/sync", script=script, args=args)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector finds."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def text(self, selector: str) -> str:
        """The text of the first element that a selector finds."""
        found = self.texts(selector)
        assert found, f"nothing is {selector}"
        return found[0]

    def click(self, selector: str) -> None:
        """Clicks on the first element that a selector finds."""
        found = self._send("/element", using="css selector", value=selector)
        self._send(f"/element/{found[ELEMENT]}/click")

    def press(self, *keys: str) -> None:
        """Presses keys, by name, one after the other."""
        presses = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        self._send("/actions", actions=[{"type": "key", "id": "keys", "actions": presses}])

    def point(self, selector: str) -> None:
        """Moves the pointer to the first element that a selector finds."""
        found = self._send("/element", using="css selector", value=selector)
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": found}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._send("/actions", actions=[pointer])

    def complaints(self) -> list[str]:
        """What the console said since this was asked last."""
        return [entry["message"] for entry in self._send("/se/log", type="browser")]

    def tell(self, command: str, **parameters: object) -> Any:
        """A command of Chromium's own protocol."""
        return self._send("/goog/cdp/execute", cmd=command, params=parameters)

    def prefer(self, scheme: str) -> None:
        """Asks for a dark or a light page."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tell("Emulation.setEmulatedMedia", features=[feature])

    def resize(self, width: int, height: int) -> None:
        """Gives the window another size."""
        self._send("/window/rect", width=width, height=height)

    def screenshot(self, file: Path) -> None:
        """Keeps what is seen."""
        data = self._ask("GET", f"{self._session}/screenshot")
        file.write_bytes(base64.b64decode(data))

    def print(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._send("/print"))

    def close(self) -> None:
        """Ends it."""
        self._ask("DELETE", self._session)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser for as long as it is wanted."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        [PROGRAMS[1], f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(driver, port)
        window = Browser(port)
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(timeout=20)


def _wait(driver: subprocess.Popen[bytes], port: int) -> None:
    """Until the driver listens."""
    for _ in range(300):
        assert driver.poll() is None, "chromedriver ended at once"
        with socket.socket() as attempt:
            attempt.settimeout(1)
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("chromedriver does not listen")
