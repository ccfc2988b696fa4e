"""What a case may say about an answer, and about what the replicas saw."""

import json
import re

from .replica import Seen
from .values import CaseError, take, to_bytes
from .wire import Message

COMMENTS = re.compile(rb"(?:: [a-z]+\n)*")  # heartbeats before an event stream


def answer_faults(expected: dict, answer: Message, sent: bytes, seen: list[Seen]) -> list[str]:
    """What is wrong with one answer. `sent` is the request's body."""
    want = take(expected, "expect", status=None, body=None, body_is="", has=[], lacks=[], json={},
                header={}, no_header=[], once=[], end="clean", framing="", within=0.0, after=0.0,
                first_byte_within=0.0, interim=None, events=None)
    faults = [
        *_status_faults(want, answer),
        *_body_faults(want, answer, sent, seen),
        *_json_faults(want["json"], bytes(answer.body)),
        *_header_faults(want, answer),
        *_time_faults(want, answer),
    ]
    if want["interim"] is not None and len(answer.interim) != want["interim"]:
        faults.append(f"{len(answer.interim)} interim answers, not {want['interim']}")
    return faults


def _one_of(wanted) -> list:
    return wanted if isinstance(wanted, list) else [wanted]


def _status_faults(want: dict, answer: Message) -> list[str]:
    faults = []
    if want["status"] is not None and answer.status not in _one_of(want["status"]):
        faults.append(f"status {answer.status or 'none'}, not {want['status']}; body {shorten(answer.body)}")
    if want["end"] and (answer.end or "open") not in _one_of(want["end"]):
        faults.append(f"the answer's end is {answer.end or 'open'}, not {want['end']}")
    if want["framing"] and answer.framing != want["framing"]:
        faults.append(f"framed by {answer.framing or 'nothing'}, not {want['framing']}")
    return faults


def _body_faults(want: dict, answer: Message, sent: bytes, seen: list[Seen]) -> list[str]:
    body, faults = bytes(answer.body), []
    if want["body"] is not None and body != to_bytes(want["body"]):
        faults.append(f"body {shorten(body)}, not {shorten(to_bytes(want['body']))}")
    if want["body_is"]:
        answered = bytes(seen[-1].sent_body) if seen else b""
        sources = {"replica": answered, "request": sent,
                   "comments, then the replica": COMMENTS.match(body).group() + answered}
        if want["body_is"] not in sources:
            raise CaseError(f"body_is is one of {', '.join(sources)}, not {want['body_is']!r}")
        faults += difference("body", body, sources[want["body_is"]])
        if want["body_is"].startswith("comments") and not COMMENTS.match(body).group():
            faults.append("no comment came before the stream")
    for part in map(to_bytes, want["has"]):
        if part not in body:
            faults.append(f"body lacks {part!r}: {shorten(body)}")
    for part in map(to_bytes, want["lacks"]):
        if part in body:
            faults.append(f"body has {part!r}")
    if want["events"] is not None and answer.events() != want["events"]:
        faults.append(f"{answer.events()} events, not {want['events']}")
    return faults


def _json_faults(wanted: dict, body: bytes) -> list[str]:
    if not wanted:
        return []
    try:
        document = json.loads(body)
    except ValueError:
        return [f"body is not JSON: {shorten(body)}"]
    faults = []
    for path, value in wanted.items():
        found = document
        for key in path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found not in _one_of(value) and not (value == "*" and found):
            faults.append(f"{path} is {found!r}, not {value!r}")
    return faults


def _header_faults(want: dict, message: Message) -> list[str]:
    faults = []
    for name, value in want["header"].items():
        found = message.values(name)
        if value == "*" and found or found == _one_of(value):
            continue
        faults.append(f"header {name} is {found}, not {value!r}")
    for name in want["no_header"]:
        if message.values(name):
            faults.append(f"header {name} should be absent: {message.values(name)}")
    for name in want["once"]:
        if len(message.values(name)) != 1:
            faults.append(f"header {name} appears {len(message.values(name))} times")
    return faults


