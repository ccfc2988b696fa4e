#!/usr/bin/env python3
"""The Dockerfile and the Kubernetes manifests of deploy/: linted, valid by Kubernetes' own schemas,
and in step with each other and with the gateway that they start.

usage: manifests_test.py --rolter PROGRAM    exit code 77 when the linters are missing
"""

import argparse
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build" / "deploy-venv" / "bin"
DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "kubernetes" / "rolter.yaml"
POD_MONITOR = DEPLOY / "kubernetes" / "podmonitor.yaml"
SKIPPED = 77
OPTIONS = argparse.Namespace()


def run(*command: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True,
                          timeout=120)


def documents(path: Path) -> list[dict]:
    """Of a YAML file, by the linters' own parser."""
    code = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))"
    return json.loads(run(TOOLS / "python", "-c", code, path).stdout)


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.by_kind = {one["kind"]: one for one in documents(MANIFESTS)}
        cls.pod = cls.by_kind["Deployment"]["spec"]["template"]
        cls.container = cls.pod["spec"]["containers"][0]

    def clean(self, *command: str | Path) -> str:
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_dockerfile_is_clean(self):
        self.clean(TOOLS / "hadolint", "--no-color", DEPLOY / "docker" / "Dockerfile")

    def test_the_yaml_is_clean(self):
        self.clean(TOOLS / "yamllint", "--strict", "-c", DEPLOY / "yamllint.yaml", DEPLOY)

    def test_kubernetes_knows_every_member(self):
        said = self.clean(TOOLS / "kubernetes-validate", "--strict", MANIFESTS)
        self.assertEqual(said.count(" passed "), len(self.by_kind), said)

    def test_a_member_that_kubernetes_does_not_know_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = Path(folder) / "wrong.yaml"
            wrong.write_text(MANIFESTS.read_text().replace("readinessProbe:", "readynessProbe:"))
            done = run(TOOLS / "kubernetes-validate", "--strict", wrong)
        self.assertIn("readynessProbe", done.stdout + done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_selectors_and_ports_meet_the_pods(self):
        labels = self.pod["metadata"]["labels"]
        ports = {port["name"] for port in self.container["ports"]}
        monitor = documents(POD_MONITOR)[0]["spec"]  # its schema is the operator's, not at hand here
        for name, selector in (("Deployment", self.by_kind["Deployment"]["spec"]["selector"]),
                               ("PodDisruptionBudget",
                                self.by_kind["PodDisruptionBudget"]["spec"]["selector"]),
                               ("PodMonitor", monitor["selector"]),
                               ("Service", {"matchLabels":
                                            self.by_kind["Service"]["spec"]["selector"]})):
            self.assertLessEqual(selector["matchLabels"].items(), labels.items(), name)
        used = [port["targetPort"] for port in self.by_kind["Service"]["spec"]["ports"]]
        used += [endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]]
        used += [self.container[probe]["httpGet"]["port"]
                 for probe in ("readinessProbe", "livenessProbe")]
        self.assertLessEqual(set(used), ports)

    def test_the_drain_fits_into_the_time_that_pods_get_to_end(self):
        server = self.config_text().split("[server]")[1].split("[[")[0]
        waits = [int(line.split("=")[1].split("#")[0]) for line in server.splitlines()
                 if line.strip().startswith("drain_")]
        self.assertEqual(len(waits), 2)
        self.assertLess(sum(waits), self.pod["spec"]["terminationGracePeriodSeconds"])

    def config_text(self) -> str:
        return self.by_kind["ConfigMap"]["data"]["rolter.toml"]

    def test_the_gateway_takes_the_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "rolter.toml"
            config.write_text(self.config_text())
            self.clean(OPTIONS.rolter, "check", "-c", config)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rolter", required=True)
    parser.parse_args(namespace=OPTIONS)
    if not (TOOLS / "hadolint").exists():
        print("skipped: hadolint, yamllint and kubernetes-validate are not installed "
              "(tools/client-env deploy)")
        return SKIPPED
    done = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    return 0 if done.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
