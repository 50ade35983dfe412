import io
import json
import tarfile

import pytest
import zstandard
from independent_scaffold_sums import sums_of
from scaffold_files import STEPS, mini_1, mini_2, mini_2_responses
from scaffold_reading import DATA, messages_of, read, sums

from cuesta.core.transcript import BlockKind
from cuesta.core.usage import Usage
from cuesta.dialects.registry import DIALECTS

ARCHIVE = DATA / "mini-swe-agent" / "gemini-3-pro-500.tar.zst"
PRICES = (2.0, 0.20, 12.0)
"""Dollars a million tokens of input, cached input and output."""


def test_plain_text_is_the_whole_prompt():
    (session,), problems = read(mini_1())
    assert problems == {}
    assert (session.name, session.wire, session.protocol) == (
        "repo__1",
        "openai_chat",
        "mini-swe-agent-1",
    )
    assert session.whole
    assert [call.at for call in session.calls] == [2, 4, 6, 8, 10]
    assert session.calls[1].usage == Usage(input=1000, cache_read=100, output=50)
    assert {call.model for call in session.calls} == {"up"}
    assert session.calls[0].time == 1700000000.5


def test_messages_are_what_was_sent():
    (session,), _ = read(mini_1())
    for raw in session.messages:
        assert json.loads(raw).keys() == {"role", "content"}


def test_the_submission_was_never_sent():
    (session,), _ = read(mini_1())
    assert all(b"diff --git" not in raw for raw in session.messages)
    limits = json.loads(mini_1())
    limits["info"] |= {"exit_status": "LimitsExceeded", "submission": ""}
    limits["messages"][-1]["content"] = ""
    (stopped,), _ = read(json.dumps(limits).encode())
    assert stopped.messages == session.messages


def test_a_run_that_was_cut_off_keeps_its_last_output():
    running = json.loads(mini_1())
    running["info"] |= {"exit_status": None, "submission": None}
    (session,), _ = read(json.dumps(running).encode())
    assert b"diff --git" in session.messages[-1]


def test_a_command_typed_by_a_person_is_no_call():
    typed = json.loads(mini_1())
    typed["messages"][2] = {"role": "assistant", "content": "\n```bash\nls\n```"}
    (session,), _ = read(json.dumps(typed).encode())
    assert [call.at for call in session.calls] == [4, 6, 8, 10]
    assert messages_of(session)[2].blocks[-1].kind is BlockKind.CALL


def test_a_trajectory_without_responses_has_calls_without_bills():
    bare = json.loads(mini_1())
    for message in bare["messages"]:
        message.pop("extra", None)
    (session,), _ = read(json.dumps(bare).encode())
    assert [call.usage for call in session.calls] == [None] * 5
    assert {call.model for call in session.calls} == {"made/up"}


def test_tool_calls_keep_the_wires_form():
    (session,), problems = read(mini_2())
    assert problems == {}
    assert (session.protocol, session.whole) == ("", False)
    assert len(session.messages) == 2 + 3 * STEPS + 1
    assert all(b"extra" not in raw for raw in session.messages)


def test_a_bill_for_an_answer_that_was_thrown_away_counts():
    (session,), _ = read(mini_2())
    assert sums([session])["prompt"] == sum(1000 + 100 * i for i in range(STEPS + 1))
    thrown = session.calls[-1]
    assert b"Tool call error" in session.messages[thrown.at]


def test_a_response_object_becomes_its_items():
    (session,), _ = read(mini_2_responses())
    assert session.wire == "openai_responses"
    kinds = [DIALECTS[session.wire].parse(raw)[0].blocks[0].kind for raw in session.messages]
    assert kinds[2:] == [BlockKind.THINKING, BlockKind.CALL, BlockKind.RESULT]
    assert session.calls[0].usage == Usage(input=600, cache_read=300, output=60)


def test_text_mode_of_2x_is_a_text_protocol():
    text = json.loads(mini_1())
    text["trajectory_format"] = "mini-swe-agent-1.1"
    text["messages"][-1]["role"] = "exit"
    for message in text["messages"]:
        message["content"] = message["content"].replace("```bash", "```mswea_bash_command")
    (session,), _ = read(json.dumps(text).encode())
    assert (session.protocol, session.whole) == ("mini-swe-agent-1", True)
    assert sums([session])["tool calls"] == STEPS + 1


def archived():
    with (
        ARCHIVE.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as raw,
        tarfile.open(fileobj=io.BufferedReader(raw), mode="r|") as archive,
    ):
        yield from (archive.extractfile(m).read() for m in archive if m.isfile())


@pytest.mark.skipif(not ARCHIVE.exists(), reason=f"{ARCHIVE} is not here")
def test_the_five_hundred():
    sessions = []
    for content in archived():
        found, problems = read(content)
        assert problems == {}
        sessions += found
    total = sums(sessions)
    assert len(sessions) == 500
    assert total == sums_of(ARCHIVE)
    assert total["calls"] == 20_163
    assert (total["prompt"], total["cached"]) == (333_047_929, 279_065_308)
    assert total["output"] == 5_556_752
    tokens = (total["prompt"] - total["cached"], total["cached"], total["output"])
    assert round(sum(t * p for t, p in zip(tokens, PRICES, strict=True)) / 1e6, 2) == 230.46