def _time_faults(want: dict, answer: Message) -> list[str]:
    faults = []
    took = (answer.end_at or answer.started_at) - answer.started_at
    if want["within"] and took > want["within"]:
        faults.append(f"took {took:.2f} s, not within {want['within']} s")
    if want["after"] and took < want["after"]:
        faults.append(f"took {took:.2f} s, not at least {want['after']} s")
    first = answer.first_byte_at - answer.started_at
    if want["first_byte_within"] and not 0 <= first <= want["first_byte_within"]:
        faults.append(f"first body byte after {first:.2f} s, not within {want['first_byte_within']} s")
    return faults


def replica_faults(expected: dict, sent: bytes, seen: list[Seen], names=()) -> list[str]:
    """What is wrong with what the replicas saw. `names` are all replicas there are."""
    want = take(expected, "[expect]", attempts=None, per_replica={}, max_per_replica=0, request={},
                min_per_replica=0, different=[], chi_square=0.0)
    faults = []
    if want["attempts"] is not None and len(seen) not in _one_of(want["attempts"]):
        faults.append(f"{len(seen)} requests reached the replicas, not {want['attempts']}")
    counts = dict.fromkeys(names, 0)
    for one in seen:
        counts[one.replica] = counts.get(one.replica, 0) + 1
    for name, count in want["per_replica"].items():
        if counts.get(name, 0) not in _one_of(count):
            faults.append(f"{name} got {counts.get(name, 0)} requests, not {count}")
    faults += _spread_faults(want, counts)
    for first, second in want["different"]:
        if len(seen) < second or seen[first - 1].replica == seen[second - 1].replica:
            faults.append(f"attempts {first} and {second} should go to different replicas: "
                          f"{[one.replica for one in seen]}")
    if want["request"]:
        faults += ["no request reached a replica"] if not seen else _request_faults(
            want["request"], sent, seen[-1].message)
    return faults


def _spread_faults(want: dict, counts: dict[str, int]) -> list[str]:
    """chi_square is the bound on the statistic of an even spread over all replicas."""
    faults = []
    if want["max_per_replica"] and max(counts.values(), default=0) > want["max_per_replica"]:
        faults.append(f"requests per replica {counts}, at most {want['max_per_replica']} wanted")
    if want["min_per_replica"] and min(counts.values(), default=0) < want["min_per_replica"]:
        faults.append(f"requests per replica {counts}, at least {want['min_per_replica']} wanted")
    if want["chi_square"]:
        mean = sum(counts.values()) / len(counts)
        statistic = sum((count - mean) ** 2 / mean for count in counts.values())
        if statistic > want["chi_square"]:
            faults.append(f"requests per replica {counts}: chi-square {statistic:.1f}")
    return faults


def _request_faults(expected: dict, sent: bytes, message: Message) -> list[str]:
    """The last request a replica saw."""
    want = take(expected, "[expect.request]", body=None, body_is="", has=[], lacks=[], header={},
                no_header=[], once=[], line="", framing="")
    faults = _header_faults(want, message)
    body = bytes(message.body)
    if want["line"] and message.start_line != want["line"]:
        faults.append(f"request line {message.start_line!r}, not {want['line']!r}")
    if want["body_is"] == "sent":
        faults += difference("request body", body, sent)
    if want["body"] is not None:
        faults += difference("request body", body, to_bytes(want["body"]))
    if want["framing"] and message.framing != want["framing"]:
        faults.append(f"request framed by {message.framing}, not {want['framing']}")
    faults += [f"request lacks {part!r}" for part in map(to_bytes, want["has"]) if part not in body]
    faults += [f"request has {part!r}" for part in map(to_bytes, want["lacks"]) if part in body]
    return faults


def difference(what: str, found: bytes, wanted: bytes) -> list[str]:
    if found == wanted:
        return []
    at = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
    around = slice(max(0, at - 20), at + 40)
    return [f"{what} differs at byte {at} of {len(wanted)} (got {len(found)}): "
            f"{found[around]!r}, not {wanted[around]!r}"]


def shorten(data) -> str:
    text = repr(bytes(data))
    return text if len(text) < 200 else f"{text[:197]}..."
