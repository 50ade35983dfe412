import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.compact import Source, fold
from cuesta.core.digest import PartKind
from cuesta.core.meter import COMMON
from cuesta.core.policy import PROFILES
from cuesta.core.transcript import Block, BlockKind, Message, Role, outline, read_transcript
from cuesta.protocols.lexicon import HarnessLexicon, speaks_human
from cuesta.protocols.text_actions import PROTOCOLS, read_as

MINI, SWE, TERMINUS = "mini-swe-agent-1", "swe-agent", "terminus-2"


def says(role, *texts):
    return Message(role, tuple(Block(BlockKind.TEXT, (text,)) for text in texts))


def assistant(text):
    return says(Role.ASSISTANT, text)


def user(text):
    return says(Role.USER, text)


def read(protocol, *messages):
    """Read messages one behind the other."""
    done = []
    for message in messages:
        done.append(read_as(protocol, message, done[-1] if done else None))
    return done


def calls(message):
    return [(b.name, dict(b.arguments)) for b in message.blocks if b.kind is BlockKind.CALL]


def thoughts(message):
    return [b.texts[0].strip() for b in message.blocks if b.kind is BlockKind.TEXT]


def kinds(message):
    return [block.kind for block in message.blocks]


def keys(*commands, complete=False, **extra):
    made = [{"keystrokes": command, "duration": 0.1} for command in commands]
    value = {"analysis": 'It "says" so.', "plan": "Look.", "commands": made, **extra}
    return json.dumps(value | ({"task_complete": True} if complete else {}), indent=2)


MINI_ANSWER = "THOUGHT: I look.\n\n```bash\nls -la && cat <<'E'\na\nE\n```\nThen we see."
MINI_OUTPUT = "<returncode>0</returncode>\n<output>\na.py\n</output>"
XML = (
    "<response>\n<analysis>\nA prompt.\n</analysis>\n<plan>\nList.\n</plan>\n<commands>\n"
    '<keystrokes duration="0.1">ls\n</keystrokes>\n<keystrokes>C-c</keystrokes>\n</commands>\n'
    "<task_complete>true</task_complete>\n</response>"
)


class TestAnswers:
    def test_a_fenced_command_is_a_call_between_thoughts(self):
        (message,) = read(MINI, assistant(MINI_ANSWER))
        assert calls(message) == [("bash", {"command": "ls -la && cat <<'E'\na\nE"})]
        assert thoughts(message) == ["THOUGHT: I look.", "Then we see."]

    @pytest.mark.parametrize(
        "text", ["no action", "```bash\na\n```\n```bash\nb\n```", "```bash", ""]
    )
    def test_an_answer_that_mini_swe_agent_refuses_stays_text(self, text):
        assert read(MINI, assistant(text)) == [assistant(text)]

    @pytest.mark.parametrize(
        "text",
        [
            "I look.\n```mswea_bash_command\nls\n```\nLike ```bash\nit\n```",
            "I look.\n<mswea_bash_command>ls</mswea_bash_command>",
            "I look.\n<bash_code>\nls\n</bash_code>",
        ],
    )
    def test_other_marks_of_mini_swe_agent(self, text):
        (message,) = read(MINI, assistant(text))
        assert calls(message) == [("bash", {"command": "ls"})]

    def test_the_last_fenced_block_is_swe_agents_action(self):
        text = "For example\n```python\nx = 1\n```\nNow edit.\n```\nedit 1:2\nfoo\nend_of_edit\n```"
        (message,) = read(SWE, assistant(text))
        assert calls(message) == [("bash", {"command": "edit 1:2\nfoo\nend_of_edit"})]
        assert thoughts(message) == [text[: text.index("\n```\nedit")]]

    def test_swe_agents_tags(self):
        function = "I open it.\n<function=open>\n<parameter=path>\na.py\n</parameter>\n</function>"
        command = "I look.\n<command>\nls -F\n</command>"
        read_function, read_command = read(SWE, assistant(function), assistant(command))
        assert calls(read_function) == [("open", {"path": "a.py"})]
        assert thoughts(read_function) == ["I open it."]
        assert calls(read_command) == [("bash", {"command": "ls -F"})]

    def test_keystrokes_in_json(self):
        answer = keys("ls\n", "C-c", complete=True)
        (message,) = read(TERMINUS, assistant(f"Sure.\n{answer}"))
        assert calls(message) == [
            ("keystrokes", {"keystrokes": "ls\n", "duration": 0.1}),
            ("keystrokes", {"keystrokes": "C-c", "duration": 0.1}),
            ("task_complete", {}),
        ]
        assert thoughts(message) == ["Sure.", 'It "says" so.', "Look."]

    def test_keystrokes_in_xml(self):
        (message,) = read(TERMINUS, assistant(XML))
        assert calls(message) == [
            ("keystrokes", {"keystrokes": "ls\n", "duration": "0.1"}),
            ("keystrokes", {"keystrokes": "C-c"}),
            ("task_complete", {}),
        ]
        assert thoughts(message) == ["A prompt.", "List."]

    @pytest.mark.parametrize(
        "text",
        [
            "Done.",
            "{",
            "{" * 9999,
            '{"a":' * 9999,
            '{"commands": "ls"}',
            '{"commands": [{"keys": "ls"}]}',
        ],
    )
    def test_an_answer_that_terminus_refuses_stays_text(self, text):
        assert read(TERMINUS, assistant(text)) == [assistant(text)]

    def test_no_command_is_a_wait_that_can_be_answered(self):
        answer, output = read(TERMINUS, assistant(keys()), user("New Terminal Output:\n$"))
        assert calls(answer) == [("keystrokes", {})]
        assert output.blocks[0].call_id == answer.blocks[-1].call_id != ""

    def test_calls_of_the_wires_own_stay(self):
        call = Block(BlockKind.CALL, name="bash", call_id="c1", arguments={"command": "ls"})
        message = Message(Role.ASSISTANT, (Block(BlockKind.TEXT, (MINI_ANSWER,)), call))
        assert read(MINI, message) == [message]

    def test_thinking_stays_in_front(self):
        thinking = Block(BlockKind.THINKING, ("hm",))
        message = Message(Role.ASSISTANT, (thinking, Block(BlockKind.TEXT, (MINI_ANSWER,))))
        (done,) = read(MINI, message)
        assert done.blocks[0] == thinking
        assert calls(done)

    def test_no_protocol_changes_nothing(self):
        assert read("", assistant(MINI_ANSWER), user(MINI_OUTPUT)) == [
            assistant(MINI_ANSWER),
            user(MINI_OUTPUT),
        ]


