"""openai-python."""

import asyncio
import json

import openai
import pytest
from conftest import MODEL, REPLICA_MODEL

MESSAGES = [
    {"role": "system", "content": "You answer shortly."},
    {"role": "user", "content": "What is a prefix cache?"},
]


@pytest.fixture
def client(gateway):
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0, timeout=20)


def test_a_chat_completes(client):
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8)
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.model == REPLICA_MODEL
    assert answer.usage.prompt_tokens > 0


def test_a_chat_streams_with_usage_at_the_end(client):
    stream = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8, stream=True,
                                            stream_options={"include_usage": True})
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert [chunk.usage for chunk in chunks if chunk.usage][-1].completion_tokens == 8


def test_a_stream_without_usage_asked_for_has_none(client):
    chunks = list(client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8, stream=True))
    assert all(chunk.choices for chunk in chunks)
    assert not any(chunk.usage for chunk in chunks)


def test_a_completion_completes_and_streams(client):
    answer = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=8)
    assert answer.choices[0].text
    chunks = list(client.completions.create(model=MODEL, prompt="Once", max_tokens=8, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)


def test_a_response_completes_and_streams(client):
    answer = client.responses.create(model=MODEL, input="What is a prefix cache?", max_output_tokens=8)
    assert answer.output_text
    events = list(client.responses.create(model=MODEL, input="What?", max_output_tokens=8, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"


def test_the_models_are_listed(client):
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).id == MODEL


def test_an_unknown_model_raises_not_found(client):
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="nobody", messages=MESSAGES)
    assert raised.value.code == "model_not_found"


def test_what_the_engine_refuses_raises_bad_request(client):
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=-1)


def test_a_raw_response_has_the_fields_of_the_gateway_and_of_the_engine(client):
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=MESSAGES, max_tokens=8)
    assert raw.status_code == 200
    assert raw.headers["x-rolter-target"] in (f"vllm-1/{REPLICA_MODEL}", f"vllm-2/{REPLICA_MODEL}")
    assert raw.headers["content-type"].startswith("application/json")
    answer = raw.parse()
    assert answer.choices[0].message.content
    assert raw.request_id and raw.request_id == answer._request_id


def test_a_streamed_response_gives_its_fields_before_its_text(client):
    with client.chat.completions.with_streaming_response.create(
            model=MODEL, messages=MESSAGES, max_tokens=8, stream=True) as response:
        assert response.headers["x-rolter-target"]
        lines = [line for line in response.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"


def test_async_chats_complete_and_stream(gateway):
    async def chat() -> tuple[str, str]:
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0,
                                      timeout=30) as client:
            whole = await client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8)
            stream = await client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8,
                                                          stream=True)
            parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
            raw = await client.chat.completions.with_raw_response.create(
                model=MODEL, messages=MESSAGES, max_tokens=8)
            assert raw.headers["x-rolter-target"]
        return whole.choices[0].message.content, "".join(parts)

    whole, streamed = asyncio.run(chat())
    assert whole and whole == streamed


TOOLS = [{"type": "function",
          "function": {"name": "weather_in", "description": "Tells the weather",
                       "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}


@pytest.fixture
def caller(tool_gateway):
    return openai.OpenAI(base_url=f"{tool_gateway.url}/v1", api_key="unused", max_retries=0, timeout=20)


def test_a_tool_is_called_and_its_result_sent_back(caller, tool_engine):
    answer = caller.chat.completions.create(model="caller", messages=[QUESTION], tools=TOOLS)
    assert answer.choices[0].finish_reason == "tool_calls"
    call = answer.choices[0].message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather_in", {"city": "Paris"})
    assert json.loads(tool_engine.bodies[-1])["tools"] == TOOLS
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    final = caller.chat.completions.create(
        model="caller", messages=[QUESTION, answer.choices[0].message, result], tools=TOOLS)
    assert final.choices[0].message.content == "It says: rain"


def test_a_tool_call_streams(caller):
    with caller.chat.completions.stream(model="caller", messages=[QUESTION], tools=TOOLS) as stream:
        arguments = [event.arguments for event in stream
                     if event.type == "tool_calls.function.arguments.delta"]
        call = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert len(arguments) > 1
    assert json.loads(call.function.arguments) == {"city": "Paris"}


def test_many_conversations_at_once(gateway):
    async def chat_all() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0,
                                      timeout=30) as client:
            answers = await asyncio.gather(*(
                client.chat.completions.create(
                    model=MODEL, max_tokens=8,
                    messages=[{"role": "user", "content": f"{n}: a question about {n}"}])
                for n in range(64)))
        return [answer.choices[0].message.content for answer in answers]

    answers = asyncio.run(chat_all())
    assert len(answers) == 64 and all(answers)
