"""Tables of minimum, median and maximum over the rounds, ratios to the peers, and the targets."""

import statistics
from dataclasses import dataclass

MIN_CORE_USE = 0.9  # below it the gateway was not the bottleneck, or something else ran on its core


@dataclass(frozen=True)
class Column:
    workload: str
    figure: str
    title: str
    digits: int = 1


COLUMNS = (
    Column("saturation", "per_second", "requests/s", 0),
    Column("saturation", "cpu_us", "CPU us/request"),
    Column("saturation", "core_use", "core use", 2),
    Column("half_load", "added_p50_us", "added p50 us, half load", 0),
    Column("half_load", "added_p99_us", "added p99 us, half load", 0),
    Column("stream_fast", "per_second", "chunks/s, fast", 0),
    Column("stream_fast", "cpu_us", "CPU us/chunk, fast", 2),
    Column("stream_paced", "cpu_us", "CPU us/chunk, 50/s each", 2),
    Column("big_bodies", "cpu_us", "CPU us/request, 1 MB", 0),
    Column("big_bodies", "peak_rss_mb", "peak MB, 64 x 1 MB", 0),
    Column("idle_streams", "kb_per_stream_1000", "KB/idle stream, 1,000"),
    Column("idle_streams", "kb_per_stream_8000", "KB/idle stream, 8,000"),
)


@dataclass(frozen=True)
class Target:
    """gateway's median of a figure <= (or >=) limit x peer's, or the limit itself without a peer."""

    gateway: str
    workload: str
    figure: str
    limit: float
    peer: str = ""
    at_least: bool = False


TARGETS = (
    Target("rolter", "saturation", "cpu_us", 0.95, "nginx"),
    Target("rolter", "saturation", "cpu_us", 1.1, "haproxy"),
    Target("rolter", "saturation", "per_second", 1.0, "nginx", at_least=True),
    Target("rolter-full", "saturation", "cpu_us", 1.0, "nginx-log"),
    Target("rolter", "half_load", "added_p50_us", 1.2, "nginx"),
    Target("rolter", "half_load", "added_p99_us", 1.2, "nginx"),
    Target("rolter", "stream_fast", "cpu_us", 1.0, "nginx"),
    Target("rolter", "stream_paced", "cpu_us", 1.0, "nginx"),
    Target("rolter", "idle_streams", "kb_per_stream_1000", 12),
    Target("rolter", "idle_streams", "kb_per_stream_8000", 12),
    Target("rolter", "big_bodies", "cpu_us", 0.6, "nginx"),
    Target("rolter", "big_bodies", "cpu_us", 2.0, "nginx-unbuffered"),
    Target("rolter-two-loops", "saturation", "cpu_us", 1.1, "rolter"),
)


def values(rows: list[dict], gateway: str, workload: str, figure: str) -> list[float]:
    found = []
    for row in rows:
        if row["gateway"] == gateway and not row.get("disturbed"):
            value = row["workloads"].get(workload, {}).get(figure)
            if value is not None:
                found.append(value)
    return found


def median(rows: list[dict], gateway: str, workload: str, figure: str) -> float | None:
    found = values(rows, gateway, workload, figure)
    return statistics.median(found) if found else None


def _cell(found: list[float], digits: int) -> str:
    if not found:
        return "-"
    if len(found) == 1:
        return f"{found[0]:,.{digits}f}"
    return " / ".join(f"{value:,.{digits}f}" for value in (min(found), statistics.median(found), max(found)))


def _ratio(rows: list[dict], gateway: str, column: Column, peer: str) -> str:
    own, other = (median(rows, name, column.workload, column.figure) for name in (gateway, peer))
    return f"{own / other:.2f}" if own is not None and other else "-"


def tables(rows: list[dict], gateways: list[str]) -> str:
    """One table per figure: a row per gateway, with the rounds it rests on."""
    lines = []
    for column in COLUMNS:
        if not any(values(rows, name, column.workload, column.figure) for name in gateways):
            continue
        lines += ["", f"### {column.title}", "", "| gateway | rounds | min / median / max | x nginx | x haproxy |",
                  "|---|---|---|---|---|"]
        for name in gateways:
            found = values(rows, name, column.workload, column.figure)
            if found:
                lines.append(f"| {name} | {len(found)} | {_cell(found, column.digits)} "
                             f"| {_ratio(rows, name, column, 'nginx')} | {_ratio(rows, name, column, 'haproxy')} |")
    return "\n".join(lines)


def judged_targets(rows: list[dict]) -> list[dict]:
    judged = []
    for target in TARGETS:
        own = median(rows, target.gateway, target.workload, target.figure)
        base = median(rows, target.peer, target.workload, target.figure) if target.peer else 1.0
        if own is None or not base:
            continue
        measured = own / base
        met = measured >= target.limit if target.at_least else measured <= target.limit
        judged.append({"gateway": target.gateway, "workload": target.workload, "figure": target.figure,
                       "peer": target.peer, "at_least": target.at_least, "limit": target.limit,
                       "measured": measured, "met": met})
    return judged


def targets_table(rows: list[dict]) -> str:
    lines = ["", "### Targets", "", "| what | target | measured | |", "|---|---|---|---|"]
    for one in judged_targets(rows):
        sign = ">=" if one["at_least"] else "<="
        unit = f" x {one['peer']}" if one["peer"] else ""
        lines.append(f"| {one['gateway']}: {one['workload']}, {one['figure']} | {sign} {one['limit']}{unit} "
                     f"| {one['measured']:.2f} | {'met' if one['met'] else 'MISSED'} |")
    return "\n".join(lines)
