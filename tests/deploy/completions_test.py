#!/usr/bin/env python3
"""The shell completions in the source tree are those of the program.

usage: completions_test.py --rolter PROGRAM
"""

import argparse
import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

COMPLETIONS = Path(__file__).resolve().parents[2] / "deploy" / "completions"
FILES = ["_rolter", "rolter.bash", "rolter.fish"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    with tempfile.TemporaryDirectory() as fresh:
        subprocess.run([COMPLETIONS / "generate", parser.parse_args().rolter, fresh], check=True)
        _, stale, missing = filecmp.cmpfiles(COMPLETIONS, fresh, FILES, shallow=False)
    if stale or missing:
        print(f"stale: {stale + missing}; write them anew by: deploy/completions/generate ROLTER")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
