"""The mutants: each breaks one rule by a change of a line or two."""

from dataclasses import dataclass

ANTHROPIC, CHAT, RESPONSES = "anthropic", "openai_chat", "openai_responses"
INVARIANTS = "tests/exchange/test_invariants.py"


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        name: Its name.
        rule: The rule that it breaks.
        file: Where, below `src/cuesta`.
        old: The text to change, exactly once there.
        new: What stands there instead.
        wires: On which wires generated conversations are to notice it.
        tests: Which tests notice it otherwise.
    """

    name: str
    rule: str
    file: str
    old: str
    new: str
    wires: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


MUTANTS = (
    Mutant(
        "pair-split", "a call and its result never part",
        "exchange/view.py",
        "for i in range(turn.start, turn.stop):", "for i in range(turn.start + 1, turn.stop):",
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "pair-split-chat", "a call and its result never part",
        "dialects/openai_chat.py",
        'return [result_block(str(call or ""), parts)]',
        "return content_blocks(parts)",
        wires=(CHAT,), tests=(INVARIANTS, "tests/conformance", "tests/exchange", "tests/dialects"),
    ),
    Mutant(
        "last-message-dropped", "the last message is the client's",
        "exchange/view.py",
        "for i in range(turn.start, turn.stop):", "for i in range(turn.start, turn.stop - 1):",
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "thinking-kept", "thinking from behind another prefix is not sent to who checks it",
        "exchange/view.py",
        "cliff.strip and i < cliff.messages", "False",
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "thinking-half-cut", "thinking goes out of all messages that stood at the cliff",
        "exchange/view.py",
        "i < cliff.messages", "i < cliff.messages - 4",
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "emptied-message", "a message that loses all it held is left out",
        "dialects/anthropic.py",
        "        if not kept:\n            return None\n", "",
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "stranded-system", "a system message stands before an assistant's only",
        "strategies/cliff.py",
        "        if stranded is None:\n", "        if True:\n",
        wires=(ANTHROPIC,), tests=("tests/strategies", INVARIANTS),
    ),
    Mutant(
        "empty-text", "no empty text block",
        "dialects/anthropic.py",
        'block = {"type": "text", "text": text}', 'block = {"type": "text", "text": ""}',
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "marker-added", "no cache marker but the client's",
        "dialects/anthropic.py",
        'block = {"type": "text", "text": text}',
        'block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}',
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "digest-as-system", "text of ours never enters a system message",
        "dialects/anthropic.py",
        'dump({"role": "user", "content": [block]})',
        'dump({"role": "system", "content": [block]})',
        wires=(ANTHROPIC,),
    ),
    Mutant(
        "digest-as-assistant", "a digest is user text",
        "dialects/anthropic.py",
        'dump({"role": "user", "content": [block]})',
        'dump({"role": "assistant", "content": [block]})',
        wires=(ANTHROPIC,), tests=("tests/dialects", "tests/exchange"),
    ),
    Mutant(
        "two-users-chat", "no two user messages side by side where a template forbids it",
        "dialects/openai_chat.py",
        'return [join_object({**members, "content": behind})]',
        'return [message, dump({"role": "user", "content": text})]',
        wires=(CHAT,),
    ),
    Mutant(
        "two-systems-chat", "one system message where a template allows one",
        "dialects/openai_chat.py",
        'return [join_object({**members, "content": behind})]',
        'return [message, dump({"role": "system", "content": text})]',
        wires=(CHAT,),
    ),
    Mutant(
        "wrong-part-responses", "a user's parts are input parts",
        "dialects/openai_responses.py",
        'part = {"type": "input_text", "text": text}',
        'part = {"type": "output_text", "text": text}',
        wires=(RESPONSES,),
    ),
    Mutant(
        "reasoning-parted", "reasoning goes with what follows it",
        "dialects/openai_responses.py",
        "return Message(Role.ASSISTANT, (_reasoning(item),))",
        "return Message(Role.USER, (_reasoning(item),))",
        wires=(RESPONSES,),
    ),
    Mutant(
        "output-orphaned", "a call's output goes with its call",
        "dialects/openai_responses.py",
        "return Message(Role.USER, (_output(item),), pinned=kind in _PINNED)",
        "return Message(Role.USER, (_output(item),), pinned=True)",
        wires=(RESPONSES,),
    ),
    Mutant(
        "pinned-folded", "messages that change the tools are not folded away",
        "core/transcript.py",
        "pinned=any(o.pinned for o in span)", "pinned=False",
        wires=(ANTHROPIC, RESPONSES),
    ),
    Mutant(
        "barrier-crossed", "no cut crosses a provider's compaction",
        "core/transcript.py",
        "barrier=any(o.barrier for o in span)", "barrier=False",
        wires=(ANTHROPIC, RESPONSES), tests=("tests/core", "tests/strategies", "tests/exchange"),
    ),
    Mutant(
        "digest-of-digest", "a digest is built from the turns since the last cut",
        "strategies/cliff.py",
        "digest = case.render(previous, cut, threshold)", "digest = case.render(0, cut, threshold)",
        tests=("tests/strategies", INVARIANTS, "tests/exchange"),
    ),
    Mutant(
        "fixed-not-rounded", "a small change of the tools moves no cliff",
        "exchange/planner.py",
        "fixed=round_up(fixed) if policy.round_fixed else fixed", "fixed=fixed",
        tests=(INVARIANTS, "tests/exchange"),
    ),
    Mutant(
        "retry-differs", "a request sent again is answered by the same bytes",
        "strategies/cliff.py",
        "if case.answered and not self._why_external(cliffs, 0):", "if False:",
        tests=("tests/strategies", INVARIANTS, "tests/exchange"),
    ),
    Mutant(
        "no-gap", "after a cliff there is room to grow",
        "strategies/cliff.py",
        "return max(policy.gap_tokens, int(policy.gap_share * threshold))", "return 0",
        tests=("tests/strategies", INVARIANTS),
    ),
    Mutant(
        "chain-of-one", "a link names everything up to its message",
        "core/chain.py",
        "link = hashlib.sha256(link + digest).digest()", "link = hashlib.sha256(digest).digest()",
        tests=("tests/core/test_chain.py", "tests/exchange"),
    ),
    Mutant(
        "wires-share", "the same text over two wires is two conversations",
        "core/chain.py",
        "(_SEED, tenant.encode(), dialect.encode())", "(_SEED, tenant.encode())",
        tests=("tests/core/test_chain.py",),
    ),
    Mutant(
        "not-committed", "a cliff is written before its request leaves",
        "exchange/planner.py",
        "                yield Commit(links[-1], entry)\n                if cliff.external",
        "                if cliff.external",
        tests=(INVARIANTS, "tests/exchange"),
    ),
    Mutant(
        "grown-message-lost", "an epoch goes on when its last message grows",
        "core/chain.py",
        'return hashlib.sha256(b"cuesta-stem-1\\0" + links[-2]).digest()', 'return b""',
        tests=("tests/exchange/test_refusals.py",),
    ),
    Mutant(
        "fail-open-drops", "fail-open sends the client's new messages",
        "exchange/fallback.py",
        "request[where][epoch.messages :]", "request[where][epoch.messages + 1 :]",
        tests=("tests/conformance/test_faults.py", "tests/exchange"),
    ),
    Mutant(
        "not-literal", "a digest's pieces are literal",
        "core/excerpts.py",
        "    text = text.strip()\n    return text if",
        "    text = text.strip().title()\n    return text if",
        tests=("tests/core", INVARIANTS),
    ),
    Mutant(
        "human-forgotten", "what people said survives every cliff",
        "core/compact.py",
        "_earlier_human(source, previous) if policy.human_for_ever else []", "[]",
        tests=("tests/core", INVARIANTS),
    ),
    Mutant(
        "one-turn-too-many", "only turns with another one behind them are taken over",
        "exchange/reading.py",
        "turns = known.within(count) - 1", "turns = known.within(count)",
        tests=("tests/exchange/test_reading.py",),
    ),
    Mutant(
        "stale-entry", "the ledger holds the latest entry of a key",
        "store/sqlite.py",
        "                self._known[key] = entry\n\n    def record",
        "                self._known.setdefault(key, entry)\n\n    def record",
        tests=("tests/store",),
    ),
)  # fmt: skip
