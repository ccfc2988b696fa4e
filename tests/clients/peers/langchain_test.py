"""LangChain's ChatOpenAI."""

import asyncio

import openai
import pytest
from conftest import MODEL, REPLICA_MODEL
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

MESSAGES = [SystemMessage("You answer shortly."), HumanMessage("What is a prefix cache?")]


def chat_of(gateway, model: str = MODEL, **more) -> ChatOpenAI:
    return ChatOpenAI(model=model, base_url=f"{gateway.url}/v1", api_key="unused", max_tokens=8,
                      max_retries=0, timeout=30, **more)


@tool
def weather_in(city: str) -> str:
    """Tells the weather."""
    return f"rain in {city}"


def test_it_invokes(gateway):
    answer = chat_of(gateway).invoke(MESSAGES)
    assert answer.content
    assert answer.response_metadata["model_name"] == REPLICA_MODEL
    assert answer.usage_metadata["output_tokens"] == 8


def test_it_streams_with_usage(gateway):
    chunks = list(chat_of(gateway, stream_usage=True).stream(MESSAGES))
    assert len([chunk for chunk in chunks if chunk.content]) > 1
    assert [chunk for chunk in chunks if chunk.usage_metadata][-1].usage_metadata["output_tokens"] == 8


def test_batches_and_async(gateway):
    chat = chat_of(gateway)
    assert all(answer.content for answer in chat.batch([f"question {n}" for n in range(8)]))

    async def stream() -> str:
        return "".join([chunk.content async for chunk in chat.astream(MESSAGES)])

    assert asyncio.run(stream())


def test_a_bound_tool_is_called_and_its_result_sent_back(tool_gateway):
    chat = chat_of(tool_gateway, "caller").bind_tools([weather_in])
    question = HumanMessage("What is the weather in Paris?")
    answer = chat.invoke([question])
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [
        ("weather_in", {"city": "Paris"})]
    result = weather_in.invoke(answer.tool_calls[0])
    assert isinstance(result, ToolMessage)
    assert chat.invoke([question, answer, result]).content == "It says: rain in Paris"


def test_an_unknown_model_raises_not_found(gateway):
    with pytest.raises(openai.NotFoundError):
        chat_of(gateway, "nobody").invoke(MESSAGES)
