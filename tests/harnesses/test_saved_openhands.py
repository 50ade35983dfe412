import json

from scaffold_files import STEPS, openhands, openhands_flat, openhands_sdk
from scaffold_reading import kinds, messages_of, read, sums

from cuesta.core.transcript import BlockKind
from cuesta.core.usage import Usage

CALL, RESULT, TEXT = BlockKind.CALL, BlockKind.RESULT, BlockKind.TEXT


def rows(content):
    return [json.loads(line) for line in content.splitlines()]


def test_a_row_is_a_session():
    sessions, problems = read(openhands())
    assert problems == {}
    assert [session.name for session in sessions] == ["repo__1", "repo__2"]
    assert json.loads(sessions[0].members["tools"]) == [{"type": "function"}]


def test_parallel_calls_of_one_response_are_one_answer():
    (session, _), _ = read(openhands())
    read_messages = messages_of(session)
    for call in session.calls[:STEPS]:
        answer, *results = read_messages[call.at : call.at + 3]
        assert kinds(answer) == [TEXT, CALL, CALL]
        assert [kinds(result) for result in results] == [[RESULT], [RESULT]]
    assert sums([session])["tool calls"] == 2 * STEPS


def test_an_answer_without_its_response_costs_what_came_on_top():
    (session, _), _ = read(openhands())
    told = session.calls[-1]
    assert told.usage == Usage(input=700)
    assert told.model == "made/up"
    assert session.calls[1].usage == Usage(input=1000, cache_read=100, output=50)


def test_a_condensation_is_noted_and_the_history_goes_on():
    (session, _), _ = read(openhands())
    assert session.compactions == (1,)
    assert [call.hole for call in session.calls] == [False, True, False, False]
    (sdk,), _ = read(openhands_sdk())
    assert sdk.compactions == (1,)


def test_outputs_are_what_the_model_was_shown():
    (session, _), _ = read(openhands())
    shown = json.loads(session.messages[3])["content"]
    assert shown == "0\n[Current working directory: /w]\n[Command finished with exit code 0]"
    long = rows(openhands())[0]
    long["history"][5]["content"] = "x" * 40_000
    (cut,), _ = read(json.dumps(long).encode())
    assert 30_000 < len(json.loads(cut.messages[3])["content"]) < 30_100


def test_files_of_2024_pair_by_order():
    (session,), problems = read(openhands_flat())
    assert problems == {}
    assert session.name == "o/r#5"
    answers = messages_of(session)
    assert [kinds(message) for message in answers] == [
        [TEXT],
        *[[TEXT, CALL], [RESULT]] * 2,
        [TEXT, CALL],
    ]
    assert answers[1].blocks[1].arguments == {"command": "ls"}
    assert answers[3].blocks[1].arguments == {"code": "1 + 1"}
    assert [call.usage for call in session.calls] == [None] * 3


def test_events_in_pairs_read_the_same():
    (row,) = rows(openhands_flat())
    task, *events = row["history"]
    row["history"] = [[task], events[:2], events[2:4], events[4:]]
    (pairs,), _ = read(json.dumps(row).encode())
    (flat,), _ = read(openhands_flat())
    assert pairs == flat


def test_a_list_of_events_is_a_history():
    (session, _), _ = read(openhands())
    (row, _) = rows(openhands())
    for content in (json.dumps(row["history"]), json.dumps({"history": row["history"]}, indent=2)):
        (alone,), problems = read(content.encode())
        assert problems == {}
        assert alone.messages == session.messages


def test_events_of_the_sdk():
    (session,), problems = read(openhands_sdk())
    assert problems == {}
    assert [kinds(message) for message in messages_of(session)] == [
        [TEXT],
        [TEXT, TEXT],
        [TEXT, CALL, CALL],
        [RESULT],
        [RESULT],
        [TEXT, CALL],
        [RESULT],
        [CALL],
        [RESULT],
        [BlockKind.THINKING, TEXT],
    ]
    assert session.calls[0].usage == Usage(400, 500, 100, 0, 10)
    assert [call.thoughts for call in session.calls] == [4, 4, 4, 0]
    error, output = (part["text"] for part in json.loads(session.messages[6])["content"])
    assert error == "[An error occurred during execution.]\n"
    assert output == "a.py\n[Over.]\n[Command finished with exit code 2]"


def test_one_broken_row_costs_no_other():
    first, second = openhands().splitlines()
    (session,), problems = read(first[:-40] + b"\n" + second)
    assert session.name == "repo__2"
    assert problems == {"not JSON": 1}
