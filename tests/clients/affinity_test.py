"""Later turns of a conversation stay on its replica; conversations use all replicas."""

import anthropic
import openai
from conftest import MODEL

TURNS = 5


def conversation(number: int) -> list[dict]:
    """Texts long enough that two conversations share less than half of them."""
    words = " ".join(f"item{(number * 7919 + i) % 9973}" for i in range(60))
    return [{"role": "user", "content": f"Conversation {number}. {words}"}]


def openai_targets(gateway, number: int, stream: bool) -> list[str]:
    client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0, timeout=20)
    messages, targets = conversation(number), []
    for turn in range(TURNS):
        raw = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=messages, max_tokens=8, stream=stream)
        targets.append(raw.headers["x-rolter-target"])
        if stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in raw.parse() if chunk.choices)
        else:
            text = raw.parse().choices[0].message.content
        messages += [{"role": "assistant", "content": text},
                     {"role": "user", "content": f"And then? ({turn})"}]
    return targets


def test_openai_conversations_stay_where_they_began(gateway):
    all_targets = set()
    for number in range(16):
        targets = openai_targets(gateway, number, stream=number % 2 == 1)
        assert len(set(targets)) == 1, f"conversation {number} moved: {targets}"
        all_targets.update(targets)
    assert len(all_targets) == 2, "sixteen conversations on an idle fleet should use both replicas"


def test_anthropic_conversations_stay_where_they_began(gateway):
    client = anthropic.Anthropic(base_url=gateway.url, api_key="unused", max_retries=0, timeout=20)
    for number in range(100, 108):
        messages, targets = conversation(number), set()
        for turn in range(TURNS):
            raw = client.messages.with_raw_response.create(
                model=MODEL, max_tokens=8, system="You answer shortly.", messages=messages)
            targets.add(raw.headers["x-rolter-target"])
            messages += [{"role": "assistant", "content": raw.parse().content[0].text},
                         {"role": "user", "content": f"And then? ({turn})"}]
        assert len(targets) == 1, f"conversation {number} moved: {targets}"


def test_later_turns_find_their_prefix_in_the_replicas_cache(gateway):
    client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0, timeout=20)
    messages = conversation(500)
    cached = []
    for turn in range(3):
        answer = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=8)
        details = answer.usage.prompt_tokens_details
        cached.append(((details.cached_tokens or 0) if details else 0) / answer.usage.prompt_tokens)
        messages += [{"role": "assistant", "content": answer.choices[0].message.content},
                     {"role": "user", "content": f"And then? ({turn})"}]
    assert cached[0] < 0.5
    assert min(cached[1:]) > 0.5, f"cached fractions per turn: {cached}"
