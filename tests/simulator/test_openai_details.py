"""What only one of OpenAI's wires knows, over HTTP."""

import json

import pytest
from openai_talk import KEY, ChatTalk, ResponsesTalk, data_lines, post, post_json, run, serving

from cuesta.testing.simulator import (
    Conditions,
    Failure,
    ListScript,
    Simulator,
    Step,
    ToolCall,
    first_user_text,
)
from cuesta.testing.simulator.responses.answers import items_for
from cuesta.testing.simulator.responses.memory import Memory
from cuesta.testing.simulator.script import Place

CHAT, RESPONSES = ChatTalk(), ResponsesTalk()
ACCOUNT = {"chatgpt-account-id": "acc_1"}
LOOK = Step(thinking="I should look.", text="I look.", calls=(ToolCall("bash", {"command": "ls"}),))
SCRIPT = ListScript([LOOK] * 6, last_words="It is done.")
TRIGGER = {"type": "compaction_trigger"}


@pytest.mark.parametrize(
    ("asked", "options", "told"),
    [
        ({}, {}, False),
        ({"stream_options": {"include_usage": True}}, {}, True),
        ({"stream_options": {"include_usage": False}}, {}, False),
        ({}, {"always_usage": True}, True),
    ],
)
def test_a_chat_stream_ends_with_its_bill_where_it_was_asked_for(asked, options, told):
    async def main():
        async with serving(SCRIPT, **options) as (simulator, session):
            body = CHAT.ask(stream=True, **asked)
            _, data = await post(simulator, session, body, CHAT.path)
            return data_lines(data), simulator.calls[0].usage

    (*chunks, last, done), usage = run(main)
    assert done == "[DONE]"
    assert ("usage" in last) is told
    assert all(("usage" in chunk) is told for chunk in chunks)
    if told:
        assert last["choices"] == []
        assert last["usage"]["prompt_tokens"] == usage.prompt
        assert all(chunk["usage"] is None for chunk in chunks)
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1


def test_arguments_of_two_calls_come_in_pieces_by_index():
    calls = (ToolCall("bash", {"command": "x" * 90}), ToolCall("bash", {"command": "y" * 90}))

    async def main():
        async with serving(ListScript([Step(calls=calls)])) as (simulator, session):
            _, data = await post(simulator, session, CHAT.ask(stream=True), CHAT.path)
            return data_lines(data)[:-1], CHAT.assembled(data)

    chunks, (message,) = run(main)
    deltas = [
        piece
        for chunk in chunks
        for choice in chunk["choices"]
        for piece in choice["delta"].get("tool_calls", ())
    ]
    assert [delta["index"] for delta in deltas] == [0] * 6 + [1] * 6
    assert deltas[0]["function"] == {"name": "bash", "arguments": ""}
    assert "id" not in deltas[1]
    inputs = [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]]
    assert inputs == [dict(call.input) for call in calls]


def test_openai_itself_hides_its_reasoning_and_bills_it():
    async def main():
        async with serving(SCRIPT, Conditions(compatible=False)) as (simulator, session):
            body = CHAT.ask()
            for _ in range(2):
                status, answer = await post_json(simulator, session, body, CHAT.path)
                body = CHAT.continued(body, CHAT.content(answer))
            return status, answer

    status, answer = run(main)
    assert status == 200
    assert "reasoning_content" not in answer["choices"][0]["message"]
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 4


def test_deepseek_wants_its_reasoning_back_and_may_be_told_not_to_think():
    async def main():
        conditions = Conditions(reasoning_content="required")
        async with serving(SCRIPT, conditions) as (simulator, session):
            _, answer = await post_json(simulator, session, CHAT.ask(), CHAT.path)
            body = CHAT.continued(CHAT.ask(), CHAT.content(answer))
            del body["messages"][1]["reasoning_content"]
            status, refused = await post_json(simulator, session, body, CHAT.path)
            off = {**body, "thinking": {"type": "disabled"}}
            taken, answer = await post_json(simulator, session, off, CHAT.path)
            return status, refused["error"]["message"], taken, answer

    status, message, taken, answer = run(main)
    assert status == 400
    assert "must be passed back to the API" in message
    assert taken == 200
    assert "reasoning_content" not in answer["choices"][0]["message"]


def test_a_template_refuses_over_http():
    async def main():
        async with serving(SCRIPT, Conditions(template="mistral")) as (simulator, session):
            body = CHAT.ask()
            body["messages"] *= 2
            return await post_json(simulator, session, body, CHAT.path)

    status, answer = run(main)
    assert status == 400
    assert "must alternate" in answer["error"]["message"]


