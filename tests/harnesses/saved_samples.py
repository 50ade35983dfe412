"""Small saved sessions in the shapes that agent programs give them, of our own making."""

import json


def jsonl(values):
    """Return JSON Lines."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def when(number):
    """Return a time in ISO 8601, so many seconds after the sessions' beginning."""
    return f"2026-03-01T10:{number // 60:02}:{number % 60:02}.500Z"


NOON = 1_772_359_200.5
"""`when(0)` in seconds since the Unix epoch."""


class ClaudeLines:
    """Claude Code's lines, each hanging on the one before unless it is told another one.

    Args:
        common: What every line has beside its own.
    """

    def __init__(self, **common):
        self.lines = []
        self.last = None
        self._common = {"sessionId": "session-1", "isSidechain": False, **common}

    def add(self, kind, parent="", **rest):
        """Add a line; return its id."""
        number = len(self.lines)
        name = f"{self._common.get('agentId', 'line')}-{number}"
        parent = self.last if parent == "" else parent
        head = {"type": kind, "uuid": name, "parentUuid": parent, "timestamp": when(number)}
        self.lines.append({**head, **self._common, **rest})
        self.last = name
        return name

    def user(self, content, parent="", **rest):
        """Add a prompt or a result."""
        message = {"role": "user", "content": content}
        return self.add("user", parent, message=message, **rest)

    def result(self, call, text, parent=""):
        """Add a call's result."""
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.user([block], parent)

    def answer(self, name, block, output, *, read=1000, written=50, model="claude-sonnet-4-5"):
        """Add one block of an answer."""
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": output,
        }
        message = {"id": name, "role": "assistant", "model": model, "content": [block]}
        return self.add("assistant", message={**message, "usage": usage})


def text(words):
    """Return a text block."""
    return {"type": "text", "text": words}


def call(name, **arguments):
    """Return a call as Claude Code and the Anthropic wire write it."""
    return {"type": "tool_use", "id": name, "name": "Bash", "input": arguments}


def reminder(words):
    """Return what an attachment's line has beside its head."""
    told = [{"content": f"<system-reminder>\n{words}\n</system-reminder>"}]
    return {"attachment": {"type": "note"}, "rendered": told, "renderedRole": "system"}


def claude_code():
    """A session of 6 calls in two branches, with a compaction in the second."""
    talk = ClaudeLines()
    talk.lines.append({"type": "queue-operation", "operation": "enqueue", "sessionId": "session-1"})
    talk.user("Find the bug.")
    talk.add("attachment", **reminder("The date is today."))
    shape = {"system": [text("You are an agent.")], "tools": [{"name": "Bash"}]}
    talk.lines.append({"type": "api-request-shape", "sessionId": "session-1", "shape": shape})
    talk.answer("a1", {"type": "thinking", "thinking": "Hm.", "signature": "s"}, 1)
    talk.answer("a1", text("I look."), 1)
    first = talk.answer("a1", call("c1", command="ls"), 1)
    second = talk.answer("a1", call("c2", command="cat x"), 90)
    talk.result("c1", "x\ny", first)
    talk.result("c2", "text of x", second)
    talk.answer("a2", text("It is in x."), 12, read=1050, written=60)
    asked = talk.add("system", subtype="turn_duration")
    talk.user("Now fix it.")
    talk.answer("a3", text("Fixed."), 5, read=1110, written=20)
    talk.user("Rather write a test.", parent=asked)
    talk.answer("a4", call("c3", command="pytest"), 30, read=1110, written=25)
    talk.result("c3", "1 passed")
    talk.answer("a5", text("It passes."), 6, read=1135, written=30)
    talk.add("system", None, subtype="compact_boundary", logicalParentUuid=talk.last)
    talk.user("This session is being continued. Summary: x.", isCompactSummary=True)
    talk.user("<command-name>/compact</command-name>", isMeta=True)
    talk.add("attachment", **reminder("The date is today."))
    talk.user([text("Thanks."), {"type": "image", "source": {"type": "url", "url": "u"}}])
    talk.answer("a6", text("Welcome."), 4, read=0, written=900)
    talk.answer("e1", text("API Error"), 0, read=0, written=0, model="<synthetic>")
    return talk.lines


def claude_agent():
    """A sub-agent's own file."""
    talk = ClaudeLines(isSidechain=True, agentId="agent-1")
    talk.user("Count the files.")
    talk.answer("b1", call("d1", command="ls | wc -l"), 20)
    talk.result("d1", "12")
    talk.answer("b2", text("Twelve."), 3, read=1053)
    return talk.lines


_CODEX_USAGE = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")


