#!/usr/bin/env python3
"""The commands that ask a running gateway, as a person calls them.

usage: commands_test.py --rolter PROGRAM
"""

import argparse
import json
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from processes import Gateway, SimEngine, free_port  # noqa: E402

OPTIONS = argparse.Namespace()
TOKEN = "of-the-operator"
PROMPT = "tell me of the sea " * 40
REQUEST = {"model": "chat", "max_tokens": 2, "messages": [{"role": "user", "content": PROMPT}]}


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.engines = [SimEngine(OPTIONS.rolter, "m") for _ in "ab"]
        cls.admin_port = free_port()
        providers = "".join(
            f'[[providers]]\nname = "{name}"\napi_base = "http://127.0.0.1:{engine.port}"\n'
            for name, engine in zip("ab", cls.engines))
        targets = "".join(f'[[routes.targets]]\nprovider = "{name}"\nmodel = "m"\n' for name in "ab")
        cls.config = Path(cls.folder.name) / "rolter.toml"
        cls.text = (f'[server]\nhost = "127.0.0.1"\nloops = 1\n[log]\naccess = false\n'
                    f'[admin]\nport = {cls.admin_port}\ntoken = "{TOKEN}"\n'
                    f'{providers}[[routes]]\nmodel = "chat"\n{targets}')
        cls.config.write_text(cls.text)
        cls.gateway = Gateway(OPTIONS.rolter, cls.config)
        cls.admin = f"http://127.0.0.1:{cls.admin_port}"

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        for engine in cls.engines:
            engine.stop()
        cls.folder.cleanup()

    def rolter(self, *arguments: str, stdin: str = "", code: int = 0, token: str = "") -> str:
        done = subprocess.run([OPTIONS.rolter, *arguments], input=stdin, capture_output=True,
                              text=True, timeout=60, env={"ROLTER_ADMIN_TOKEN": token})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def explain(self, *arguments: str) -> dict:
        return json.loads(self.rolter("explain", "-c", str(self.config), *arguments,
                                      stdin=json.dumps(REQUEST)))

    def chat(self) -> str:
        request = urllib.request.Request(
            f"{self.gateway.url}/v1/chat/completions", json.dumps(REQUEST).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
            return answer.headers["x-rolter-provider"]

    def test_explain_from_the_file_alone_knows_of_nothing(self):
        why = self.explain()
        self.assertEqual((why["route"], why["strategy"]), ("chat", "cache_aware"))
        self.assertEqual(why["reason"], "below_threshold")
        self.assertEqual({why["pick"], why["runner_up"]}, {"a", "b"})
        self.assertEqual([target["matched"] for target in why["targets"]], [0, 0])

    def test_explain_asks_the_running_gateway(self):
        warm = self.chat()
        why = self.explain("--url", self.admin)
        self.assertEqual((why["pick"], why["reason"]), (warm, "prefix"))
        by_name = {target["provider"]: target for target in why["targets"]}
        self.assertEqual(by_name[warm]["matched"], 1)
        text = self.rolter("explain", "-c", str(self.config), "--url", self.admin, "--text",
                           stdin=json.dumps(REQUEST))
        self.assertIn(f"chat goes to {warm}: it holds the longest prefix", text)

    def test_explain_says_what_is_wrong(self):
        self.assertIn("no request", self.rolter("explain", "-c", str(self.config), code=1))
        other = json.dumps({**REQUEST, "model": "other"})
        for where in ((), ("--url", self.admin)):
            self.assertIn('no route serves the model "other"', self.rolter(
                "explain", "-c", str(self.config), *where, stdin=other, code=1))

    def test_drain_and_undo(self):
        said = self.rolter("drain", "a", "--wait", "--url", self.admin, token=TOKEN)
        self.assertEqual(said, "a: drained, 0 requests in flight\n")
        self.assertEqual({self.chat() for _ in range(4)}, {"b"})
        self.assertIn("drained", self.rolter("top", "-c", str(self.config)))
        said = self.rolter("drain", "a", "--undo", "-c", str(self.config))
        self.assertEqual(said, "a: takes part again, 0 requests in flight\n")

    def test_drain_names_what_there_is(self):
        self.assertIn("there are: a, b",
                      self.rolter("drain", "c", "-c", str(self.config), code=1))
        self.assertIn("ROLTER", self.rolter("drain", "--help").upper())
        self.assertIn("Authorization: Bearer",
                      self.rolter("drain", "a", "--url", self.admin, code=1))

    def test_nobody_there(self):
        for command in (("top",), ("drain", "a")):
            said = self.rolter(*command, "--url", f"http://127.0.0.1:{free_port()}", code=1)
            self.assertIn("is that the admin listener of a running gateway?", said)

    def test_top_shows_every_replica_once_into_a_pipe(self):
        lines = self.rolter("top", "-c", str(self.config)).splitlines()
        self.assertTrue(lines[0].startswith("ready  config version "))
        self.assertEqual([line.split()[0] for line in lines[3:]], ["REPLICA", "a", "b"])

    def test_check_live(self):
        found = json.loads(self.rolter("check", "-c", str(self.config), "--live", "--json"))
        self.assertEqual([(one["provider"], one["state"]) for one in found],
                         [("a", "up"), ("b", "up")])
        broken = Path(self.folder.name) / "broken.toml"
        broken.write_text(self.text.replace('model = "m"', 'model = "n"'))
        said = self.rolter("check", "-c", str(broken), "--live", code=1)
        self.assertIn('a: it does not serve "n" but "m"', said)

    def test_a_folder_is_no_configuration(self):
        said = self.rolter("check", "-c", self.folder.name, code=1)
        self.assertIn(f"{self.folder.name}: error: is a directory; name the file", said)

    def test_reload_over_the_admin_listener(self):
        def reload() -> tuple[int, dict]:
            request = urllib.request.Request(f"{self.admin}/admin/reload", b"", method="POST",
                                             headers={"Authorization": f"Bearer {TOKEN}"})
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)

        before = reload()[1]["version"]
        self.config.write_text(self.text + "strange = 1\n")
        status, said = reload()
        self.config.write_text(self.text)
        self.assertEqual(status, 422)
        self.assertRegex(said["error"]["message"], r"rolter\.toml:\d+:\d+: error: .*strange")
        status, said = reload()
        self.assertEqual(status, 200)
        self.assertGreater(said["version"], before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rolter", required=True)
    parser.parse_args(namespace=OPTIONS)
    done = unittest.main(argv=[sys.argv[0], "-v"], exit=False)
    return 0 if done.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
