"""AIPerf, the load generator, end to end: conversations of three turns, streamed."""

import json
import subprocess
import sys
from pathlib import Path

from conftest import MODEL
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

CONVERSATIONS = 8
TURNS = 3


def write_tokenizer(folder: Path) -> Path:
    """A token is a byte. Whichever tokenizer it is told by name AIPerf would download."""
    folder.mkdir()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder


def test_aiperf_measures_conversations(gateway, tmp_path):
    conversations = tmp_path / "conversations.jsonl"
    conversations.write_text("".join(
        json.dumps({"session_id": f"s{n}", "turns": [
            {"text": f"conversation {n}, turn {turn}: " + "words of a prompt " * 20}
            for turn in range(TURNS)]}) + "\n" for n in range(CONVERSATIONS)))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("aiperf")), "profile", "--model", MODEL,
         "--url", gateway.url, "--endpoint-type", "chat", "--streaming",
         "--input-file", str(conversations), "--custom-dataset-type", "multi_turn",
         "--conversation-num", str(CONVERSATIONS), "--concurrency", "4",
         "--tokenizer", str(write_tokenizer(tmp_path / "tokenizer")), "--use-server-token-count",
         "--extra-inputs", "max_tokens:8", "--ui", "none", "--output-artifact-dir", "artifacts"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    report = json.loads((tmp_path / "artifacts/profile_export_aiperf.json").read_text())
    assert report["request_count"]["avg"] == CONVERSATIONS * TURNS
    assert report.get("error_request_count", {"avg": 0})["avg"] == 0
    assert report["time_to_first_token"]["p50"] > 0
    assert report["total_usage_completion_tokens"]["avg"] == CONVERSATIONS * TURNS * 8
    # The first turn is new; in both later ones everything before is known.
    assert report["total_usage_prompt_cache_read_tokens"]["avg"] \
        > 0.3 * report["total_usage_prompt_tokens"]["avg"]
