import asyncio
import json
from itertools import pairwise

import pytest

from cuesta.testing.agent import AgentError, ScriptedAgent
from cuesta.testing.briefing import ENVIRONMENT, REMINDERS
from cuesta.testing.job.calls import edit, read, run, search, step
from cuesta.testing.simulator import Failure, ListScript, Simulator, Step
from cuesta.testing.workspace import Workspace

STEPS = (
    step("First.", None, read("README.md"), search("bisect")),
    step("Then.", "I'll run them.", run("tests.test_units")),
    step("A mistake.", None, read("nowhere.py")),
    step("Done.", "All done."),
)


def drive(steps=STEPS, failures=(), interjections=None, **options):
    """Run the agent; return its result or its error, the simulator, the turns reported."""
    reports = []

    async def go():
        simulator = Simulator(ListScript(steps))
        simulator.fail_next(*failures)
        with Workspace() as workspace:
            async with simulator:
                agent = ScriptedAgent(
                    simulator.url, workspace, "Repair it.", interjections or {}, **options
                )
                try:
                    return await agent.run(reports.append), simulator
                except AgentError as error:
                    return error, simulator

    result, simulator = asyncio.run(go())
    return result, simulator, reports


def without_markers(value):
    """Return a body's messages without markers, lone texts as strings."""
    if isinstance(value, list):
        return [without_markers(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {k: without_markers(v) for k, v in value.items() if k != "cache_control"}
    content = plain.get("content")
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        plain["content"] = content[0]["text"]
    return plain


def markers(value):
    if isinstance(value, list):
        return sum(map(markers, value))
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(markers, value.values()))
    return 0


def test_works_to_the_end_and_reports_each_turn():
    result, simulator, reports = drive()
    assert (result.turns, result.errors, result.finished) == (4, (), False)
    assert [report.turn for report in reports] == [1, 2, 3, 4]
    assert [report.tools for report in reports] == [
        ("read_file", "search"),
        ("run_tests",),
        ("read_file",),
        (),
    ]
    billed = [call.usage for call in simulator.calls]
    assert list(result.usages) == billed
    assert [report.usage for report in reports] == billed
    assert reports[0].prompt_tokens == billed[0].prompt
    assert all(report.note is None for report in reports)
    assert simulator.invalid == 0


def test_every_encoding_is_read():
    _, simulator, _ = drive()
    assert {call.encoding for call in simulator.calls} >= {"gzip", "br", "zstd"}


def test_first_request_looks_like_claude_codes():
    _, simulator, _ = drive()
    call = simulator.calls[0]
    assert (call.path, call.query) == ("/v1/messages", "beta=true")
    assert list(call.body) == [
        "model",
        "messages",
        "system",
        "tools",
        "metadata",
        "max_tokens",
        "thinking",
        "context_management",
        "output_config",
        "stream",
    ]
    assert call.body["thinking"] == {"type": "adaptive", "display": "omitted"}
    billing, identity, prompt = call.body["system"]
    assert billing["text"].startswith("x-anthropic-billing-header: ")
    assert "cache_control" not in billing
    assert identity["cache_control"] == prompt["cache_control"] == {"type": "ephemeral"}
    first, environment = call.body["messages"]
    assert [block["text"] for block in first["content"]] == [*REMINDERS, "Repair it."]
    assert environment["role"] == "system"
    assert environment["content"][0]["text"] == ENVIRONMENT
    identity = json.loads(call.body["metadata"]["user_id"])
    assert identity["session_id"] == dict(call.headers)["x-claude-code-session-id"]


def test_models_without_a_system_role_are_told_the_environment_by_a_reminder():
    result, simulator, _ = drive(model="claude-haiku-4-5")
    assert result.turns == 4
    body = simulator.calls[0].body
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert ENVIRONMENT in body["messages"][0]["content"][0]["text"]
    assert body["thinking"]["type"] == "enabled"
    assert simulator.invalid == 0


def test_history_only_grows_and_markers_move_along():
    _, simulator, _ = drive()
    bodies = [call.body for call in simulator.calls]
    assert all(call.appended for call in simulator.calls)
    for before, after in pairwise(bodies):
        old, new = without_markers(before["messages"]), without_markers(after["messages"])
        assert new[: len(old)] == old
        assert len(new) == len(old) + 2
        assert (before["system"], before["tools"]) == (after["system"], after["tools"])
    for body in bodies:
        assert markers(body["messages"]) == 1
        assert "cache_control" in body["messages"][-1]["content"][-1]
        assert markers(body["system"]) == 2
        assert markers(body["tools"]) == 0


def test_a_lone_text_turns_from_array_to_string():
    _, simulator, _ = drive()
    assert isinstance(simulator.calls[0].body["messages"][1]["content"], list)
    assert simulator.calls[1].body["messages"][1]["content"] == ENVIRONMENT


def test_thinking_goes_back_as_it_came_and_results_stand_in_one_message():
    _, simulator, _ = drive()
    messages = simulator.calls[1].body["messages"]
    assert messages[2]["content"] == simulator.calls[0].content
    assert messages[2]["content"][0]["type"] == "thinking"
    calls = [block["id"] for block in messages[2]["content"] if block["type"] == "tool_use"]
    results = messages[3]["content"]
    assert [block["tool_use_id"] for block in results] == calls
    assert all(isinstance(block["content"], str) for block in results)
    assert not any(block["is_error"] for block in results)


def test_failed_calls_are_flagged():
    _, simulator, _ = drive()
    (result,) = simulator.calls[3].body["messages"][-1]["content"]
    assert result["is_error"]
    assert "does not exist" in result["content"]


def test_the_person_speaks_behind_the_results():
    _, simulator, _ = drive(interjections={2: "And hurry."})
    kinds = [block["type"] for block in simulator.calls[2].body["messages"][-1]["content"]]
    assert kinds == ["tool_result", "text"]
    assert simulator.calls[2].body["messages"][-1]["content"][1]["text"] == "And hurry."
    assert simulator.invalid == 0
    assert all(call.appended for call in simulator.calls)


def test_finished_tells_whether_the_tests_pass():
    repair = (
        step("Fix.", None, edit("stockroom/discounts.py", "import bisect_left", "import bisect")),
        step("Fix.", None, edit("stockroom/discounts.py", "bisect_left(", "bisect(")),
        step("Done.", "Done."),
    )
    result, _, _ = drive(repair)
    assert result.finished


@pytest.mark.parametrize("status", [429, 529])
def test_a_busy_provider_is_asked_again_with_the_same_bytes(status):
    result, simulator, _ = drive(
        failures=[Failure.status(status, "Busy", retry_after=0), Failure.status(529, "Busy", 0)]
    )
    assert result.turns == 4
    assert result.errors == ((status, "Busy"), (529, "Busy"))
    assert simulator.calls[0].raw == simulator.calls[1].raw == simulator.calls[2].raw


def test_a_provider_that_stays_busy_is_given_up():
    error, simulator, _ = drive(failures=[Failure.status(529, "Busy", retry_after=0)] * 9)
    assert isinstance(error, AgentError)
    assert (error.status, error.message) == (529, "Busy")
    assert len(simulator.calls) == 4


def test_a_refusal_is_raised_at_once_in_the_providers_words():
    error, simulator, _ = drive(failures=[Failure.status(400, "prompt is too long")])
    assert str(error) == "prompt is too long (status 400)"
    assert len(simulator.calls) == 1


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Failure.overloaded_in_stream(), "Overloaded"),
        (Failure.cut_after(3), "the connection failed"),
    ],
)
def test_a_broken_answer_is_no_answer(failure, words):
    error, simulator, _ = drive(failures=[failure])
    assert isinstance(error, AgentError)
    assert words in str(error)
    assert len(simulator.calls) == 1


def test_an_answer_that_ends_for_another_reason_is_an_error():
    error, _, _ = drive([Step(text="I will not.", stop_reason="refusal")])
    assert "refusal" in str(error)


def test_nobody_listens():
    async def go():
        with Workspace() as workspace:
            await ScriptedAgent("http://127.0.0.1:9", workspace, "Repair it.").run()

    with pytest.raises(AgentError, match="the connection failed"):
        asyncio.run(go())


def test_keys_stay_out_of_what_is_printed():
    agent = ScriptedAgent("http://127.0.0.1:9", None, "Repair it.", api_key="sk-secret")
    assert "sk-secret" not in repr(agent)
