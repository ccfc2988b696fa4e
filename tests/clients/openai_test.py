"""openai-python."""

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


def test_many_conversations_at_once(gateway):
    import asyncio

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
