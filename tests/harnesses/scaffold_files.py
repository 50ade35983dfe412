"""Small saved sessions of the research scaffolds, made up; one builder a format and variant."""

import json

STEPS = 3


def mini_1(steps=STEPS):
    """Return a trajectory of mini-swe-agent 1.x: thoughts, a slip in the format, a submission."""
    messages = [_own("system", "You have a shell."), _own("user", "Fix the bug in a.py.")]
    for i in range(steps):
        messages += [
            _own("assistant", f"THOUGHT: step {i}.\n\n```bash\necho {i}\n```", _response(i)),
            _own("user", f"<returncode>{i % 2}</returncode>\n<output>\n{i}\n</output>"),
        ]
    messages += [
        _own("assistant", "I am done.", _response(steps)),
        _own("user", "Please always provide EXACTLY ONE action in triple backticks, found 0."),
        _own("assistant", "```bash\necho COMPLETE\n```", _response(steps + 1)),
        _own("user", "diff --git a/a.py b/a.py\n"),
    ]
    info = {
        "exit_status": "Submitted",
        "submission": "diff --git a/a.py b/a.py\n",
        "model_stats": {"instance_cost": 0.1, "api_calls": steps + 2},
        "mini_version": "1.17.5",
        "config": {"model": {"model_name": "made/up"}},
    }
    document = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}
    return _pretty({**document, "instance_id": "repo__1"})


def _own(role, content, extra=None):
    message = {"role": role, "content": content, "timestamp": 1700000000.5}
    return {**message, "extra": extra} if extra else message


def _response(i):
    return {"response": {"id": f"r{i}", "created": 1700000000 + i, "model": "up", "usage": bill(i)}}


def bill(i):
    """Return the bill of call `i` as LiteLLM writes it."""
    return {
        "prompt_tokens": 1000 + 100 * i,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 100 * i},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }


def mini_2(steps=STEPS):
    """Return a trajectory of mini-swe-agent 2.x: tool calls, a slip in the format, an end."""
    messages = [
        {"role": "system", "content": "You have a shell."},
        {"role": "user", "content": "Fix the bug in a.py."},
    ]
    for i in range(steps):
        calls = [_chat_call(f"c{i}.{k}", "bash", {"command": f"echo {k}"}) for k in range(2)]
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "function_call": None,
                "tool_calls": calls,
                "extra": {**_response(i), "timestamp": 1700000000.0 + i},
            }
        )
        messages += [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": "{}",
                "extra": {"returncode": 0},
            }
            for call in calls
        ]
    slip = {"interrupt_type": "FormatError", **_response(steps)}
    messages += [
        {"role": "user", "content": "Tool call error:\n\n<error>\nnone\n</error>", "extra": slip},
        {"role": "exit", "content": "LimitsExceeded", "extra": {"exit_status": "LimitsExceeded"}},
    ]
    info = {"model_stats": {"api_calls": steps + 1}, "config": {"model": {"model_name": "made/up"}}}
    info |= {"mini_version": "2.4.6", "exit_status": "LimitsExceeded", "submission": ""}
    document = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return _pretty(document)


def mini_2_responses():
    """Return a trajectory of mini-swe-agent 2.x on the Responses wire."""
    output = [
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x" * 40},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"command": "ls"}'},
    ]
    usage = {"input_tokens": 900, "input_tokens_details": {"cached_tokens": 300}}
    usage |= {"output_tokens": 60, "output_tokens_details": {"reasoning_tokens": 20}}
    messages = [
        {"role": "system", "content": "You have a shell."},
        {"role": "user", "content": "Fix the bug."},
        {"object": "response", "id": "r", "model": "up", "output": output, "usage": usage}
        | {"extra": {"actions": [{"command": "ls"}]}},
        {"type": "function_call_output", "call_id": "c", "output": "a.py", "extra": {}},
    ]
    document = {"info": {"mini_version": "2.4.6", "model_stats": {}}, "messages": messages}
    return _pretty({**document, "trajectory_format": "mini-swe-agent-1.1"})


def swe_tools(steps=STEPS):
    """Return a trajectory of SWE-agent that calls tools."""
    history = [_swe("system", "SETTING"), _swe("user", "ISSUE: it fails")]
    for i in range(steps):
        call = _chat_call(f"c{i}", "open", {"path": f"{i}.py"})
        history += [
            _swe("assistant", f"Step {i}.", thought=f"Step {i}.", action="open", tool_calls=[call]),
            _swe("tool", f"[File: {i}.py]\nbash-$", tool_call_ids=[f"c{i}"]),
        ]
    config = json.dumps({"agent": {"model": {"name": "made/up"}}})
    return _pretty({**_swe_run(history), "replay_config": config})


