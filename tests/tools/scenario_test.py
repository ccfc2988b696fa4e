"""The scenario runner's judgement: a case that should fail does fail."""

import asyncio
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scenarios"))

from scenario.case import Case, Run, load_case  # noqa: E402
from scenario.expect import answer_faults, difference, replica_faults  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.replica import Seen, make_rule  # noqa: E402
from scenario.values import CaseError, to_bytes  # noqa: E402
from scenario.wire import Message  # noqa: E402

CASES = sorted((Path(__file__).resolve().parents[1] / "scenarios" / "cases").glob("*/*.toml"))


def play_directly(rules=(), request=None, steps=(), expect=None) -> list[str]:
    """Plays a case with the client connected to the replica itself: what a perfect relay would do."""
    async def play() -> list[str]:
        case = Case("direct", "", 1, {}, [make_rule(rule) for rule in rules], request or {},
                    list(steps), expect or {}, 0.0)
        run = Run.prepare(case)
        await run.replicas["u1"].start()
        run.port = run.replicas["u1"].port
        try:
            await run.play()
        finally:
            await run.close()
        return run.faults

    return asyncio.run(play())


class Values(unittest.TestCase):
    def test_bytes_are_text_hex_repetitions_and_lists(self):
        value = ["é", {"hex": "00 ff"}, {"repeat": "ab", "times": 2}]
        self.assertEqual(to_bytes(value), b"\xc3\xa9\x00\xffabab")
        with self.assertRaises(CaseError):
            to_bytes({"hexx": "00"})

    def test_a_case_changes_the_configuration(self):
        text = configuration({"retry": {"max_retries": 0}, "target": {"weight": 2}, "virtual_keys":
                              [{"key": 'a"b'}]}, {"u1": 1, "u2": 2}, 9)
        self.assertIn("max_retries = 0", text)
        self.assertIn("base_backoff_ms = 5", text)
        self.assertIn('[[virtual_keys]]\nkey = "a\\"b"', text)
        self.assertEqual(text.count("weight = 2"), 2)

    def test_every_case_file_is_understood(self):
        self.assertGreater(len(CASES), 50)
        facts = [load_case(path).fact for path in CASES]
        self.assertEqual(len(set(facts)), len(facts))

    def test_unknown_actions_and_keys_are_errors(self):
        with self.assertRaises(CaseError):
            make_rule({"do": [{"sing": 1}]})
        with self.assertRaises(CaseError):
            answer_faults({"statuss": 200}, Message(), b"", [])


class Playing(unittest.TestCase):
    def test_a_whole_stream_is_clean_and_a_cut_one_is_broken(self):
        whole = [{"do": [{"stream": {"events": ["a", "b"]}}]}]
        cut = [{"do": [{"head": "stream"}, {"events": ["a"]}, {"close": "fin"}]}]
        step = {"post": True, "expect": {"status": 200, "body_is": "replica", "has": ["[DONE]"]}}
        self.assertEqual(play_directly(whole, {"stream": True}, [step]), [])
        faults = play_directly(cut, {"stream": True}, [step])
        self.assertTrue(any("end is broken" in fault for fault in faults), faults)

    def test_a_reset_is_told_from_an_end(self):
        rules = [{"do": [{"close": "rst"}]}]
        step = {"post": True, "expect": {"end": "reset"}}
        self.assertEqual(play_directly(rules, None, [step]), [])

    def test_the_replica_notices_the_client_that_leaves(self):
        rules = [{"do": [{"head": "stream"}, {"events": ["a"]}, {"hang": 5.0}]}]
        steps = [{"post": True, "until": "events 1"}, {"close": "fin"}, {"await": "gone"}]
        self.assertEqual(play_directly(rules, None, steps), [])
        started = time.monotonic()
        faults = play_directly(rules, None, [steps[0], {"await": "gone", "within": 0.2}])
        self.assertEqual(faults, ["step 2: not within 0.2 s: gone"])
        self.assertLess(time.monotonic() - started, 3)

    def test_what_does_not_come_in_time_is_a_fault(self):
        rules = [{"do": [{"pause": 1.0}, {"reply": {}}]}]
        faults = play_directly(rules, None, [{"post": True, "within": 0.1, "expect": {"status": 200}}])
        self.assertTrue(any("end is open" in fault for fault in faults), faults)

    def test_the_replica_sees_chunks_and_lengths_alike(self):
        for request in ({"chunks_of": 3}, {}):
            step = {"post": True, "saw": {"body_is": "sent"}, "expect": {"status": 200}}
            self.assertEqual(play_directly([], request, [step]), [])

    def test_steps_stop_at_the_first_fault(self):
        steps = [{"post": True, "expect": {"status": 404}}, {"post": True}]
        faults = play_directly([], None, steps, {"attempts": 2})
        self.assertEqual(len(faults), 1)


class Judging(unittest.TestCase):
    def answer(self):
        head = b"HTTP/1.1 200 OK\r\nA: 1\r\nB: 1\r\nb: 2\r\n\r\n"
        return Message(head=head, body=bytearray(b'{"a":{"b":1}}'), end="clean", framing="length")

    def test_each_expectation_can_fail(self):
        for expected in ({"status": 201}, {"body": "x"}, {"has": ["zz"]}, {"lacks": ["a"]},
                         {"json": {"a.b": 2}}, {"json": {"a.c": "*"}}, {"header": {"a": "2"}},
                         {"no_header": ["A"]}, {"once": ["b"]}, {"end": "broken"},
                         {"framing": "chunked"}, {"interim": 1}, {"events": 3}):
            self.assertEqual(len(answer_faults(expected, self.answer(), b"", [])), 1, expected)

    def test_each_expectation_can_hold(self):
        expected = {"status": [200, 201], "body": '{"a":{"b":1}}', "json": {"a.b": 1}, "once": ["a"],
                    "header": {"b": ["1", "2"], "a": "*"}, "no_header": ["c"], "events": 0}
        self.assertEqual(answer_faults(expected, self.answer(), b"", []), [])

    def test_replica_expectations_can_fail(self):
        def seen(name, attempt):
            return Seen(name, attempt, 1, Message(head=b"POST /x HTTP/1.1\r\n\r\n"))

        log = [seen("u1", 1), seen("u1", 2)] + [seen("u2", n) for n in range(3, 40)]
        for expected in ({"attempts": 2}, {"per_replica": {"u1": 1}}, {"max_per_replica": 30},
                         {"min_per_replica": 3}, {"different": [[1, 2]]}, {"chi_square": 4.0},
                         {"request": {"line": "POST /y HTTP/1.1"}}, {"request": {"body_is": "sent"}}):
            self.assertEqual(len(replica_faults(expected, b"b", log, ["u1", "u2"])), 1, expected)

    def test_a_difference_names_its_place(self):
        self.assertEqual(difference("x", b"abc", b"abc"), [])
        self.assertIn("byte 2 of 3", difference("x", b"abX", b"abc")[0])


class Coverage(unittest.TestCase):
    def test_every_field_report_has_a_case_a_test_or_a_reason(self):
        script = Path(__file__).resolve().parents[1] / "scenarios" / "coverage"
        done = subprocess.run([sys.executable, "-B", script, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
