#!/usr/bin/env python3
"""The dashboard and the alert rules of deploy/ against a real Prometheus that scrapes a gateway with
traffic: every expression returns data, and an alert fires when a replica is killed.

usage: prometheus_test.py --rolter PROGRAM    exit code 77 when Prometheus is missing
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.dont_write_bytecode = True

from processes import Gateway, Program, SimEngine, free_port  # noqa: E402

SKIPPED = 77
PATIENCE_SECONDS = 60
KEY = "sk-of-the-test"
ALERTS = ROOT / "deploy/prometheus/rolter_alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/rolter.json"
OPTIONS = argparse.Namespace()


def until(fact, what: str):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (value := fact()):
        if time.monotonic() > deadline:
            raise AssertionError(f"never seen: {what}")
        time.sleep(0.2)
    return value


def expressions() -> dict[str, str]:
    """Those of the dashboard, its variables filled in."""
    board = json.loads(DASHBOARD.read_text())
    return {f"{panel['title']} {target['refId']}":
            target["expr"].replace("$instance", ".*").replace("$__rate_interval", "5s")
            for panel in board["panels"] for target in panel["targets"]}


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = Path(cls.temporary.name)
        cls.engines = [SimEngine(OPTIONS.rolter, "m") for _ in "ab"]
        providers = "".join(
            f'[[providers]]\nname = "{name}"\napi_base = "http://127.0.0.1:{engine.port}"\n'
            for name, engine in zip("ab", cls.engines))
        targets = "".join(f'[[routes.targets]]\nprovider = "{name}"\nmodel = "m"\n' for name in "ab")
        config = folder / "rolter.toml"
        config.write_text(
            f'[server]\nhost = "127.0.0.1"\nloops = 1\n[log]\naccess = false\n[admin]\nport = 0\n'
            f'[health]\ninterval_secs = 0.2\n[[virtual_keys]]\nname = "tests"\nkey = "{KEY}"\n'
            f'{providers}[[routes]]\nmodel = "chat"\n{targets}')
        cls.gateway = Gateway(OPTIONS.rolter, config)
        # As in production, but without the wait before an alert fires.
        (folder / "alerts.yml").write_text(re.sub(r"for: \w+", "for: 0s", ALERTS.read_text()))
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 500ms, evaluation_interval: 500ms, scrape_timeout: 400ms}\n"
            "rule_files: [alerts.yml]\nscrape_configs:\n  - job_name: rolter\n    static_configs:\n"
            f"      - targets: ['127.0.0.1:{cls.gateway.port}']\n")
        cls.port = free_port()
        cls.prometheus = Program(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{cls.port}"])
        cls.stopping = threading.Event()
        cls.caller = threading.Thread(target=cls.call, daemon=True)
        cls.caller.start()

    @classmethod
    def tearDownClass(cls):
        cls.stopping.set()
        cls.caller.join()
        for program in (cls.prometheus, cls.gateway, *cls.engines):
            program.stop()
        cls.temporary.cleanup()

    @classmethod
    def call(cls) -> None:
        body = json.dumps({"model": "chat", "max_tokens": 2,
                           "messages": [{"role": "user", "content": "again and " * 50}]}).encode()
        while not cls.stopping.wait(0.02):
            request = urllib.request.Request(
                f"{cls.gateway.url}/v1/chat/completions", body,
                headers={"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"})
            try:
                urllib.request.urlopen(request, timeout=10).read()
            except OSError:
                pass  # a replica was killed

    def ask(self, path: str, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            return {}

    def has_data(self, expression: str) -> bool:
        result = self.ask("query", query=expression).get("result", [])
        return any(sample["value"][1] != "NaN" for sample in result)

    def test_1_the_metrics_are_well_formed(self):
        metrics = urllib.request.urlopen(f"{self.gateway.url}/metrics", timeout=10).read()
        checked = subprocess.run(["promtool", "check", "metrics"], input=metrics,
                                 capture_output=True, timeout=30)
        remarks = [line for line in checked.stderr.decode().splitlines()
                   if not re.match(r"rolter_request_(latency|ttft)_ms ", line)]
        self.assertEqual(remarks, [])

    def test_2_every_expression_of_the_dashboard_has_data(self):
        for title, expression in expressions().items():
            with self.subTest(title):
                until(lambda: self.has_data(expression), expression)

    def test_3_the_rules_are_sound(self):
        for command in (["check", "rules", str(ALERTS)],
                        ["test", "rules", str(ALERTS.with_name("rolter_alerts_test.yml"))]):
            done = subprocess.run(["promtool", *command], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_4_a_killed_replica_raises_an_alert(self):
        self.engines[1].process.kill()

        def firing():
            return [alert for alert in self.ask("alerts").get("alerts", [])
                    if alert["state"] == "firing"
                    and alert["labels"]["alertname"] == "RolterReplicaOut"]

        self.assertEqual(until(firing, "RolterReplicaOut")[0]["labels"]["target"], "b")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rolter", required=True)
    parser.parse_args(namespace=OPTIONS)
    for program in ("prometheus", "promtool"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed (tools/install-deps monitor)")
            return SKIPPED
    done = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    return 0 if done.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