class CodexLines:
    """Codex's lines.

    Args:
        meta: What the first line tells beside the thread's id.
    """

    def __init__(self, thread="thread-1", **meta):
        self.lines = []
        instructions = {"text": "You are Codex."}
        self.add("session_meta", id=thread, base_instructions=instructions, cwd="/work", **meta)
        self.add("turn_context", model="gpt-5.5-codex")

    def add(self, kind, **payload):
        """Add a line."""
        number = len(self.lines)
        line = {"timestamp": when(number), "ordinal": number, "type": kind, "payload": payload}
        self.lines.append(line)

    def message(self, role, words):
        """Add a message; a user's or a developer's, or the model's."""
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": words}]
        self.add("response_item", type="message", role=role, content=content)

    def think(self):
        """Add sealed reasoning."""
        self.add("response_item", type="reasoning", summary=[], encrypted_content="gAAAA")

    def call(self, name, command):
        """Add a call."""
        arguments = json.dumps({"cmd": command})
        self.add(
            "response_item", type="function_call", name="exec_command", call_id=name,
            arguments=arguments,
        )  # fmt: skip

    def output(self, name, words):
        """Add a call's output."""
        self.add("response_item", type="function_call_output", call_id=name, output=words)

    def record(self, *counts):
        """Add what a response was billed: prompt, of it cached, of it written, output."""
        usage = dict(zip(_CODEX_USAGE, counts, strict=True))
        self.add("token_usage_record", response_id="r", usage=usage)

    def counted(self, total, *counts):
        """Add the event that tells the same, and a total."""
        usage = dict(zip(_CODEX_USAGE, counts, strict=True))
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": usage}
        self.add("event_msg", type="token_count", info=info)


def codex():
    """A rollout of 4 calls with a compaction, whose summary was billed beside them."""
    talk = CodexLines()
    talk.message("developer", "Skills: none.")
    talk.message("user", "<environment_context>here</environment_context>")
    talk.message("user", "Find the bug.")
    talk.think()
    talk.message("assistant", "I look.")
    talk.call("c1", "ls")
    talk.call("c2", "cat x")
    talk.record(1000, 0, 0, 40)
    talk.output("c1", "x\ny")
    talk.output("c2", "text of x")
    talk.counted(1040, 1000, 0, 0, 40)
    talk.message("assistant", "It is in x.")
    talk.record(1100, 896, 100, 8)
    talk.counted(2148, 1100, 896, 100, 8)
    talk.message("user", "Fix it.")
    talk.message("assistant", "Handing over: the bug is in x.")
    talk.record(1200, 0, 0, 20)
    talk.add("compacted", message="A summary:\nHanding over: the bug is in x.")
    talk.counted(3368, 1200, 0, 0, 20)
    talk.think()
    talk.call("c3", "sed")
    talk.record(400, 0, 0, 15)
    talk.output("c3", "")
    talk.message("assistant", "Fixed.")
    talk.record(450, 384, 0, 4)
    return talk.lines


def gemini(number, **rest):
    """Return one of Gemini CLI's answers."""
    tokens = {
        "input": 1000 + 100 * number, "output": 20, "cached": 640, "thoughts": 30, "tool": 0,
        "total": 0,
    }  # fmt: skip
    head = {"id": f"g{number}", "timestamp": when(number), "type": "gemini", "content": ""}
    return {**head, "model": "gemini-3-pro", "tokens": tokens, **rest}


def gemini_call(name, output):
    """Return a call of Gemini CLI's, with its result."""
    told = {"functionResponse": {"id": name, "name": "ls", "response": {"output": output}}}
    return {"id": name, "name": "ls", "args": {"path": "."}, "result": [told]}


def gemini_user(name, words):
    """Return one of Gemini CLI's user messages."""
    return {"id": name, "timestamp": when(0), "type": "user", "content": words}


GEMINI_HEAD = {"sessionId": "chat-1", "projectHash": "p", "startTime": when(0), "summary": "s"}


def gemini_messages():
    """A chat of 3 calls."""
    return [
        gemini_user("u1", "Find the bug."),
        gemini(1, toolCalls=[gemini_call("c1", "x"), gemini_call("c2", "y")]),
        gemini(2, content="It is in x."),
        {"id": "i1", "timestamp": when(2), "type": "info", "content": "saved"},
        gemini_user("u2", "Fix it."),
        gemini(3, content="Fixed."),
    ]


def gemini_cli():
    """A chat as one document."""
    return json.dumps({**GEMINI_HEAD, "messages": gemini_messages()}, indent=2).encode()


def gemini_lines():
    """The same chat as lines; answers stand there once more when their calls have results."""
    first, answer, *rest = gemini_messages()
    bare = {**answer, "toolCalls": []}
    return [GEMINI_HEAD, first, bare, {"$set": {"lastUpdated": when(9)}}, answer, *rest]


