#!/usr/bin/env python3
"""The Debian package in a root of its own: installed, started as its unit says, upgraded, purged.

usage: package_test.py --package FILE.deb    exit code 77 when not root (dpkg sets owners)
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.dont_write_bytecode = True

from processes import Program  # noqa: E402

SKIPPED = 77
OPTIONS = argparse.Namespace()
COMPLETIONS = {"rolter.bash": "usr/share/bash-completion/completions/rolter",
               "_rolter": "usr/share/zsh/vendor-completions/_rolter",
               "rolter.fish": "usr/share/fish/vendor_completions.d/rolter.fish"}
UNIT = "lib/systemd/system/rolter.service"


def output(*command: str, **more) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **more).stdout


class Package(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = Path(self.temporary.name) / "root"
        for folder in ("updates", "info", "triggers"):
            (self.root / "var/lib/dpkg" / folder).mkdir(parents=True)
        for name in ("status", "available"):
            (self.root / "var/lib/dpkg" / name).touch()
        self.config = self.root / "etc/rolter/rolter.toml"

    def dpkg(self, *arguments: str) -> str:
        # The maintainer scripts run outside the root and get it as DPKG_ROOT; its libraries are ours.
        return output("dpkg", f"--root={self.root}", "--force-script-chrootless", "--force-depends",
                      *arguments, stdin=subprocess.DEVNULL)

    def installed(self, path: str) -> Path:
        found = self.root / "usr" / path.removeprefix("usr/")
        return found if found.exists() else self.root / path

    def newer(self, change: str = "") -> str:
        """The same package with a higher version, its configuration file changed by a line."""
        tree = Path(self.temporary.name) / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        output("dpkg-deb", "-R", OPTIONS.package, str(tree))
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"^Version: .*", "Version: 99", control.read_text(), flags=re.MULTILINE))
        with (tree / "etc/rolter/rolter.toml").open("a") as config:
            config.write(change)
        made = Path(self.temporary.name) / "newer.deb"
        output("dpkg-deb", "-b", str(tree), str(made))
        return str(made)

    def test_what_it_installs(self):
        self.dpkg("-i", OPTIONS.package)
        rolter = self.installed("usr/bin/rolter")
        self.assertTrue(os.access(rolter, os.X_OK))
        self.assertIn("vllm-1", output(str(rolter), "check", "-c", str(self.config)))
        man = self.installed("usr/share/man/man1/rolter.1").read_text()
        commands = re.findall(r"^  ([a-z-]+)  ", output(str(rolter), "--help").split("Subcommands:")[1],
                              flags=re.MULTILINE)
        self.assertGreater(len(commands), 5)
        for command in commands:
            self.assertIn(f".B rolter {command}\n", man)

    def test_the_completions_are_those_of_the_program(self):
        self.dpkg("-i", OPTIONS.package)
        fresh = Path(self.temporary.name) / "fresh"
        fresh.mkdir()
        output(str(ROOT / "deploy/completions/generate"), str(self.installed("usr/bin/rolter")), str(fresh))
        for name, path in COMPLETIONS.items():
            self.assertTrue(filecmp.cmp(fresh / name, self.installed(path), shallow=False),
                            f"{name} is stale: deploy/completions/generate ROLTER")
        said = output("bash", "-c", f"source {fresh}/rolter.bash; COMP_WORDS=(rolter drain --w); "
                      "COMP_CWORD=2; _rolter; echo ${COMPREPLY[@]}")
        self.assertEqual(said, "--wait\n")

    def test_it_starts_as_its_unit_says(self):
        self.dpkg("-i", OPTIONS.package)
        unit = self.installed(UNIT).read_text()
        start = re.search(r"^ExecStart=(.*)", unit, flags=re.MULTILINE)[1]
        command = [re.sub(r"^/(usr|etc)/", rf"{self.root}/\1/", word) for word in start.split()]
        with Program([*command, "--host", "127.0.0.1", "--port", "0"]) as service:
            service.wait_for_line(re.compile(r"listening on http://"))
            self.assertEqual(service.stop(), 0)

    def test_the_unit_is_sound(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd is not installed")
        self.dpkg("-i", OPTIONS.package)
        unit = Path(self.temporary.name) / "rolter.service"
        unit.write_text(self.installed(UNIT).read_text().replace(
            "/usr/bin/rolter", str(self.installed("usr/bin/rolter"))))
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        exposure = output("systemd-analyze", "security", "--offline=true", "--no-pager", str(unit))
        self.assertLess(float(re.search(r"rolter.service: ([\d.]+)", exposure)[1]), 2.0, exposure)

    def test_an_upgrade_keeps_what_was_edited(self):
        self.dpkg("-i", OPTIONS.package)
        edited = self.config.read_text() + "# edited\n"
        self.config.write_text(edited)
        self.dpkg("-i", self.newer())
        self.assertEqual(self.config.read_text(), edited)
        self.dpkg("--force-confdef", "--force-confold", "-i", self.newer("# of the package\n"))
        self.assertEqual(self.config.read_text(), edited)
        status = (self.root / "var/lib/dpkg/status").read_text()
        self.assertIn("Version: 99", status)

    def test_an_upgrade_brings_a_configuration_that_was_not_edited(self):
        self.dpkg("-i", OPTIONS.package)
        self.dpkg("-i", self.newer("# of the package\n"))
        self.assertIn("# of the package", self.config.read_text())

    def test_remove_keeps_the_configuration_and_purge_does_not(self):
        self.dpkg("-i", OPTIONS.package)
        (self.root / "etc/rolter/rolter.env").write_text("KEY=secret\n")
        self.dpkg("--remove", "rolter")
        self.assertFalse(self.installed("usr/bin/rolter").exists())
        self.assertTrue(self.config.exists())
        self.dpkg("--purge", "rolter")
        self.assertFalse(self.config.parent.exists())
        left = [path for path in self.root.rglob("*rolter*") if path.is_file()]
        self.assertEqual(left, [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", required=True)
    parser.parse_args(namespace=OPTIONS)
    if os.geteuid() != 0:
        print("skipped: needs root")
        return SKIPPED
    done = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    return 0 if done.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