def test_every_event_of_a_response_has_its_place_and_number():
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            _, data = await post(simulator, session, RESPONSES.ask(stream=True), RESPONSES.path)
            names = [line[7:] for line in data.decode().split("\n") if line.startswith("event: ")]
            return names, data_lines(data)

    names, events = run(main)
    assert names == [event["type"] for event in events]
    assert names[:3] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
    ]
    assert names[-1] == "response.completed"
    for wanted in (
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
    ):
        assert wanted in names
    assert [e["output_index"] for e in events if e["type"].endswith("item.done")] == [0, 1, 2]
    usage = events[-1]["response"]["usage"]
    assert usage["output_tokens_details"]["reasoning_tokens"] == 4
    assert usage["input_tokens_details"]["cached_tokens"] == 0


@pytest.mark.parametrize(
    ("more", "kinds", "sealed", "shown"),
    [
        ({}, ["reasoning", "text", "call"], True, True),
        ({"reasoning": {"effort": "low"}}, ["reasoning", "text", "call"], True, False),
        ({"include": []}, ["reasoning", "text", "call"], False, True),
        ({"reasoning": {"effort": "none"}}, ["text", "call"], False, False),
    ],
)
def test_reasoning_is_sealed_and_shown_as_the_request_says(more, kinds, sealed, shown):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            _, answer = await post_json(simulator, session, RESPONSES.ask(**more), RESPONSES.path)
            return answer["output"]

    items = run(main)
    assert RESPONSES.kinds(items) == kinds
    assert ("encrypted_content" in items[0]) is sealed
    assert bool(items[0].get("summary")) is shown


@pytest.mark.parametrize(
    ("kind", "input_", "member"),
    [
        ("function_call", {"command": "ls"}, ("arguments", '{"command":"ls"}')),
        ("custom_tool_call", {"input": "*** Begin"}, ("input", "*** Begin")),
        ("custom_tool_call", {"command": "ls"}, ("input", '{"command":"ls"}')),
        (
            "local_shell_call",
            {"command": ["ls"]},
            ("action", {"type": "exec", "env": {}, "command": ["ls"]}),
        ),
        ("shell_call", {"commands": ["ls"]}, ("action", {"commands": ["ls"]})),
        ("apply_patch_call", {"path": "a"}, ("operation", {"path": "a"})),
        ("computer_call", {"type": "click"}, ("action", {"type": "click"})),
        ("tool_search_call", {"query": "q"}, ("arguments", {"query": "q"})),
    ],
)
def test_a_step_calls_tools_of_every_kind_and_they_come_back_valid(kind, input_, member):
    outputs = {
        "shell_call": {"output": []},
        "apply_patch_call": {"status": "completed"},
        "computer_call": {"output": {"type": "computer_screenshot"}},
        "tool_search_call": {"type": "tool_search_output", "tools": []},
    }
    step = Step(thinking="hm", calls=(ToolCall("tool", input_, kind=kind),))

    async def main():
        async with serving(ListScript([step])) as (simulator, session):
            _, data = await post(simulator, session, RESPONSES.ask(stream=True), RESPONSES.path)
            items = RESPONSES.assembled(data)
            body = RESPONSES.continued(RESPONSES.ask(), items)
            body["input"][-1].update(outputs.get(kind, {}))
            status, answer = await post_json(simulator, session, body, RESPONSES.path)
            return items[1], status, answer

    item, status, answer = run(main)
    assert (item["type"], item[member[0]]) == (kind, member[1])
    assert status == 200, answer
    assert answer["output"][-1]["content"][0]["text"] == "All done."


def test_a_custom_tool_is_called_on_chat_too():
    step = Step(calls=(ToolCall("patch", {"input": "*** Begin"}, kind="custom_tool_call"),))

    async def main():
        async with serving(ListScript([step])) as (simulator, session):
            _, data = await post(simulator, session, CHAT.ask(stream=True), CHAT.path)
            content = CHAT.assembled(data)
            body = CHAT.continued(CHAT.ask(), content)
            status, _ = await post_json(simulator, session, body, CHAT.path)
            return content[0]["tool_calls"][0], status

    call, status = run(main)
    assert (call["type"], call["custom"]) == ("custom", {"name": "patch", "input": "*** Begin"})
    assert status == 200


