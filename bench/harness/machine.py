"""What the kernel says about processes and the machine."""

import os
import re
import shutil
import time
from pathlib import Path

GATEWAY_CORE = "0"
LOAD_CORE = "1"


def find_program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def process_tree(pid: int) -> list[int]:
    """The process and its descendants."""
    pids = [pid]
    for parent in pids:
        for task in Path(f"/proc/{parent}/task").glob("*"):
            try:
                pids += [int(child) for child in (task / "children").read_text().split()]
            except OSError:
                continue  # ended meanwhile
    return pids


def cpu_seconds(pid: int) -> float:
    """User and system time of the tree: what utime + stime add up to, in nanoseconds rather than
    clock ticks."""
    total = 0
    for one in process_tree(pid):
        for task in Path(f"/proc/{one}/task").glob("*"):
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except OSError:
                continue
    return total / 1e9


def _status_kb(pid: int, name: str) -> int:
    total = 0
    for one in process_tree(pid):
        try:
            match = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{one}/status").read_text())
        except OSError:
            continue
        total += int(match.group(1)) if match else 0
    return total


def resident_kb(pid: int) -> int:
    return _status_kb(pid, "VmRSS")


def reset_peak(pid: int) -> None:
    """Lets peak_resident_kb() count from now; needs root, else the peak is of the whole life."""
    for one in process_tree(pid):
        try:
            Path(f"/proc/{one}/clear_refs").write_text("5")
        except OSError:
            continue


def peak_resident_kb(pid: int) -> int:
    return _status_kb(pid, "VmHWM")


def busy_share(seconds: float = 0.5) -> float:
    """How much of the machine others use now: 0 is idle, 1 is every core."""
    def sample() -> tuple[int, int]:
        fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return sum(fields), fields[3] + fields[4]

    total, idle = sample()
    time.sleep(seconds)
    total_after, idle_after = sample()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def warn_if_busy(consequence: str = "") -> float:
    """busy_share(), told when it is enough to disturb."""
    busy = busy_share()
    if busy > 0.1:
        print(f"warning: others use {busy:.0%} of this machine{consequence}")
    return busy


def description() -> dict:
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return {"cpu": model.group(1) if model else "unknown", "cores": os.cpu_count(),
            "kernel": os.uname().release}
