"""What a run of the mixed soak has found, for people."""

from dataclasses import dataclass, field


@dataclass
class Sample:
    seconds: float
    resident_mb: float
    descriptors: int
    requests: int
    index_mb: float  # prefix trees
    blocks: int  # of the block index


@dataclass
class Figures:
    minutes: float
    outcomes: dict[str, int]
    heartbeats: int
    stalls: int  # of the soak itself
    faults: dict[str, int]
    samples: list[Sample]
    growth_mb: float
    descriptors: tuple[int, int]  # before the first request, at the end
    left_over: list[str] = field(default_factory=list)


def section(figures: Figures) -> str:
    total = sum(figures.outcomes.values())
    lines = [f"{total} requests in {figures.minutes:g} minutes.", "", "| how requests ended | count |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(figures.outcomes.items(), key=lambda x: -x[1])]
    lines += ["", f"Heartbeat comments read: {figures.heartbeats}.", "", "| what was done to them | times |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(figures.faults.items())]
    lines += ["", "| minute | requests so far | resident MB | prefix trees MB | KV blocks | descriptors |", "|---|---|---|---|---|---|"]
    lines += [f"| {one.seconds / 60:.1f} | {one.requests} | {one.resident_mb:.1f} | {one.index_mb:.2f} | {one.blocks} | "
              f"{one.descriptors} |"
              for one in _some(figures.samples)]
    before, after = figures.descriptors
    lines += ["", f"Resident memory, last quarter against the second: {figures.growth_mb:+.1f} MB. "
              f"Descriptors: {before} before, {after} after. Every count of requests in flight, waiting and of "
              f"client connections: {'0' if not figures.left_over else '; '.join(figures.left_over)}."]
    if figures.stalls:
        lines += ["", f"The soak itself was stopped {figures.stalls} times for more than seconds; what happened "
                  "meanwhile is counted above, and not judged."]
    return "\n".join(lines)


def _some(samples: list[Sample]) -> list[Sample]:
    """About a dozen of them, the first and the last included."""
    step = max(1, (len(samples) - 1) // 12)
    return [*samples[:-1:step], samples[-1]] if samples else []
