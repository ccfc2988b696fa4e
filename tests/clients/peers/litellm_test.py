"""LiteLLM as a client: by its OpenAI and its Anthropic provider."""

import asyncio
import json
import os

import pytest
from conftest import MODEL

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network at import

import litellm  # noqa: E402

MESSAGES = [{"role": "system", "content": "You answer shortly."},
            {"role": "user", "content": "What is a prefix cache?"}]
TOOLS = [{"type": "function", "function": {"name": "weather_in", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}}}}]
COMMON = {"api_key": "unused", "max_tokens": 8, "num_retries": 0, "max_retries": 0, "timeout": 30}


def options(gateway, model: str = MODEL) -> dict:
    return {**COMMON, "model": f"openai/{model}", "api_base": f"{gateway.url}/v1"}


def text_of(chunks) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_it_completes_and_streams(gateway):
    answer = litellm.completion(messages=MESSAGES, **options(gateway))
    assert answer.choices[0].message.content
    assert answer.usage.completion_tokens == 8
    streamed = text_of(litellm.completion(messages=MESSAGES, stream=True, **options(gateway)))
    assert streamed == answer.choices[0].message.content


def test_it_sees_the_cached_tokens_of_the_second_turn(gateway):
    long = [{"role": "user", "content": "one two three four " * 100}]
    litellm.completion(messages=long, **options(gateway))
    again = litellm.completion(messages=long, **options(gateway))
    assert again.usage.prompt_tokens_details.cached_tokens > 0


def test_async_chats_at_once(gateway):
    async def chat_all():
        return await asyncio.gather(*(litellm.acompletion(
            messages=[{"role": "user", "content": f"question {n}"}], **options(gateway))
            for n in range(16)))

    assert all(answer.choices[0].message.content for answer in asyncio.run(chat_all()))


def test_a_tool_is_called(tool_gateway):
    question = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = litellm.completion(messages=question, tools=TOOLS, **options(tool_gateway, "caller"))
    call = answer.choices[0].message.tool_calls[0].function
    assert (call.name, json.loads(call.arguments)) == ("weather_in", {"city": "Paris"})


def test_its_anthropic_provider_completes_and_streams(gateway):
    anthropic = {**COMMON, "model": f"anthropic/{MODEL}", "api_base": gateway.url}
    assert litellm.completion(messages=MESSAGES, **anthropic).choices[0].message.content
    assert text_of(litellm.completion(messages=MESSAGES, stream=True, **anthropic))


def test_an_unknown_model_raises_not_found(gateway):
    with pytest.raises(litellm.NotFoundError):
        litellm.completion(messages=MESSAGES, **options(gateway, "nobody"))
