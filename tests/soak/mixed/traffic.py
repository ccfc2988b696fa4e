"""Clients of every kind, each of which judges what it gets."""

import asyncio
import collections
import json
import random
import time
from dataclasses import dataclass, field

from scenario.wire import Changes, Message, Reader, reset

from .answers import Question, ask, body_of, request_of, said

WORKERS = 40
STALL_SECONDS = 4
MOST_FAULTS = 10_000
ANSWER_SECONDS = 60  # the limits of the gateway end every request long before
KINDS = {"chat stream": 34, "chat": 20, "messages stream": 10, "messages": 4, "ids stream": 9, "ids": 8,
         "slow reader": 5, "leaver": 10}
_PATHS = {"messages": "/v1/messages", "ids": "/v1/completions"}
_MODELS = {"/v1/completions": "ids", "/v1/messages": "turns", "/v1/chat/completions": "chat"}


@dataclass
class Tally:
    """How requests ended, and what must not happen. What befalls the soak itself, such as being
    stopped for a minute by a debugger or a busy machine, makes its own clocks run out: nothing that
    happened meanwhile is held against the gateway."""

    outcomes: collections.Counter = field(default_factory=collections.Counter)
    heartbeats: int = 0
    stalls: list[tuple[float, float]] = field(default_factory=list)
    _faults: list[tuple[float, float, str]] = field(default_factory=list)

    def fault(self, what: str, since: float) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.append((since, time.monotonic(), what))

    def faults(self) -> list[str]:
        return [what for since, until, what in self._faults
                if not any(since <= end + STALL_SECONDS and until >= start for start, end in self.stalls)]

    async def watch(self, over: asyncio.Event) -> None:
        before = time.monotonic()
        while not over.is_set():
            await asyncio.sleep(0.5)
            now = time.monotonic()
            if now - before > STALL_SECONDS:
                self.stalls.append((before, now))
            before = now

    @property
    def requests(self) -> int:
        return sum(self.outcomes.values())


def judge(question: Question, stream: bool, message: Message) -> tuple[str, str]:
    """The outcome of an answer that has ended, and what is wrong with it ("" when nothing is)."""
    body = bytes(message.body)
    if not message.status:
        return "unanswered", f"{message.end or 'closed'} before a head"
    if message.end == "malformed":
        return "malformed", f"{message.status}: framing is broken after {body[-80:]!r}"
    if message.status != 200:
        fine = message.end == "clean" and "error" in json.loads(body)
        return f"refused {message.status}", "" if fine else f"{message.status} {message.end} {body[:200]!r}"
    if not stream and message.end != "clean":
        return "broken", ""  # looks as it is: less than its length
    answer = said(question.path, body, stream)
    if not question.reply.startswith(answer.text):
        return "wrong", f"{answer.text!r} is not of {question.reply!r}"
    if message.end != "clean":
        return "broken", ""
    if answer.error:
        return "told in the stream", "" if stream and not answer.text else f"an error after {answer.text!r}"
    if not answer.ended or answer.text != question.reply:
        return "looks whole, is not", f"{answer.text!r} instead of {question.reply!r}"
    return "whole", ""


class Client:
    """Asks one question after another, mostly on one connection."""

    def __init__(self, port: int, questions: dict[str, list[Question]], tally: Tally, number: int):
        self._port, self._questions, self._tally = port, questions, tally
        self._rng = random.Random(number)
        self._turns = [{"role": "system", "content": f"You are assistant {number % 8}. " + "Be brief. " * 40}]
        self._writer: asyncio.StreamWriter | None = None
        self._reader: Reader | None = None

    async def run(self, over: asyncio.Event) -> None:
        while not over.is_set():
            kind, since = self._rng.choices(list(KINDS), list(KINDS.values()))[0], time.monotonic()
            try:
                outcome, wrong = await self._one(kind)
                if wrong:
                    self._tally.fault(f"{kind}: {outcome}: {wrong}", since)
            except (OSError, TimeoutError, ValueError, KeyError) as error:
                self._tally.fault(f"{kind}: {type(error).__name__}: {error}", since)
                outcome = "fault"
                self._leave()
            self._tally.outcomes[outcome] += 1
            await asyncio.sleep(self._rng.expovariate(4))
        self._leave()

    def _leave(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _connect(self) -> None:
        if self._writer is None:
            stream, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=4096)
            self._reader = Reader(stream, Changes())

    async def _one(self, kind: str) -> tuple[str, str]:
        """Its outcome, and what is wrong with it."""
        question = self._rng.choice(self._questions[_PATHS.get(kind.split()[0], "/v1/chat/completions")])
        stream = kind not in ("chat", "messages", "ids")
        body = body_of(question, _MODELS[question.path], stream, self._before())
        request = request_of(question, self._port, body, (f"X-Session-ID: s{self._rng.randrange(200)}",))
        await self._connect()
        if kind == "leaver":
            return await self._abandon(request), ""
        self._reader.bite, self._reader.pause = (200, 0.04) if kind == "slow reader" else (1 << 18, 0)
        message = await ask(self._reader, self._writer, request, ANSWER_SECONDS)
        outcome, wrong = judge(question, stream, message)
        self._tally.heartbeats += message.body.count(b": waiting\n")
        if message.end != "clean" or "close" in message.values("connection"):
            self._leave()
        self._remember(question, outcome)
        return outcome, wrong

    def _before(self) -> list[dict]:
        """The conversation so far; the API wants turns in alternation from the user on."""
        return [{"role": "user", "content": self._turns[0]["content"]},
                {"role": "assistant", "content": "Yes."}, *self._turns[1:]]

    def _remember(self, question: Question, outcome: str) -> None:
        if question.path == "/v1/completions" or outcome != "whole":
            return
        self._turns += [{"role": "user", "content": question.text},
                        {"role": "assistant", "content": question.reply}]
        if len(self._turns) > 13:
            del self._turns[1:]

    async def _abandon(self, request: bytes) -> str:
        """Sends a part or all of it, reads a little or nothing, and goes."""
        part = self._rng.choice((self._rng.randrange(1, len(request)), len(request), len(request)))
        self._writer.write(request[:part])
        await asyncio.sleep(self._rng.random() * 0.3)
        if self._rng.random() < 0.5:
            reset(self._writer)
        self._leave()
        return "left"
