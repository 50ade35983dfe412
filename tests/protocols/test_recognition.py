"""A table decides which text protocol is spoken, from a conversation's beginning alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.core.transcript import Block, BlockKind, Message, Role
from cuesta.protocols.recognition import EXCHANGES, HARNESSES, Speech, recognise
from cuesta.protocols.text_actions import PROTOCOLS

MINI, SWE, TERMINUS = "mini-swe-agent-1", "swe-agent", "terminus-2"
DEMANDS = {
    MINI: "Your response must contain exactly ONE bash code block.\n```bash\ncommand\n```",
    SWE: (
        "You need to format your output using two fields; discussion and command.\nYou should "
        "always include _one_ discussion and _one_ command field\nas follows."
    ),
    TERMINUS: (
        'Format your response as JSON with the following structure:\n{"keystrokes": "ls\\n"}'
    ),
}
ACTIONS = {
    MINI: "THOUGHT: a\n\n```bash\nls\n```",
    SWE: "I look.\n```\nls\n```",
    TERMINUS: json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "ls\n"}]}),
}
OUTPUTS = {
    MINI: "<returncode>0</returncode>\n<output>\na\n</output>",
    SWE: "a.py\n(Current directory: /)\nbash-$",
    TERMINUS: "New Terminal Output:\n$ ls",
}
COMPLAINTS = {
    MINI: "Please always provide EXACTLY ONE action in triple backticks, found 0 actions.",
    SWE: "Your output was not formatted correctly. Again.",
    TERMINUS: "Previous response had parsing errors:\nERROR: No JSON",
}


def says(role, *texts):
    return Message(role, tuple(Block(BlockKind.TEXT, (text,)) for text in texts))


def user(*texts):
    return says(Role.USER, *texts)


def made(text):
    return says(Role.ASSISTANT, text)


def talk(name, exchanges=EXCHANGES, behind=True):
    """A conversation's beginning; `behind`: one more answer behind the exchanges."""
    head = [says(Role.SYSTEM, DEMANDS[name]), user("Fix it.")]
    pairs = [m for _ in range(exchanges) for m in (made(ACTIONS[name]), user(OUTPUTS[name]))]
    return [*head, *pairs, *([made(ACTIONS[name])] * behind)]


class TestRows:
    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_each_row_is_recognised_behind_three_exchanges(self, name):
        speech = recognise("", talk(name))
        assert (speech.protocol, speech.open) == (name, False)

    @pytest.mark.parametrize("name", PROTOCOLS)
    @pytest.mark.parametrize(
        ("exchanges", "behind"), [(0, False), (0, True), (2, True), (3, False)]
    )
    def test_until_then_it_is_open(self, name, exchanges, behind):
        speech = recognise("", talk(name, exchanges, behind))
        assert (speech.protocol, speech.open) == ("", True)

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_the_demand_may_stand_outside_the_messages_or_with_the_task(self, name):
        outside = recognise(DEMANDS[name], talk(name)[1:])
        inside = recognise("", [user(DEMANDS[name], "Fix it."), *talk(name)[2:]])
        assert outside.protocol == inside.protocol == name

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_a_slip_that_the_harness_complains_of_is_its_own_as_well(self, name):
        slip = [made("Let me think."), user(COMPLAINTS[name])]
        assert recognise("", [*talk(name)[:2], *slip, *talk(name)[2:]]).protocol == name

    def test_terminus_in_xml(self):
        demand = (
            "Format your response as XML with the following structure:\n"
            '<keystrokes duration="0.1">ls\n</keystrokes>'
        )
        action = "<response><commands><keystrokes>ls\n</keystrokes></commands></response>"
        pairs = [made(action), user(OUTPUTS[TERMINUS])] * 3
        assert recognise("", [user(demand), *pairs, made(action)]).protocol == TERMINUS

    def test_no_more_is_read_than_the_decision_needs(self):
        messages = iter([*talk(MINI), user("one"), user("two")])
        speech = recognise("", messages)
        assert list(messages) == [user("one"), user("two")]
        assert speech.rests_on == len(talk(MINI))

    def test_what_may_be_said_outright(self):
        assert HARNESSES == ("", MINI, SWE, TERMINUS, "none")


class TestNearMisses:
    def none(self, messages, instructions=""):
        speech = recognise(instructions, messages)
        assert (speech.protocol, speech.open) == ("", False)

    def test_a_person_who_pastes_a_bash_block(self):
        pasted = user("What does this do?\n```bash\nls\n```")
        reply = made("It lists files:\n```bash\nls -la\n```\nTry it.")
        self.none([pasted])
        self.none([pasted, reply, user("<returncode>0</returncode>")] * 5)

    def test_a_chat_about_terminus(self):
        """The person quotes the prompt; the model explains, and the person goes on asking."""
        quoted = user(f"Why does Terminus-2 say this?\n{DEMANDS[TERMINUS]}")
        assert recognise("", [quoted]).open
        self.none([quoted, made("It parses the answer."), user("And what comes then?")])
        example = made(f"You would answer so: {ACTIONS[TERMINUS]}")
        self.none([quoted, example, user("I see. Is `New Terminal Output:` next?")])

    def test_aider(self):
        """It demands fenced edits of whole files, and people answer."""
        rules = says(Role.SYSTEM, "Answer with a fenced code block a file:\n```\npath\n```")
        turns = [user("Add a test."), made("test.py\n```\nassert True\n```")] * 5
        self.none([rules, *turns])

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_a_demand_alone(self, name):
        self.none([*talk(name, 0, behind=False), made("Hello."), user("Hi.")])

    @pytest.mark.parametrize("name", PROTOCOLS)
    @pytest.mark.parametrize("at", range(EXCHANGES))
    def test_a_person_answers_one_of_the_first_actions(self, name, at):
        messages = talk(name)
        messages[3 + 2 * at] = user("No, do not do that.")
        self.none(messages)

    @pytest.mark.parametrize("name", PROTOCOLS)
    @pytest.mark.parametrize("other", PROTOCOLS)
    def test_one_harness_in_anothers_words(self, name, other):
        if name != other:
            self.none([*talk(name)[:2], *talk(other)[2:]])

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_the_actions_alone(self, name):
        self.none([user("Fix it."), *talk(name)[2:]])

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_calls_of_the_wires_own(self, name):
        call = Block(BlockKind.CALL, name="bash", call_id="1", arguments={"command": "ls"})
        answer = Message(Role.ASSISTANT, (Block(BlockKind.TEXT, (ACTIONS[name],)), call))
        self.none([*talk(name)[:2], answer, user(OUTPUTS[name])])

    def test_a_demand_that_the_model_itself_makes(self):
        self.none([user("Write me a prompt."), made(DEMANDS[MINI]), *talk(MINI)[2:]])

    def test_nothing_at_all(self):
        self.none([])


@given(st.sampled_from(sorted(PROTOCOLS)), st.lists(st.text(max_size=9), max_size=6))
def test_what_comes_behind_changes_no_decision(name, texts):
    messages = talk(name)
    later = [m for text in texts for m in (user(text), made(text))]
    assert recognise("", [*messages, *later]) == recognise("", messages)


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_decision_is_never_taken_back(cut):
    """Open, and then decided: once for all."""
    one = recognise("", talk(MINI, 9)[:cut])
    assert one in (Speech("", open=True, rests_on=cut), Speech(MINI, rests_on=9))