def test_a_conversation_may_be_kept_by_the_provider():
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            body = RESPONSES.ask(store=True)
            for _ in range(4):
                status, answer = await post_json(simulator, session, body, RESPONSES.path)
                assert status == 200, answer
                calls = [i["call_id"] for i in answer["output"] if "call_id" in i]
                new = [
                    {"type": "function_call_output", "call_id": name, "output": "out"}
                    for name in calls
                ]
                body = {**body, "input": new, "previous_response_id": answer["id"]}
            return simulator.calls

    calls = run(main)
    assert [call.step for call in calls] == [0, 1, 2, 3]
    assert all(call.appended for call in calls)
    assert [call.prefix_common for call in calls] == [0, 1, 5, 9]
    prompts = [call.usage.prompt for call in calls]
    assert prompts == sorted(set(prompts))


def compacting(path):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            body = RESPONSES.ask()
            for _ in range(3):
                _, answer = await post_json(simulator, session, body, RESPONSES.path)
                body = RESPONSES.continued(body, answer["output"])
            trigger = [] if path.endswith("/compact") else [TRIGGER]
            asked = {**body, "input": [*body["input"], *trigger], "stream": bool(trigger)}
            _, data = await post(simulator, session, asked, path)
            items = RESPONSES.assembled(data) if trigger else json.loads(data)["output"]
            after = RESPONSES.ask(input=[*items, {"role": "user", "content": "go on"}])
            status, answer = await post_json(simulator, session, after, RESPONSES.path)
            return data, items, status, answer, simulator.calls

    return run(main)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact", "/responses/compact"])
def test_a_compaction_is_one_item_behind_which_the_script_goes_on(path):
    data, (item,), status, answer, calls = compacting(path)
    assert item["type"] == "compaction"
    assert (status, RESPONSES.kinds(answer["output"])) == (200, ["reasoning", "text", "call"])
    assert calls[3].side
    assert (calls[4].step, calls[4].conversation) == (3, calls[0].conversation)
    assert calls[4].appended is False
    if path.endswith("compact"):
        assert json.loads(data)["object"] == "response.compaction"
        assert json.loads(data)["usage"]["input_tokens"] == calls[3].usage.prompt


def test_a_retry_that_brings_half_an_answer_gets_the_same_step():
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            body = RESPONSES.ask(stream=True)
            simulator.fail_next(Failure.cut_after(events=10))
            headers = {**KEY, "accept-encoding": "identity"}
            url, read = simulator.url + RESPONSES.path, b""
            async with session.post(url, data=json.dumps(body), headers=headers) as response:
                while b"response.output_item.done" not in read or not read.endswith(b"\n\n"):
                    read += await response.content.readany()
            done = [e for e in data_lines(read) if e["type"] == "response.output_item.done"]
            body["input"].append(done[0]["item"])
            _, data = await post(simulator, session, body, RESPONSES.path)
            body = RESPONSES.continued(body, RESPONSES.assembled(data))
            await post(simulator, session, body, RESPONSES.path)
            return simulator.calls

    calls = run(main)
    assert [(call.status, call.step, call.refusal) for call in calls] == [
        (200, 0, None),
        (200, 0, None),
        (200, 1, None),
    ]
    assert len({call.conversation for call in calls}) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [({**KEY, **ACCOUNT}, 200), (KEY, 401), (ACCOUNT, 401)],
)
def test_behind_a_chatgpt_login_the_account_is_named(headers, status):
    path = "/backend-api/codex/responses"

    async def main():
        async with serving(SCRIPT) as (simulator, session):
            sent = json.dumps(RESPONSES.ask())
            headers_ = {"accept-encoding": "identity", **headers}
            async with session.post(simulator.url + path, data=sent, headers=headers_) as response:
                return response.status, json.loads(await response.read()), simulator.calls[0]

    found, answer, call = run(main)
    assert (found, call.dialect) == (status, "openai_responses")
    if status == 401:
        assert answer == {"detail": "Unauthorized"}


@pytest.mark.parametrize("status", [426, 404])
def test_a_websocket_is_declined_and_written_down(status):
    asked = {"upgrade": "websocket", "connection": "Upgrade", **KEY}

    async def main():
        async with serving(SCRIPT, upgrade_status=status) as (simulator, session):
            url = simulator.url + "/v1/responses"
            async with session.get(url, headers=asked) as response:
                return response.status, simulator

    found, simulator = run(main)
    (call,) = simulator.calls
    assert (found, call.status, call.upgrade, call.dialect) == (
        status,
        status,
        "websocket",
        "openai_responses",
    )
    assert simulator.invalid == 0


