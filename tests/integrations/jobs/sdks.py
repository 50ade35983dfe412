"""The loops that people write by hand on the Anthropic and OpenAI SDKs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI
from work import MODELS, SYSTEM, TASK, Job, job, look

from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter
from cuesta.integrations.sdk import wrap

_SCHEMA = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
_ABOUT = "Read one page."


def anthropic(client: Any) -> None:
    """`messages.create`; the history holds the SDK's own objects."""
    tool = {"name": "look", "description": _ABOUT, "input_schema": _SCHEMA}
    messages: list[Any] = [{"role": "user", "content": TASK}]
    while True:
        answer = client.messages.create(
            model=MODELS["anthropic"],
            max_tokens=16_000,
            system=SYSTEM,
            tools=[tool],
            thinking={"type": "adaptive"},
            messages=messages,
        )
        messages.append({"role": "assistant", "content": answer.content})
        results = _results(answer.content)
        if not results:
            return
        messages.append({"role": "user", "content": results})


async def anthropic_async(client: Any) -> None:
    """`beta.messages.stream`, on a copy of the client with options of its own."""
    tool = {"name": "look", "description": _ABOUT, "input_schema": _SCHEMA}
    messages: list[Any] = [{"role": "user", "content": TASK}]
    while True:
        async with client.with_options(timeout=60).beta.messages.stream(
            model=MODELS["anthropic"],
            max_tokens=16_000,
            system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            tools=[tool],
            messages=messages,
        ) as stream:
            answer = await stream.get_final_message()
        content = [block.to_dict() for block in answer.content]
        messages.append({"role": "assistant", "content": content})
        results = _results(answer.content)
        if not results:
            return
        messages.append({"role": "user", "content": results})


def _results(content: Any) -> list[dict[str, Any]]:
    return [
        {"type": "tool_result", "tool_use_id": block.id, "content": look(block.input["page"])}
        for block in content
        if block.type == "tool_use"
    ]


async def openai_chat(client: Any) -> None:
    """`chat.completions.create`, with the SDK's own objects in the history."""
    function = {"name": "look", "description": _ABOUT, "parameters": _SCHEMA}
    asked = {"model": MODELS["openai"], "tools": [{"type": "function", "function": function}]}
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
    ]
    while True:
        answer = await client.chat.completions.create(messages=messages, **asked)
        said = answer.choices[0].message
        messages.append(said)
        if not said.tool_calls:
            return
        for call in said.tool_calls:
            text = look(json.loads(call.function.arguments)["page"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def openai_responses(client: Any) -> None:
    """`responses.create` with the whole input each time, streamed."""
    tool = {"type": "function", "name": "look", "description": _ABOUT, "parameters": _SCHEMA}
    items: list[Any] = [{"role": "user", "content": TASK}]
    while True:
        with client.responses.stream(
            model=MODELS["openai"],
            instructions=SYSTEM,
            tools=[tool],
            input=items,
            store=False,
            include=["reasoning.encrypted_content"],
        ) as stream:
            answer = stream.get_final_response()
        items += answer.output
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return
        for call in calls:
            text = look(json.loads(call.arguments)["page"])
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})


def _client(asked: Job) -> Any:
    """Return the SDK's client that a row is about."""
    if asked.name.startswith("anthropic"):
        made = AsyncAnthropic if asked.name.endswith("async") else Anthropic
        return made(base_url=asked.url, max_retries=0)
    made = AsyncOpenAI if asked.name == "openai-chat" else OpenAI
    return made(base_url=f"{asked.url}/v1", max_retries=0)


def main() -> None:
    """Do a row's job."""
    asked = job()
    client, adapter = _client(asked), None
    if asked.options is not None:
        adapter = Adapter(CompactionOptions(**asked.options))
        wrapped = wrap(client, adapter)
        assert type(wrapped) is type(client)
        client = wrapped
    play = {
        "anthropic": anthropic,
        "anthropic-async": anthropic_async,
        "openai-chat": openai_chat,
        "openai-responses": openai_responses,
    }[asked.name]
    done = play(client)
    if done is not None:
        asyncio.run(done)
    asked.done(adapter)


if __name__ == "__main__":
    main()