def swe_text(steps=STEPS):
    """Return a trajectory of SWE-agent that talks in plain text behind a demonstration."""
    history = [
        _swe("system", "SETTING"),
        _swe("user", "A demonstration:", is_demo=True),
        _swe("assistant", "See.\n```\nls\n```", is_demo=True),
        _swe("user", "OBSERVATION:\na.py", is_demo=True),
        _swe("user", "ISSUE: it fails"),
    ]
    for i in range(steps):
        history += [
            _swe("assistant", f"Step {i}.\n```\nopen {i}.py\n```", action=f"open {i}.py"),
            _swe("user", f"[File: {i}.py]\n(Open file: n/a)\n(Current directory: /)\nbash-$"),
        ]
    return _pretty({"environment": "swe_main", **_swe_run(history)})


def swe_attempts():
    """Return a file of two attempts, each a run of its own."""
    runs = [json.loads(swe_text(steps)) for steps in (1, 2)]
    return _pretty({"attempts": runs, "info": {"model_stats": {"api_calls": 3}}})


def _swe(role, content, **rest):
    return {"role": role, "content": content, "agent": "main", **rest}


def _swe_run(history):
    step = {"action": "ls", "observation": "a.py", "response": "Look.", "thought": "Look."}
    return {"trajectory": [step], "history": history, "info": {"exit_status": "submitted"}}