def test_every_path_of_a_wire_answers():
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            seen = {}
            for path in ("/v1/chat/completions", "/chat/completions"):
                seen[path], _ = await post_json(simulator, session, CHAT.ask(), path)
            for path in ("/v1/responses", "/responses"):
                seen[path], _ = await post_json(simulator, session, RESPONSES.ask(), path)
            path = "/v1/responses/input_tokens"
            seen[path], counted = await post_json(simulator, session, RESPONSES.ask(), path)
            bad, _ = await post_json(simulator, session, {"model": "m"}, path)
            for path, headers in (("/v1/models", KEY), ("/models", KEY), ("/v1/nothing", KEY)):
                async with session.get(simulator.url + path, headers=headers) as response:
                    seen[path] = response.status
            path = "/backend-api/plugins"
            async with session.get(simulator.url + path, headers=KEY) as response:
                seen[path] = response.status
            return seen, counted, bad, simulator

    seen, counted, bad, simulator = run(main)
    assert list(seen.values()) == [200, 200, 200, 200, 200, 200, 200, 404, 404]
    assert counted == {
        "object": "response.input_tokens",
        "input_tokens": simulator.calls[2].usage.prompt,
    }
    assert bad == 400
    assert simulator.invalid == 2


def test_models_are_listed_in_the_shape_of_the_provider_asked():
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            lists = []
            for headers in (KEY, {**KEY, "anthropic-version": "2023-06-01"}):
                plain = {"accept-encoding": "identity", **headers}
                async with session.get(simulator.url + "/v1/models", headers=plain) as response:
                    lists.append(json.loads(await response.read()))
            return lists

    openai, anthropic = run(main)
    assert openai["object"] == "list"
    assert {row["object"] for row in openai["data"]} == {"model"}
    assert anthropic["has_more"] is False
    assert {row["type"] for row in anthropic["data"]} == {"model"}


def test_one_simulator_speaks_all_wires_and_keeps_their_judges():
    simulator = Simulator(SCRIPT)
    assert set(simulator.judges) == {"anthropic", "openai_chat", "openai_responses"}
    assert simulator.judges["anthropic"] is simulator.judge

    async def main():
        async with serving(SCRIPT) as (running, session):
            messages = {**CHAT.ask(), "max_tokens": 9, "tools": [{"name": "bash"}]}
            for body, path in (
                (messages, "/v1/messages"),
                (CHAT.ask(), CHAT.path),
                (RESPONSES.ask(), RESPONSES.path),
            ):
                status, _ = await post_json(running, session, body, path)
                assert status == 200
            return running.calls

    calls = run(main)
    assert [call.dialect for call in calls] == ["anthropic", "openai_chat", "openai_responses"]
    assert len({call.conversation for call in calls}) == 3


def test_a_kind_of_call_that_nobody_knows_is_an_error_in_the_script():
    step = Step(calls=(ToolCall("x", {}, kind="dance_call"),))
    with pytest.raises(ValueError, match="known are function_call"):
        items_for(step, Place("1", 0), 1, Memory(), {})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"messages": [{"role": "user", "content": "a"}]}, "a"),
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}]}, "a"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "a"}]},
                    {"role": "user", "content": "b"},
                    {"role": "assistant", "content": "c"},
                    {"role": "user", "content": "d"},
                ]
            },
            "a\nb",
        ),
        ({"input": "a"}, "a"),
        (
            {
                "input": [
                    {"type": "additional_tools", "tools": []},
                    {"role": "developer", "content": "s"},
                    {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
                    {"role": "user", "content": "b"},
                    {"type": "function_call", "name": "x"},
                    {"role": "user", "content": "c"},
                ]
            },
            "a\nb",
        ),
        ({"messages": []}, ""),
    ],
)
def test_scripts_are_chosen_by_what_the_user_said_first_on_any_wire(body, text):
    assert first_user_text(body) == text


def test_an_overflow_inside_of_a_stream_is_known_to_anthropic_too():
    body = {
        "model": "claude-opus-5",
        "max_tokens": 99,
        "stream": True,
        "messages": [{"role": "user", "content": "do it"}],
        "tools": [{"name": "bash"}],
    }

    async def main():
        async with serving(SCRIPT) as (simulator, session):
            simulator.fail_next(Failure.overflow_in_stream(), Failure.overflow_in_stream())
            _, data = await post(simulator, session, body, "/v1/messages")
            plain, _ = await post_json(
                simulator, session, {**body, "stream": False}, "/v1/messages"
            )
            return data_lines(data)[-1], plain

    event, status = run(main)
    assert (event["type"], event["error"]["type"]) == ("error", "invalid_request_error")
    assert status == 400
