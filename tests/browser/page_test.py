#!/usr/bin/env python3
"""The live page in a real Chromium, over a gateway with traffic: what it shows are the numbers of
/metrics, its drain button drains, and it comes back after a restart of the gateway.

usage: page_test.py --rolter PROGRAM    exit code 77 when Chromium is missing
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from processes import Gateway, SimEngine, free_port  # noqa: E402
from web_driver import PATIENCE_SECONDS, Browser, missing_program  # noqa: E402

SKIPPED = 77
MODEL = "demo/model"
OPTIONS = argparse.Namespace()


def fetch(url: str, body: dict | None = None) -> str:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def metric_sum(text: str, name: str, label: str = "") -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if re.match(rf"{name}[{{ ]", line) and label in line)


def until(fact, what: str):
    """The first true value of `fact()`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (value := fact()):
        if time.monotonic() > deadline:
            raise AssertionError(f"never seen: {what}")
        time.sleep(0.05)
    return value


class Traffic:
    """Callers that talk to the gateway, one conversation each, until they are stopped."""

    def __init__(self, url: str, callers: int):
        self.url = url
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._talk, args=(f"caller {n} ",), daemon=True)
                        for n in range(callers)]
        for thread in self.threads:
            thread.start()

    def _talk(self, text: str) -> None:
        messages = [{"role": "user", "content": text * 60}]
        while not self.stopping.is_set():
            body = {"model": "chat", "max_tokens": 8, "messages": messages}
            try:
                fetch(f"{self.url}/v1/chat/completions", body)
            except OSError:
                continue  # the gateway restarts meanwhile
            messages = messages[:40] + [{"role": "user", "content": text * 5}]

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()


class LivePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.engines = [SimEngine(OPTIONS.rolter, MODEL, "--prefill-tps", "20000") for _ in "abc"]
        cls.admin_port, cls.api_port = free_port(), free_port()
        providers = "".join(
            f'[[providers]]\nname = "gpu-{name}"\napi_base = "http://127.0.0.1:{engine.port}"\n'
            f'api_key = "not-to-be-shown"\n' for name, engine in zip("abc", cls.engines))
        targets = "".join(f'[[routes.targets]]\nprovider = "gpu-{name}"\nmodel = "{MODEL}"\n'
                          for name in "abc")
        cls.config = Path(cls.folder.name) / "rolter.toml"
        cls.config.write_text(
            f'[server]\nhost = "127.0.0.1"\nport = {cls.api_port}\nloops = 1\n'
            f'[admin]\nport = {cls.admin_port}\n[log]\naccess = false\n'
            f'{providers}[[routes]]\nmodel = "chat"\naliases = ["default"]\n{targets}')
        cls.gateway = Gateway(OPTIONS.rolter, cls.config, ())
        cls.admin = f"http://127.0.0.1:{cls.admin_port}"
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.gateway.stop()
        for engine in cls.engines:
            engine.stop()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.open(self.admin + "/")
        until(lambda: self.status() == "ready", "the page is ready")

    # ---- what the page shows ----

    def status(self) -> str:
        return self.browser.run("return document.getElementById('status').textContent")

    def fleet(self, field: str) -> str:
        return self.browser.run(
            "return document.querySelector(`#fleet [data-field=\"${arguments[0]}\"]`).textContent",
            field)

    def replica(self, name: str, field: str) -> str:
        return self.browser.run(
            "const row = document.querySelector(`#replica-rows [data-key=\"${arguments[0]}\"]`);"
            "return row ? row.querySelector(`[data-field=\"${arguments[1]}\"]`).textContent : ''",
            name, field)

    # ---- facts ----

    def test_1_its_numbers_are_those_of_the_metrics(self):
        traffic = Traffic(f"http://127.0.0.1:{self.api_port}", callers=8)
        until(lambda: self.fleet("requests_per_s") not in ("0.0", "-", ""), "a rate")
        until(lambda: self.fleet("ttft_p50_ms") != "-", "a time to first token")
        until(lambda: self.browser.run(
            "return [...document.querySelectorAll('[data-field=\"scores\"]')]"
            ".some((cell) => cell.textContent.includes('gpu-a'))"), "a decision with its scores")
        traffic.stop()
        # A request is counted at its end, which its caller may see a moment before.
        def total() -> int:
            return int(metric_sum(fetch(self.admin + "/metrics"), "rolter_requests_total"))
        until(lambda: self.fleet("requests_total") == f"{total():,}", "the total of /metrics")
        self.assertGreater(total(), 20)
        metrics = fetch(self.admin + "/metrics")
        self.assertEqual(self.fleet("in_flight"), "0")
        cached = int(metric_sum(metrics, "rolter_cached_tokens_total"))
        self.assertEqual(self.fleet("cached_tokens_total"), f"{cached:,}")
        for name in ("gpu-a", "gpu-b", "gpu-c"):
            served = int(metric_sum(metrics, "rolter_requests_total", f'target="{name}/'))
            self.assertEqual(self.replica(name, "requests_total"), f"{served:,}")
            self.assertEqual(self.replica(name, "state"), "up")

    def test_2_drain_by_the_button_survives_a_reload_and_is_undone(self):
        self.browser.click('[aria-label="Drain gpu-b"]')
        until(lambda: self.replica("gpu-b", "state") == "drained", "gpu-b is drained")
        version = json.loads(fetch(self.admin + "/admin/reload", {}))["version"]
        until(lambda: self.browser.run("return document.getElementById('version').textContent")
              == str(version), "the new version")
        self.assertEqual(self.replica("gpu-b", "state"), "drained")
        self.browser.run("document.querySelector('[aria-label=\"Undo drain gpu-b\"]').focus()")
        self.browser.press("\ue007")  # Enter
        until(lambda: self.replica("gpu-b", "state") == "up", "gpu-b takes part again")

    def test_3_drain_by_the_command_shows(self):
        command = [OPTIONS.rolter, "drain", "gpu-c", "--wait", "--url", self.admin]
        said = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("gpu-c: drained, 0 requests in flight", said.stdout)
        until(lambda: self.replica("gpu-c", "state") == "drained", "gpu-c is drained")
        subprocess.run([*command, "--undo"], check=True, capture_output=True, timeout=30)
        until(lambda: self.replica("gpu-c", "state") == "up", "gpu-c takes part again")

    def test_4_secrets_are_masked(self):
        text = until(lambda: self.browser.run(
            "return document.getElementById('config').textContent"), "the configuration")
        self.assertIn('"api_key": "***"', text)
        self.assertNotIn("not-to-be-shown", self.browser.run("return document.body.textContent"))

    def test_5_dark_and_on_a_phone(self):
        self.browser.run("localStorage.setItem('rolter-theme', 'light')")
        self.browser.open(self.admin + "/")
        self.browser.click("#theme")
        self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), "dark")
        until(lambda: self.status() == "ready", "the page is ready")
        self.browser.resize(400, 800)
        wide = self.browser.run("return document.documentElement.scrollWidth - innerWidth")
        self.browser.resize(1280, 900)
        self.assertLessEqual(wide, 0, "the page scrolls sideways on a phone")

    def test_6_comes_back_after_a_restart(self):
        self.gateway.stop()
        until(lambda: "not reachable" in self.status(), "that the gateway is gone")
        self.browser.errors()  # of the requests that nobody answered
        type(self).gateway = Gateway(OPTIONS.rolter, self.config, ())
        until(lambda: self.status() == "ready", "the page is back")
        until(lambda: self.fleet("requests_total") == "0", "the new counters")

    def test_0_loads_nothing_from_elsewhere_and_complains_of_nothing(self):
        names = self.browser.run(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertTrue(all(name.startswith(self.admin) for name in names), names)
        self.assertEqual(self.browser.errors(), [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rolter", required=True)
    parser.parse_args(namespace=OPTIONS)
    missing = missing_program()
    if missing:
        print(f"skipped: {missing} is not installed (tools/install-deps browser)")
        return SKIPPED
    done = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    return 0 if done.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
