"""LiteLLM as a library, and its proxy with the hook from its configuration file."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import litellm
from openai import OpenAI
from work import MODELS, SYSTEM, TASK, Job, job, look

from cuesta.integrations.litellm import Cliffs

_SCHEMA = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
_FUNCTION = {"name": "look", "description": "Read one page.", "parameters": _SCHEMA}


def loop(ask: Any) -> None:
    """Ask until the model calls no more tools; the history is made of plain messages."""
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
    ]
    while True:
        said = ask(messages).choices[0].message
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in said.tool_calls or ()
        ]
        messages.append({"role": "assistant", "content": said.content, "tool_calls": calls})
        if not calls:
            return
        for call in calls:
            text = look(json.loads(call["function"]["arguments"])["page"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def library(asked: Job) -> Any:
    """Call LiteLLM, every other time without waiting."""
    cliffs = None if asked.options is None else Cliffs(**asked.options)
    llm: Any = cliffs or litellm
    fixed = {
        "model": f"openai/{MODELS['openai']}",
        "api_base": f"{asked.url}/v1",
        "tools": [{"type": "function", "function": _FUNCTION}],
        "max_retries": 0,
    }
    rounds = iter(range(1000))

    def ask(messages: list[Any]) -> Any:
        if next(rounds) % 2:
            return asyncio.run(llm.acompletion(messages=messages, **fixed))
        return llm.completion(messages=messages, **fixed)

    loop(ask)
    return cliffs and cliffs.adapter


def proxy(asked: Job) -> Any:
    """Start LiteLLM's proxy with the hook named in its configuration, and ask through it."""
    port = _free_port()
    model = {
        "model_name": "reader",
        "litellm_params": {
            "model": f"openai/{MODELS['openai']}",
            "api_base": f"{asked.url}/v1",
            "api_key": "sk-none",
        },
    }
    config: dict[str, Any] = {"model_list": [model], "litellm_settings": {"num_retries": 0}}
    if asked.options is not None:
        config["litellm_settings"]["callbacks"] = "cuesta.integrations.litellm.cliffs"
    Path("config.yaml").write_text(json.dumps(config))
    options = asked.options or {}
    chosen = {f"CUESTA_{name.upper()}": str(value) for name, value in options.items()}
    key = f"sk-{secrets.token_hex(32)}"
    env = {**os.environ, **chosen, "LITELLM_MASTER_KEY": key}
    command = [Path(sys.executable).with_name("litellm"), "--config", "config.yaml"]
    with Path("proxy.log").open("w") as log:
        child = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=log, stderr=log, env=env
        )
    try:
        _wait(f"http://127.0.0.1:{port}/health/liveliness", child)
        client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0)
        tools = [{"type": "function", "function": _FUNCTION}]
        loop(lambda m: client.chat.completions.create(model="reader", messages=m, tools=tools))
    finally:
        child.terminate()
        child.wait(30)
        sys.stderr.write(Path("proxy.log").read_text()[-4000:])
    return None


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(url: str, child: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        assert child.poll() is None, "the proxy ended"
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise TimeoutError(url)


def main() -> None:
    """Do a row's job."""
    asked = job()
    asked.done(proxy(asked) if asked.name.endswith("proxy") else library(asked))


if __name__ == "__main__":
    main()