class PiLines:
    """Pi's lines, each hanging on the one before unless it is told another one."""

    def __init__(self):
        self.lines = [{"type": "session", "version": 3, "id": "pi-1", "cwd": "/work"}]
        self.last = None

    def add(self, kind, parent="", **rest):
        """Add a line; return its id."""
        name = f"e{len(self.lines)}"
        parent = self.last if parent == "" else parent
        self.lines.append({"type": kind, "id": name, "parentId": parent, **rest})
        self.last = name
        return name

    def say(self, role, content, parent="", **rest):
        """Add a message."""
        message = {"role": role, "content": content, "timestamp": 1_772_359_200_500, **rest}
        return self.add("message", parent, message=message)

    def answer(self, *blocks, prompt=1000, parent=""):
        """Add an answer."""
        usage = {"input": 5, "output": 9, "cacheRead": prompt, "cacheWrite": 20, "cacheWrite1h": 8}
        billed = usage if prompt else dict.fromkeys(usage, 0)
        return self.say(
            "assistant", list(blocks), parent, model="claude-sonnet-4-5", usage=billed,
            api="anthropic-messages", stopReason="stop",
        )  # fmt: skip

    def result(self, call_id, words):
        """Add a call's result."""
        return self.say("toolResult", [text(words)], toolCallId=call_id, isError=False)


def pi_call(name):
    """Return a call as Pi writes it."""
    return {"type": "toolCall", "id": name, "name": "bash", "arguments": {"command": "ls"}}


def pi():
    """A session of 5 calls in two branches, with a compaction in the first."""
    talk = PiLines()
    tools = [{"name": "bash", "description": "Run.", "parameters": {"type": "object"}}]
    talk.say("system", "", sections={"preamble": "You are Pi.", "cwd": "/w"}, toolsAdded=tools)
    talk.say("user", [text("Find the bug.")])
    talk.answer({"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"}, pi_call("c1"))
    talk.result("c1", "x")
    fork = talk.answer(text("It is in x."), prompt=1030)
    talk.say("user", "Fix it.")
    talk.add("compaction", summary="x", firstKeptEntryId=fork)
    talk.answer(text("Fixed."), prompt=300)
    talk.say("bashExecution", "", command="ls", output="x\n", exitCode=1)
    talk.answer(prompt=0)
    talk.say("user", "Rather write a test.", parent=fork)
    talk.answer(pi_call("c2"), prompt=1060)
    talk.result("c2", "1 passed")
    talk.add("label", targetId=fork, label="here")
    talk.answer(text("It passes."), prompt=1090)
    return talk.lines


def opencode_message(number, role, *parts, **info):
    """Return a message of OpenCode's with its parts."""
    name = f"msg_{number:02}"
    time = {"created": 1_772_359_200_500 + 1000 * number}
    head = {"id": name, "sessionID": "ses_1", "role": role, "time": time, **info}
    return {
        "info": head,
        "parts": [{"id": f"prt_{n}", "messageID": name, **part} for n, part in enumerate(parts)],
    }


def opencode_answer(number, *parts, prompt=1000, **info):
    """Return an answer of one model call."""
    cache = {"read": prompt, "write": 40}
    tokens = {"total": prompt + 65, "input": 5, "output": 12, "reasoning": 8, "cache": cache}
    finish = {"type": "step-finish", "reason": "stop", "tokens": tokens}
    return opencode_message(
        number, "assistant", {"type": "step-start"}, *parts, finish, modelID="claude-sonnet-4-5",
        providerID="anthropic", **info,
    )  # fmt: skip


def opencode_tool(name, output, **time):
    """Return a call of OpenCode's with its result."""
    state = {"status": "completed", "input": {"command": "ls"}, "output": output, "time": time}
    return {"type": "tool", "tool": "bash", "callID": name, "state": state}


def opencode_messages():
    """A session of 4 calls with a compaction."""
    go_on = {**text("Continue if you have next steps."), "synthetic": True}
    return [
        opencode_message(1, "user", text("Find the bug.")),
        opencode_answer(2, {"type": "reasoning", "text": "Hm."}, opencode_tool("c1", "x")),
        opencode_answer(3, text("It is in x."), prompt=1045),
        opencode_message(4, "user", text("Fix it.")),
        opencode_message(5, "user", {"type": "compaction", "auto": True}, summary={"diffs": []}),
        opencode_answer(6, text("The bug is in x."), summary=True),
        opencode_message(7, "user", go_on),
        opencode_answer(8, opencode_tool("c2", "done"), prompt=300),
        opencode_answer(9, text("Fixed."), prompt=345),
    ]


def opencode():
    """A session as it is exported."""
    info = {"id": "ses_1", "directory": "/work", "version": "1.18.33"}
    return json.dumps({"info": info, "messages": opencode_messages()}, indent=2).encode()


SAMPLES = {
    "claude-code": lambda: jsonl(claude_code()),
    "claude-code agent": lambda: jsonl(claude_agent()),
    "codex": lambda: jsonl(codex()),
    "gemini-cli": gemini_cli,
    "gemini-cli lines": lambda: jsonl(gemini_lines()),
    "pi": lambda: jsonl(pi()),
    "opencode": opencode,
}
"""Content by name; a name's first word is the harness."""
