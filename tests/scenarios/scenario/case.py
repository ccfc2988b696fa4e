"""One case: its file, and the steps of its client from the first to the verdict."""

import asyncio
import re
import signal
import subprocess
import time
import tomllib
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from .client import REQUEST_DEFAULTS, Connection, request_bytes
from .expect import answer_faults, replica_faults
from .replica import Replica, Rule, Seen, make_rule
from .values import CaseError, chat_body, take, to_bytes
from .wire import Changes, Message

_VERBS = ("post", "raw", "read", "close", "pause", "await", "kill", "refuse", "start", "memory", "reload",
          "signal", "exit", "log", "metrics")
PATIENCE = 15.0  # seconds for anything a case does not put a limit on


@dataclass(frozen=True)
class Case:
    name: str  # family/id
    fact: str
    replicas: int
    gateway: dict
    rules: list[Rule]
    request: dict
    steps: list[dict]
    expect: dict
    idle_close: float  # seconds after which a replica closes an idle connection; 0 = never
    in_front: int = 0  # further gateways in a row before the one that knows the replicas


def load_case(path: Path) -> Case:
    name = f"{path.parent.name}/{path.stem}"
    try:
        table = take(tomllib.loads(path.read_text(encoding="utf-8")), "case", fact="", source="",
                     replicas=1, gateway={}, replica=[], request={}, step=[], expect={},
                     idle_close=0.0, in_front=0, reports=[])
        if not table["fact"]:
            raise CaseError("a case states the fact it checks")
        rules = [make_rule(rule) for rule in table["replica"]]
        steps = table["step"] or [{"post": True, "expect": {"status": 200}}]
        return Case(name, table["fact"], table["replicas"], table["gateway"], rules,
                    table["request"], steps, table["expect"], table["idle_close"], table["in_front"])
    except (CaseError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{name}: {error}") from error


@dataclass
class Run:
    """A case while it runs against a gateway that listens on `port`."""

    case: Case
    replicas: dict[str, Replica]
    seen: list[Seen]
    changes: Changes
    port: int = 0
    gateway: object = None  # the process
    configure: object = None  # writes the configuration file anew, with changes
    exit_awaited: bool = False
    judge_memory: bool = True
    faults: list[str] = field(default_factory=list)
    connections: dict[str, Connection] = field(default_factory=dict)
    sent: bytes = b""  # the body of the newest request
    number: int = 0  # of the newest request

    @classmethod
    def prepare(cls, case: Case) -> "Run":
        changes, seen = Changes(), []
        names = [f"u{i + 1}" for i in range(case.replicas)]
        replicas = {name: Replica(name, case.rules, seen, changes, case.idle_close) for name in names}
        return cls(case, replicas, seen, changes)

    async def play(self) -> None:
        for index, step in enumerate(self.case.steps, start=1):
            before = len(self.faults)
            await self._step(dict(step))
            for i in range(before, len(self.faults)):
                self.faults[i] = f"step {index}: {self.faults[i]}"
            if len(self.faults) > before:
                return
        self.faults += replica_faults(self.case.expect, self.sent, self.seen, self.replicas)

    async def close(self) -> None:
        for connection in self.connections.values():
            connection.writer.close()
        for replica in self.replicas.values():
            await replica.kill()

    async def _step(self, step: dict) -> None:
        verbs = [verb for verb in _VERBS if verb in step]
        if len(verbs) != 1:
            raise CaseError(f"a step has one verb, not {verbs}")
        await getattr(self, f"_step_{verbs[0]}")(step)

    async def _connection(self, name: str) -> Connection:
        old = self.connections.get(name)
        if old is None or old.ended or old.writer.is_closing():
            self.connections[name] = await Connection.open(self.port, self.changes)
        return self.connections[name]

    def _request(self, changes) -> dict:
        """The case's request with a step's changes. `text` makes a chat body; {n} is the number of
        the request, so that each prompt can be another."""
        self.number += 1
        request = {"text": "hello {n}", "stream": False, **self.case.request,
                   **(changes if isinstance(changes, dict) else {})}
        text, stream = request.pop("text"), request.pop("stream")
        request.setdefault("body", chat_body(text.replace("{n}", str(self.number)), stream).decode())
        return take(request, "request", **REQUEST_DEFAULTS)

    async def _step_post(self, step: dict) -> None:
        values = take(step, "post step", post=None, on="c", expect={}, saw={}, until="end", times=1,
                      at_once=1, every=0.0, within=PATIENCE)
        pending = []
        for i in range(values["times"]):
            name = values["on"] if values["at_once"] == 1 else f"{values['on']}{i % values['at_once']}"
            pending.append(asyncio.create_task(self._exchange(values, name)))
            if len(pending) == values["at_once"]:
                await asyncio.gather(*pending)
                pending.clear()
                await asyncio.sleep(values["every"])
        await asyncio.gather(*pending)

    async def _exchange(self, values: dict, name: str) -> None:
        request = self._request(values["post"])
        data, body = request_bytes(request, self.port)
        self.sent = body
        started = time.monotonic()
        connection = await self._connection(name)
        await connection.send(data)
        if values["until"] == "sent":
            return
        answer = await connection.next_answer(started, _enough(values["until"]), values["within"])
        self._judge(values, answer, body)
        if values["saw"]:
            self.faults += replica_faults({"request": values["saw"]}, body, self.seen)

    def _judge(self, values: dict, answer: Message, body: bytes) -> None:
        expected = dict(values["expect"])
        if values["until"] != "end":
            expected.setdefault("end", "")
            if not _enough(values["until"])(answer):
                self.faults.append(f"not within {values['within']} s: {values['until']}")
        self.faults += answer_faults(expected, answer, body, self.seen)

    async def _step_raw(self, step: dict) -> None:
        """Bytes as they are, `piece` of them `every` so many seconds until an answer has begun."""
        values = take(step, "raw step", raw=None, on="c", expect={}, until="end", within=PATIENCE,
                      every=0.0, piece=0)
        data = to_bytes(values["raw"])
        connection = await self._connection(values["on"])
        if values["until"] == "sent":
            await connection.send(data)
            return
        reading = asyncio.create_task(
            connection.next_answer(time.monotonic(), _enough(values["until"]), values["within"]))
        piece = values["piece"] or len(data) or 1
        for start in range(0, len(data), piece):
            if reading.done() or connection.ended:
                break
            await connection.send_if_open(data[start : start + piece])
            await asyncio.sleep(values["every"])
        self._judge(values, await reading, self.sent)

    async def _step_read(self, step: dict) -> None:
        """"rest": the answer begun before, to its end. "next": the next answer on the connection."""
        values = take(step, "read step", read="rest", on="c", expect={}, within=PATIENCE, until="end")
        connection = self.connections[values["on"]]
        if values["read"] == "next":
            answer = await connection.next_answer(time.monotonic(), _enough(values["until"]), values["within"])
        else:
            answer = await connection.rest(values["within"])
        self._judge(values, answer, self.sent)

    async def _step_close(self, step: dict) -> None:
        values = take(step, "close step", close="fin", on="c")
        await self.connections[values["on"]].close(values["close"])

    async def _step_pause(self, step: dict) -> None:
        await asyncio.sleep(take(step, "pause step", pause=0.0)["pause"])

    async def _step_await(self, step: dict) -> None:
        """Something that must come true: {requests = n} at the replicas, {gone = "u1"}: the gateway
        ends the newest request's connection there, or "closed": it ends the client's."""
        values = take(step, "await step", **{"await": ""}, within=1.0, requests=0, on="c")
        what = values["await"]
        if what == "requests":
            def done():
                return len(self.seen) >= values["requests"]
        elif what == "gone":
            def done():
                return bool(self.seen) and self.seen[-1].gone_at > 0
        elif what == "closed":
            await self._await_close(values)
            return
        else:
            raise CaseError(f"await is requests, gone or closed, not {what!r}")
        if not await self.changes.wait_for(done, values["within"]):
            self.faults.append(f"not within {values['within']} s: {what}")

    async def _await_close(self, values: dict) -> None:
        connection = self.connections[values["on"]]
        answer = await connection.next_answer(time.monotonic(), lambda _: False, values["within"])
        if answer.end not in ("closed", "reset"):
            self.faults.append(f"the gateway did not close within {values['within']} s: {answer.start_line}")

    async def _step_memory(self, step: dict) -> None:
        """The gateway's resident memory must be below so many megabytes now."""
        limit = take(step, "memory step", memory=0)["memory"]
        if not self.judge_memory:
            return
        status = Path(f"/proc/{self.gateway.pid}/status").read_text(encoding="ascii")
        used = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024
        if used > limit:
            self.faults.append(f"the gateway holds {used:.0f} MB, not below {limit} MB")

    async def _step_reload(self, step: dict) -> None:
        """The configuration file is written with these changes to the case's, and read: told by
        SIGHUP, or found by the gateway itself."""
        values = take(step, "reload step", reload={}, by="signal", refused=False, within=PATIENCE)
        seen = len(self.gateway.log)
        self.configure(values["reload"])
        if values["by"] == "signal":
            self.gateway.process.send_signal(signal.SIGHUP)
        elif values["by"] != "file":
            raise CaseError(f"by is signal or file, not {values['by']!r}")
        line = "reload refused" if values["refused"] else "reloaded "
        if not await self._logged(line, seen, values["within"]):
            self.faults.append(f"not within {values['within']} s in the log: {line}")

    async def _step_signal(self, step: dict) -> None:
        name = take(step, "signal step", signal="")["signal"]
        self.gateway.process.send_signal(getattr(signal, f"SIG{name}"))

    async def _step_exit(self, step: dict) -> None:
        """The gateway ends with this code."""
        values = take(step, "exit step", exit=0, within=PATIENCE, after=0.0)
        self.exit_awaited = True
        started = time.monotonic()
        try:
            code = await asyncio.to_thread(self.gateway.process.wait, values["within"])
        except subprocess.TimeoutExpired:
            self.faults.append(f"the gateway did not end within {values['within']} s")
            return
        if code != values["exit"]:
            self.faults.append(f"the gateway ended with {code}, not {values['exit']}")
        if time.monotonic() - started < values["after"]:
            self.faults.append(f"the gateway ended before {values['after']} s")

    async def _step_log(self, step: dict) -> None:
        """What the gateway's log must say within the time, and must not say by then."""
        values = take(step, "log step", log="", lacks=[], within=PATIENCE)
        if values["log"] and not await self._logged(values["log"], 0, values["within"]):
            self.faults.append(f"not within {values['within']} s in the log: {values['log']}")
        text = self.gateway.log_text()
        self.faults += [f"the log has {part!r}" for part in values["lacks"] if part in text]

    async def _logged(self, part: str, start: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if any(part in line for line in self.gateway.log[start:]):
                return True
            await asyncio.sleep(0.02)
        return False

    async def _step_metrics(self, step: dict) -> None:
        """Lines of the exposition, beginnings of lines and texts that must not be there."""
        values = take(step, "metrics step", metrics=[], lacks=[], hides=[], within=2.0)
        deadline = time.monotonic() + values["within"]
        while True:
            lines = (await asyncio.to_thread(self._scrape)).splitlines()
            faults = [f"metrics lack {one!r}: " + "; ".join(
                          line for line in lines if line.startswith(one.split("{")[0].split(" ")[0]))
                      for one in values["metrics"] if one not in lines]
            if not faults or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        self.faults += faults
        self.faults += [f"metrics have {line!r}" for line in lines
                        if any(line.startswith(one) for one in values["lacks"])
                        or any(one in line for one in values["hides"])]

    def _scrape(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
            return answer.read().decode()

    async def _step_kill(self, step: dict) -> None:
        await self.replicas[take(step, "kill step", kill="")["kill"]].kill()

    async def _step_refuse(self, step: dict) -> None:
        self.replicas[take(step, "refuse step", refuse="")["refuse"]].refuse()

    async def _step_start(self, step: dict) -> None:
        await self.replicas[take(step, "start step", start="")["start"]].start()


def _enough(until: str):
    """When to stop reading: "end", "head", or "events N"."""
    if until == "end":
        return lambda message: False
    if until == "head":
        return lambda message: bool(message.head)
    if until == "interim":
        return lambda message: bool(message.interim)
    word, _, number = until.partition(" ")
    if word != "events" or not number.isdigit():
        raise CaseError(f"until is end, sent, head, interim or \"events N\", not {until!r}")
    return lambda message: message.events() >= int(number)
