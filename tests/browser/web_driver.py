"""A real browser by the WebDriver protocol (W3C), standard library only."""

import base64
import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from processes import free_port  # noqa: E402

PATIENCE_SECONDS = 30
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing_program() -> str | None:
    """The name of what is not installed."""
    for program in ("chromedriver", "chromium"):
        if not shutil.which(program):
            return program
    return None


class Browser:
    """Headless Chromium with one window. Use as a context manager."""

    def __init__(self, width: int = 1280, height: int = 900):
        self.port = free_port()
        self.process = subprocess.Popen(["chromedriver", f"--port={self.port}"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._await_driver()
            options = {"binary": shutil.which("chromium"),
                       "args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                                "--disable-dev-shm-usage", "--hide-scrollbars",
                                f"--window-size={width},{height}"]}
            capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                            "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
            self.session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.process.kill()
            raise

    def _await_driver(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _call(self, method: str, path: str, body: dict | None = None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, url: str) -> None:
        self._call("POST", f"{self.session}/url", {"url": url})

    def run(self, script: str, *arguments):
        """The value that a piece of JavaScript returns."""
        return self._call("POST", f"{self.session}/execute/sync",
                          {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        element = self._call("POST", f"{self.session}/element",
                             {"using": "css selector", "value": selector})[_ELEMENT]
        self._call("POST", f"{self.session}/element/{element}/click", {})

    def press(self, keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", f"{self.session}/actions",
                   {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def resize(self, width: int, height: int) -> None:
        self._call("POST", f"{self.session}/window/rect", {"width": width, "height": height})

    def errors(self) -> list[str]:
        """What the page has complained about on its console since the last call."""
        log = self._call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("GET", f"{self.session}/screenshot")))

    def __enter__(self):
        return self

    def __exit__(self, *exception) -> None:
        try:
            self._call("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait(10)
