"""openai-node: node's own test runner, one test of ours."""

import os
import subprocess
from pathlib import Path

from conftest import MODEL, REPLICA_MODEL

NODE = Path(__file__).resolve().parent / "node"


def test_openai_node(gateway, tool_gateway):
    packages = Path(os.environ["ROLTER_NODE_MODULES"])
    # Modules are looked up from where the file is: a copy beside the installed packages.
    script = packages.parent / "openai.test.mjs"
    script.write_text((NODE / "openai.test.mjs").read_text())
    environment = {**os.environ, "GATEWAY": gateway.url, "TOOL_GATEWAY": tool_gateway.url,
                   "MODEL": MODEL, "REPLICA_MODEL": REPLICA_MODEL}
    done = subprocess.run(["node", "--test", str(script)], env=environment, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 7" in done.stdout or "ℹ pass 7" in done.stdout, done.stdout
