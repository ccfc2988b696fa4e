#!/usr/bin/env python3
"""The pictures of the README: the live page in a real Chromium, a minute into simulated traffic of
conversations that share system prompts.

usage: pictures.py --rolter PROGRAM [--out FOLDER] [--seconds N]
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from page_test import fetch, until  # noqa: E402
from processes import Gateway, SimEngine, free_port  # noqa: E402
from small_png import shrink  # noqa: E402
from web_driver import Browser, missing_program  # noqa: E402

MODEL = "Qwen/Qwen3-8B"
NAMES = ("gpu-a", "gpu-b", "gpu-c", "gpu-d")
CALLERS = 14
MOST_BYTES = 150_000  # of a picture
WORDS = ("the cache holds what replicas have read before and a prompt that begins alike is answered "
         "sooner than one nobody knows while tokens come in blocks of sixteen").split()


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count))


def configuration(ports: list[int], api_port: int, admin_port: int) -> str:
    providers = "".join(f'[[providers]]\nname = "{name}"\napi_base = "http://127.0.0.1:{port}"\n'
                        for name, port in zip(NAMES, ports))

    def targets(names: tuple[str, ...], more: str = "") -> str:
        return "".join(f'[[routes.targets]]\nprovider = "{name}"\nmodel = "{MODEL}"\n{more}'
                       for name in names)
    return (f'[server]\nhost = "127.0.0.1"\nport = {api_port}\nloops = 2\n'
            f'[admin]\nport = {admin_port}\n[log]\naccess = false\n'
            f'[metrics_scrape]\nenabled = true\ninterval_secs = 1\n{providers}'
            f'[[routes]]\nmodel = "chat"\naliases = ["default"]\n{targets(NAMES)}'
            f'[[routes]]\nmodel = "batch"\nstrategy = "least_load"\n'
            f'{targets(NAMES[2:], "max_in_flight = 4" + chr(10))}')


class Callers:
    """Threads that hold conversations with the gateway until they are stopped."""

    def __init__(self, url: str):
        self.url = url
        self.stopping = threading.Event()
        system = random.Random(1)
        self.system_prompts = [words(system, 300) for _ in range(3)]
        self.threads = [threading.Thread(target=self._talk, args=(random.Random(seed),), daemon=True)
                        for seed in range(CALLERS)]
        for thread in self.threads:
            thread.start()

    def _talk(self, chance: random.Random) -> None:
        while not self.stopping.is_set():
            model = "batch" if chance.random() < 0.1 else "chat"
            messages = [{"role": "system", "content": chance.choice(self.system_prompts)}]
            for _ in range(chance.randint(2, 7)):
                messages.append({"role": "user", "content": words(chance, chance.randint(20, 120))})
                fetch(f"{self.url}/v1/chat/completions",
                      {"model": model, "stream": True, "stream_options": {"include_usage": True},
                       "max_tokens": chance.randint(10, 60), "messages": messages})
                messages.append({"role": "assistant", "content": words(chance, 40)})
                if self.stopping.wait(chance.uniform(0.1, 0.8)):
                    return

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def take(browser: Browser, path: Path) -> None:
    browser.screenshot(path)
    path.write_bytes(shrink(path.read_bytes()))
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES:,} bytes")


def photograph(browser: Browser, admin: str, out: Path, seconds: float) -> None:
    def ready() -> bool:
        return browser.run("return document.getElementById('status').textContent") == "ready"
    browser.open(admin + "/")
    browser.run("localStorage.setItem('rolter-theme', 'light')")
    browser.open(admin + "/")
    until(ready, "the page is ready")
    time.sleep(seconds)  # allowed(sleep): the graphs show the last minute
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    take(browser, out / "page-overview.png")
    browser.click("#theme")
    browser.run("document.activeElement.blur()")
    take(browser, out / "page-dark.png")
    browser.click("#theme")
    browser.run("document.activeElement.blur();"
                "document.getElementById('decisions').scrollIntoView()")
    take(browser, out / "page-decisions.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--seconds", type=float, default=62, help="of traffic before the pictures")
    options = parser.parse_args()
    missing = missing_program()
    if missing:
        print(f"{missing} is not installed: tools/install-deps browser", file=sys.stderr)
        return 1
    speed = ("--prefill-tps", "6000", "--decode-tps", "90", "--blocks", "900")
    engines = [SimEngine(options.rolter, MODEL, *speed) for _ in NAMES]
    try:
        with tempfile.TemporaryDirectory() as folder, Browser(height=1000) as browser:
            api_port, admin_port = free_port(), free_port()
            config = Path(folder) / "rolter.toml"
            config.write_text(configuration([one.port for one in engines], api_port, admin_port))
            with Gateway(options.rolter, config, ()) as gateway:
                callers = Callers(gateway.url)
                photograph(browser, f"http://127.0.0.1:{admin_port}", options.out, options.seconds)
                callers.stop()
    finally:
        for engine in engines:
            engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