ANSWERS = {MINI: MINI_ANSWER, SWE: "Look.\n```\nls\n```", TERMINUS: keys("ls\n", "pwd\n")}
OUTPUTS = [
    (MINI, MINI_OUTPUT, False),
    (MINI, "<returncode>1</returncode>\n<warning>\nlong\n</warning>", True),
    (MINI, "<exception>no</exception>\n<returncode>-1</returncode>\n<output>\n</output>", True),
    (MINI, "Observation: {'output': ''}", False),
    (MINI, "The last command <command>sleep 9</command> timed out and has been killed.", True),
    (MINI, "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.", True),
    (SWE, "OBSERVATION:\na.py\n(Open file: n/a)\n(Current directory: /)\nbash-$", False),
    (SWE, "a.py\n(Open file: n/a)\n(Current directory: /)\nbash-$", False),
    (SWE, "Your command ran successfully and did not produce any output.", False),
    (SWE, "The command 'sleep\n99' was cancelled because it took more than 30 seconds.", True),
    (TERMINUS, "New Terminal Output:\n$ ls", False),
    (TERMINUS, "Current Terminal Screen:\n$ ls", False),
    (TERMINUS, "Current terminal state:\n$\n\nAre you sure you want to mark", False),
    (TERMINUS, "Previous response had warnings:\nWARNINGS: -\n\nNew Terminal Output:\n", False),
    (TERMINUS, "Previous response had parsing errors:\nERROR: No valid JSON", True),
]


class TestObservations:
    @pytest.mark.parametrize(("protocol", "output", "error"), OUTPUTS)
    def test_what_answers_an_action_is_its_result(self, protocol, output, error):
        answer, result = read(protocol, assistant(ANSWERS[protocol]), user(output))
        (block,) = result.blocks
        assert block.kind is BlockKind.RESULT
        assert block.texts == (output,)
        assert block.error is error
        assert block.call_id == answer.blocks[-1].call_id
        assert not speaks_human(result)

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_person_who_answers_an_action_stays_a_person(self, protocol):
        said = user("Command not executed. The user rejected it: use `<output>` and bash-$ less")
        answer, heard = read(protocol, assistant(ANSWERS[protocol]), said)
        assert speaks_human(heard)
        assert heard.blocks[1:] == said.blocks
        # The action is settled all the same, and nothing is told of its output.
        assert heard.blocks[0] == Block(BlockKind.RESULT, call_id=answer.blocks[-1].call_id)

    @pytest.mark.parametrize(("protocol", "output", "_error"), OUTPUTS)
    def test_what_a_client_puts_behind_an_observation_is_a_persons(self, protocol, output, _error):
        merged = says(Role.USER, output, "And hurry up.")
        _, result = read(protocol, assistant(ANSWERS[protocol]), merged)
        assert [block.kind for block in result.blocks] == [BlockKind.RESULT, BlockKind.TEXT]
        assert result.blocks[0].texts == (output,)
        assert result.blocks[1].texts == ("And hurry up.",)
        assert speaks_human(result)

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_an_output_behind_an_answer_without_an_action_is_a_persons(self, protocol):
        output = next(o for p, o, error in OUTPUTS if p == protocol and not error)
        assert read(protocol, assistant("I am done."), user(output))[1] == user(output)

    @pytest.mark.parametrize(("protocol", "output", "_error"), OUTPUTS)
    def test_only_what_stands_right_behind_an_answer_is_a_result(self, protocol, output, _error):
        task, again = read(protocol, user("Do it."), user(output))
        assert (task, again) == (user("Do it."), user(output))
        assert read(protocol, user(output)) == [user(output)]

    def test_a_complaint_answers_no_call_where_there_is_none(self):
        complaint = "Please always provide EXACTLY ONE action in triple backticks."
        _, result = read(MINI, assistant("I am done."), user(complaint))
        assert result.blocks == (Block(BlockKind.RESULT, (complaint,), error=True),)

    def test_a_complaint_may_stand_behind_a_result(self):
        slip = user("Format error:\n\n<error>\nExpected exactly 1 action, found 0.\n</error>")
        *_, result = read(MINI, assistant(MINI_ANSWER), user(MINI_OUTPUT), slip)
        assert result.blocks[0].error
        assert not speaks_human(result)
        assert read(MINI, user("Do it."), slip)[1] == slip

    def test_a_picture_in_an_output_goes_with_the_result(self):
        picture = Block(BlockKind.MEDIA, name="image_url", pictures=((20, 10),))
        output = Message(Role.USER, (Block(BlockKind.TEXT, (MINI_OUTPUT,)), picture))
        _, result = read(MINI, assistant(MINI_ANSWER), output)
        (block,) = result.blocks
        assert (block.media, block.pictures) == (1, ((20, 10),))


