"""anthropic-python, over /v1/messages, which vLLM serves itself."""

import anthropic
import pytest
from conftest import MODEL, REPLICA_MODEL

MESSAGES = [{"role": "user", "content": "What is a prefix cache?"}]


@pytest.fixture
def client(gateway):
    return anthropic.Anthropic(base_url=gateway.url, api_key="unused", max_retries=0, timeout=20)


def test_a_message_is_answered(client):
    answer = client.messages.create(model=MODEL, max_tokens=8, system="You answer shortly.",
                                    messages=MESSAGES)
    assert answer.content[0].text
    assert answer.model == REPLICA_MODEL
    assert answer.usage.output_tokens == 8


def test_a_message_streams(client):
    with client.messages.stream(model=MODEL, max_tokens=8, messages=MESSAGES) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text
    assert final.content[0].text == text
    assert final.stop_reason in ("end_turn", "max_tokens")


def test_tokens_are_counted(client):
    counted = client.messages.count_tokens(model=MODEL, messages=MESSAGES)
    assert counted.input_tokens > 0


def test_an_unknown_model_raises_not_found(client):
    with pytest.raises(anthropic.NotFoundError) as raised:
        client.messages.create(model="nobody", max_tokens=8, messages=MESSAGES)
    assert raised.value.body["error"]["type"] == "not_found_error"


def test_a_request_without_messages_is_the_engines_to_refuse(client):
    with pytest.raises(anthropic.BadRequestError):
        client.post("/v1/messages", body={"model": MODEL, "max_tokens": 8}, cast_to=object)
