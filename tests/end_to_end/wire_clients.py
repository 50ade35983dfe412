"""Clients of every wire that keep their whole history, and a provider's script for them."""

import json

import aiohttp

from cuesta.testing.simulator import ListScript, Step, ToolCall

CHECKING = "claude-opus-5-5"
OTHER = "claude-opus-4-8"
CHAT = "my-model"
RESPONSES = "gpt-5.5"
MODELS = (CHECKING, OTHER, CHAT, RESPONSES)
KEYS = {"x-api-key": "k", "authorization": "Bearer sk-k", "anthropic-version": "2023-06-01"}
OUTPUT = "a line of output\n" * 100
SUMMARY = "This session is being continued. Summary: the work goes on as the user asked."
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}


def script(rounds):
    """Rounds of work, an end, and more work for whoever goes on."""
    looking = [
        Step(thinking=f"Hm {n}.", calls=(ToolCall("bash", {"command": f"look {n}"}),))
        for n in range(rounds)
    ]
    return ListScript([*looking, Step(thinking="So.", text="Done."), *looking])


class Anthropic:
    """A client of Anthropic Messages, with its whole history."""

    path = "/v1/messages"

    def __init__(self, model):
        self.model = model
        self.history = []
        self.fields = {}
        self.headers = {}

    def say(self, text):
        self.history.append({"role": "user", "content": text})

    def body(self):
        tools = [{"name": "bash", "input_schema": PARAMETERS}]
        thinking = {"type": "adaptive", **self.fields}
        body = {"model": self.model, "max_tokens": 9_000, "tools": tools, "thinking": thinking}
        return {**body, "messages": self.history}

    def take(self, answer):
        """Keep an answer; return whether there was more to do, and do it."""
        content = answer["content"]
        self.history.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": OUTPUT}
            for block in content
            if block["type"] == "tool_use"
        ]
        if results:
            self.history.append({"role": "user", "content": results})
        return bool(results)

    def without_thinking(self):
        for message in self.history:
            if message["role"] == "assistant":
                message["content"] = [b for b in message["content"] if b["type"] != "thinking"]

    def shorten(self):
        """Put a summary in the place of all but the last answer, as Claude Code does."""
        last = next(m for m in reversed(self.history) if m["role"] == "assistant")
        self.history = [{"role": "user", "content": SUMMARY}, last]


class Chat(Anthropic):
    """A client of Chat Completions."""

    path = "/v1/chat/completions"

    def body(self):
        tools = [{"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}]
        return {"model": self.model, "tools": tools, "messages": self.history}

    def take(self, answer):
        message = answer["choices"][0]["message"]
        self.history.append(message)
        calls = message.get("tool_calls") or ()
        self.history += [
            {"role": "tool", "tool_call_id": call["id"], "content": OUTPUT} for call in calls
        ]
        return bool(calls)


class Responses(Anthropic):
    """A client of Responses that keeps its history itself, reasoning sealed."""

    path = "/v1/responses"

    def body(self):
        tools = [{"type": "function", "name": "bash", "parameters": PARAMETERS}]
        include = ["reasoning.encrypted_content"]
        body = {"model": self.model, "tools": tools, "store": False, "include": include}
        return {**body, "input": self.history}

    def take(self, answer):
        self.history += answer["output"]
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        self.history += [
            {"type": "function_call_output", "call_id": call["call_id"], "output": OUTPUT}
            for call in calls
        ]
        return bool(calls)

    def shorten(self):
        """Put a summary in the place of everything, as Codex does."""
        self.history = [{"role": "user", "content": SUMMARY}]


def client_of(model):
    return {CHAT: Chat, RESPONSES: Responses}.get(model, Anthropic)(model)


async def ask(client, url):
    """Send the history; return the answer, or None where it is refused."""
    async with aiohttp.ClientSession() as session:
        headers = {**KEYS, **client.headers}
        async with session.post(url + client.path, json=client.body(), headers=headers) as answer:
            data = json.loads(await answer.read())
            return data if answer.status == 200 else None


async def work(client, url, rounds):
    """Let the client work for some rounds at most; return whether nothing was refused."""
    for _ in range(rounds):
        answer = await ask(client, url)
        if answer is None:
            return False
        if not client.take(answer):
            break
    return True