def openhands(steps=STEPS):
    """Return rows of OpenHands' evaluation: parallel calls, a condensation, an error, an answer."""
    system = {"id": 0, "source": "agent", "action": "system"}
    system["args"] = {"content": "You are an agent.", "tools": [{"type": "function"}]}
    history = [
        system,
        _message(1, "user", "Fix the bug."),
        {"id": 2, "source": "user", "action": "recall", "args": {"query": "Fix"}},
        {"id": 3, "source": "environment", "observation": "recall", "extras": {}, "content": ""},
    ]
    for i in range(steps):
        calls = [_chat_call(f"c{k}", "execute_bash", {"command": f"echo {k}"}) for k in range(2)]
        for call in calls:
            history += _ran(10 * i + 10, i, call, calls)
    history.insert(8, {"id": 70, "source": "agent", "action": "condensation", "args": {}})
    total = {"prompt_tokens": 1000 * steps + 150 * steps * (steps - 1) // 3 + 700}
    history += [
        {"id": 80, "source": "agent", "observation": "error", "content": "No.", "extras": {}},
        {
            **_message(81, "agent", "Is that all?"),
            "llm_metrics": {"accumulated_token_usage": total},
        },
        _message(82, "user", "Yes."),
    ]
    row = {"instance_id": "repo__1", "test_result": {}, "instruction": "Fix the bug."}
    row |= {"metadata": {"llm_config": {"model": "made/up"}}, "history": history}
    row["metrics"] = {"token_usages": []}
    return _lines(row, {**row, "instance_id": "repo__2"})


def _message(number, source, text):
    args = {"content": text, "image_urls": None, "wait_for_response": source == "agent"}
    return {"id": number, "source": source, "action": "message", "args": args}


def _ran(number, i, call, calls):
    """Return the events of one of the calls of response `i`."""
    message = {"role": "assistant", "content": f"Step {i}.", "tool_calls": calls}
    response = {"id": f"r{i}", "model": "up", "choices": [{"message": message}], "usage": bill(i)}
    meta = {"function_name": "execute_bash", "tool_call_id": call["id"], "model_response": response}
    about = {"exit_code": 0, "prefix": "", "suffix": "", "working_dir": "/w"}
    common = {"source": "agent", "tool_call_metadata": meta, "timestamp": "2025-04-30T16:32:57.8"}
    total = {"prompt_tokens": 1000 * (i + 1) + 100 * (i * (i + 1) // 2)}
    return [
        {**common, "id": number, "action": "run", "args": {"command": "echo"}}
        | {"llm_metrics": {"accumulated_token_usage": total}},
        {**common, "id": number + 1, "cause": number, "observation": "run", "content": "0"}
        | {"extras": {"command": "echo", "metadata": about}},
    ]


def openhands_flat():
    """Return a history of OpenHands in 2024: no ids, no sources, no responses."""
    history = [
        {"action": "message", "content": "Fix it.", "wait_for_response": False},
        {"action": "run", "command": "ls", "thought": "I look.", "is_confirmed": "confirmed"},
        {"observation": "run", "command": "ls", "content": "a.py", "exit_code": 0},
        {"action": "run_ipython", "code": "1 + 1", "thought": "I count."},
        {"observation": "run_ipython", "code": "1 + 1", "content": "2"},
        {"action": "finish", "outputs": {}, "thought": "Done."},
    ]
    issue = {"owner": "o", "repo": "r", "number": 5}
    return _lines({"issue": issue, "issue_type": "issue", "instruction": "Fix", "history": history})


def openhands_sdk():
    """Return a history of OpenHands' SDK."""

    def text(words):
        return {"type": "text", "text": words, "cache_prompt": False}

    def event(kind, source, **rest):
        return {"kind": kind, "source": source, "timestamp": "2026-01-01T00:00:00", **rest}

    def action(i, response, thought):
        call = {"id": f"c{i}", "name": "terminal", "arguments": '{"command": "ls"}'}
        names = {"tool_name": "terminal", "tool_call_id": f"c{i}", "llm_response_id": response}
        thoughts = [text(thought)] if thought else []
        return event("ActionEvent", "agent", thought=thoughts, tool_call=call, **names)

    def seen(i):
        observation = {"kind": "TerminalObservation", "content": [text("a.py")], "is_error": i > 1}
        observation["metadata"] = {"exit_code": i, "prefix": "", "suffix": "\n[Over.]"}
        return event(
            "ObservationEvent", "environment", tool_call_id=f"c{i}", observation=observation
        )

    said = {"role": "user", "content": [text("Fix it.")]}
    thinks = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
    done = {"role": "assistant", "content": [text("Done.")], "thinking_blocks": thinks}
    history = [
        event("SystemPromptEvent", "agent", system_prompt=text("You are."), tools=[]),
        event("MessageEvent", "user", llm_message=said, extended_content=[text("Be kind.")]),
        action(0, "r0", "I look."),
        action(1, "r0", ""),
        seen(0),
        seen(1),
        event("ConversationStateUpdateEvent", "environment", key="x", value=1),
        event("Condensation", "environment", forgotten_event_ids=["a"], summary="so far"),
        action(2, "r1", "Again."),
        seen(2),
        action(3, "r2", ""),
        event("AgentErrorEvent", "agent", tool_call_id="c3", error="No such tool."),
        event("MessageEvent", "agent", llm_message=done, llm_response_id="r3"),
    ]
    usages = [
        {
            "model": "up",
            "prompt_tokens": 1000 + i,
            "completion_tokens": 10,
            "cache_read_tokens": 500,
        }
        | {"cache_write_tokens": 100, "reasoning_tokens": 4, "response_id": f"r{i}"}
        for i in range(4)
    ]
    row = {"instance_id": "repo__1", "test_result": {}, "instruction": "Fix", "history": history}
    return _lines({**row, "metrics": {"token_usages": usages}})


def terminus(parser="json"):
    """Return a trajectory of Terminus-2: a slip, a summary by sub-agents, an end."""
    ran = [("call_0_1", "bash_command", {"keystrokes": "ls\n", "duration": 0.1})]
    done = [*ran, ("call_3_task_complete", "mark_task_complete", {})]
    refs = [{"session_id": "s-summarization-1-summary", "trajectory_path": "x.json"}]
    steps = [
        _step("user", "You are an AI assistant.\n\nCurrent terminal state:\n$"),
        _agent("Analysis: A.\nPlan: P.", ran, "New Terminal Output:\na.py", 0),
        _agent("Let me see.", [], "Previous response had parsing errors:\nERROR: No", 1),
        _step("system", "Performed context summarization and handoff to continue task.")
        | {"observation": {"results": [{"subagent_trajectory_ref": refs}]}},
        _step("user", "Here are the answers the other agent provided."),
        _agent("Plan: Wait.", [], "New Terminal Output:\n", 2),
        _agent("Analysis: Good.", done, "Current terminal state:\n$\n\nAre you sure", 3),
    ]
    agent = {"name": "terminus-2", "version": "2.0.0", "model_name": "made/up"}
    return _atif(steps, {**agent, "extra": {"parser": parser}}, session_id="s")


def terminus_raw():
    """Return a trajectory of Terminus-2 that keeps its answers and goes on from another."""
    answer = '{"analysis": "A.", "plan": "P.", "commands": [{"keystrokes": "ls\\n"}]}'
    steps = [
        {**_step("user", "You are an AI assistant."), "is_copied_context": True},
        {**_step("agent", answer), "is_copied_context": True},
        _step("user", "New Terminal Output:\n$"),
        _agent(answer, [], "New Terminal Output:\na.py", 0),
    ]
    agent = {"name": "terminus-2", "model_name": "made/up", "extra": {"parser": "json"}}
    return _atif(steps, agent, session_id="s-cont-1")


def atif_tools():
    """Return a trajectory of an agent that calls tools, with a sub-agent inside."""
    read = [("c1", "Read", {"file_path": "a.py"}), ("c2", "Bash", {"command": "ls"})]
    named = [{"source_call_id": "c2", "content": "a.py"}, {"source_call_id": "c1", "content": None}]
    steps = [
        _step("system", "You are an agent."),
        _step("user", [{"type": "text", "text": "Fix it."}, _picture()]),
        {**_agent("I look.", read, None, 0), "observation": {"results": named}},
        {**_agent("", read, "both", 1), "reasoning_content": "Hm."},
        {**_step("agent", "Started."), "llm_call_count": 0},
        {**_agent("Done.", [], None, 2), "llm_call_count": 2},
    ]
    agent = {"name": "claude-code", "version": "2", "tool_definitions": [{"type": "function"}]}
    child = json.loads(_atif([_step("user", "Look."), _agent("Seen.", [], None, 0)], agent))
    child["trajectory_id"] = "child"
    return _atif(steps, agent, session_id="s", subagent_trajectories=[child])


def _picture():
    return {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}}


def _step(source, message):
    return {"source": source, "message": message, "timestamp": "2026-01-01T00:00:00+00:00"}


def _agent(message, calls, seen, i):
    keys = ("tool_call_id", "function_name", "arguments")
    metrics = {"prompt_tokens": 1000 + 100 * i, "completion_tokens": 50, "cached_tokens": 100 * i}
    step = {**_step("agent", message), "model_name": "up", "metrics": metrics}
    if calls:
        step["tool_calls"] = [dict(zip(keys, call, strict=True)) for call in calls]
    return {**step, "observation": {"results": [{"content": seen}]}} if seen else step


def _atif(steps, agent, **rest):
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return _pretty({"schema_version": "ATIF-v1.7", "agent": agent, "steps": numbered, **rest})


def pydantic_openai():
    """Return a pydantic-ai history that OpenAI answered: parallel calls, a retry, a picture."""
    image = {"kind": "binary", "media_type": "image/png", "data": "aGk="}
    return json.dumps(
        [
            _request(_part("system-prompt", "You are."), _part("user-prompt", ["See.", image])),
            _reply(_call("c1", {"path": "a"}), _call("c2", '{"path": "b"}'), i=0),
            _request(_told("c1", {"lines": 3}), _told("c2", "text"), run="x"),
            _reply(_part("text", "Is it so?"), _part("tool-call-of-tomorrow", "?"), i=1),
            _request(_part("retry-prompt", "Answer in JSON.")),
            _reply(_part("thinking", "Hm."), _call("c3", None), i=2),
            _request(_part("retry-prompt", [{"msg": "no"}], tool_name="f", tool_call_id="c3")),
            _reply(_part("text", "{}"), i=3),
        ]
    ).encode()


def pydantic_anthropic():
    """Return a pydantic-ai history that Anthropic answered, with signed thinking."""
    thinking = _part("thinking", "Hm.", signature="sig", provider_name="anthropic")
    first = _request(_part("user-prompt", "Look."))
    return json.dumps(
        [
            {**first, "instructions": "You are."},
            _reply(thinking, _call("c1", '{"path": "a"}'), i=0, provider_name="anthropic"),
            {
                **_request(_told("c1", "text"), _part("user-prompt", "Go on.")),
                "instructions": "Now.",
            },
            _reply(_part("text", "Done."), i=1, provider_name="anthropic"),
        ]
    ).encode()


def _part(kind, content, **rest):
    return {"content": content, "part_kind": kind, **rest}


def _call(call_id, arguments):
    return _part("tool-call", None, tool_name="read", args=arguments, tool_call_id=call_id)


def _told(call_id, content):
    return _part("tool-return", content, tool_name="read", tool_call_id=call_id)


def _request(*parts, run="r"):
    return {"parts": list(parts), "instructions": None, "kind": "request", "run_id": run}


def _reply(*parts, i, **rest):
    usage = {"input_tokens": 1000 + 100 * i, "cache_read_tokens": 100 * i, "output_tokens": 50}
    usage |= {"cache_write_tokens": 10, "details": {"reasoning_tokens": 5}}
    told = {"model_name": "up", "timestamp": "2026-02-17T00:00:37.5Z", "kind": "response"}
    return {"parts": list(parts), "usage": usage, **told, **rest}


def _chat_call(call_id, name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


def _pretty(document):
    return json.dumps(document, indent=2).encode()


def _lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


FILES = {
    "mini-swe-agent": (mini_1, mini_2, mini_2_responses),
    "swe-agent": (swe_tools, swe_text, swe_attempts),
    "openhands": (openhands, openhands_flat, openhands_sdk),
    "harbor": (terminus, terminus_raw, atif_tools),
    "pydantic-ai": (pydantic_openai, pydantic_anthropic),
}
"""The builders by format."""