class TestFolding:
    def test_a_conversation_of_plain_text_folds_like_one_of_calls(self):
        messages = [says(Role.SYSTEM, "You are an agent."), user("Fix the bug.")]
        for i in range(6):
            command = f"echo step-{i}"
            messages.append(assistant(f"I take step {i}.\n\n```bash\n{command}\n```"))
            messages.append(user(f"<returncode>0</returncode>\n<output>\nout-{i}\n</output>"))
        done = read(MINI, *messages)
        outlines = [
            outline(message, b"%d" % i, COMMON, human=speaks_human(message))
            for i, message in enumerate(done)
        ]
        transcript = read_transcript(outlines)
        assert [turn.closed for turn in transcript.turns] == [True] * 6
        assert transcript.spoken == ()
        source = Source(transcript, done.__getitem__, HarnessLexicon())
        steps = fold(source, 0, 3, PROFILES["default"], 10_000).steps
        made = [part.quotes[0].text for part in steps if part.kind is PartKind.CALL]
        assert made == ["echo step-0", "echo step-1", "echo step-2"]
        results = [part.quotes[0].text for part in steps if part.kind is PartKind.RESULT]
        assert [f"out-{i}" in text for i, text in enumerate(results)] == [True] * 3


SCRAPS = [
    *("```bash\n", "\n```", "```", "ls", "\n", "{", "}", '"', "\\", "é", " ", "bash-$"),
    *("<command>", "</command>", "<keystrokes>", "</keystrokes>", "<commands>", "<function=a>"),
    *("</function>", "<returncode>0</returncode>", "New Terminal Output:", '{"commands": []}'),
]
PIECES = st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join)


@given(st.sampled_from(sorted(PROTOCOLS)), st.lists(st.tuples(st.booleans(), PIECES), max_size=6))
def test_texts_are_literal_pieces_and_nothing_raises(protocol, told):
    messages = [assistant(text) if made else user(text) for made, text in told]
    for before, after in zip(messages, read(protocol, *messages), strict=True):
        assert after.role is before.role
        whole = "".join(text for block in before.blocks for text in block.texts)
        for block in after.blocks:
            assert all(text in whole for text in block.texts)
            assert all(str(value) in whole for value in (block.arguments or {}).values())


OPENINGS = (
    "```mswea_bash_command\n",
    "```bash \n",
    "<mswea_bash_command>",
    "<bash_code>",
    "<function=a>",
    "<function=a><parameter=b></function>",
    "<function=a>\n<parameter=b>",
    "<command>\n",
    "<commands",
    "<commands><keystrokes>",
    "<commands><keystrokes duration=1",
    "<commands><analysis>",
    "<commands><plan>",
    "<task_complete> ",
    "```\n",
    "```" + " " * 40,
    '{"commands": [',
    "{",
    "[" * 8,
    "\nbash-$" + " " * 40,
    "The command '",
    "Operation '",
)


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
@pytest.mark.parametrize("opening", OPENINGS)
def test_a_text_of_marks_that_nothing_closes_is_read_in_linear_time(protocol, opening):
    def seconds(length):
        text = opening * (length // len(opening))
        begin = time.process_time()
        read(protocol, assistant(text), user(text), assistant(text + "."), user(text + "."))
        return time.process_time() - begin

    def grows_like_the_square():
        short, long = (min(seconds(length) for _ in range(3)) for length in (10_000, 160_000))
        return long > 0.02 + 16 * 5 * short

    # A busy machine may spoil one comparison; what grows like the square spoils each.
    assert not all(grows_like_the_square() for _ in range(3))


def test_a_long_observation_may_be_cleared_in_a_replay_and_a_short_one_is_not_worth_it():
    asked = read_as(MINI, assistant("THOUGHT: a\n\n```bash\nls\n```"), None)
    template = "<returncode>0</returncode>\n<output>\n{}\n</output>"
    told = [user(template.format(words)) for words in ("a" * 900, "a")]
    clearable = [read_as(MINI, message, asked).clearable for message in told]
    assert clearable == [(0,), ()]
