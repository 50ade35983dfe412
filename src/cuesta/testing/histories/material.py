"""What conversations are made of: prose, code, listings, foreign scripts, small pictures."""

from __future__ import annotations

import base64
import struct
import zlib
from functools import cache
from random import Random

from cuesta.testing.histories.features import Dice, Feature
from cuesta.testing.histories.style import Block

_POOL = 120_000
_PICTURES = 12
_VOCABULARY = """
the a of to and in is that it for on with as by this be at from or an not are was if when
then cache prefix token request answer turn message tool result block file module test
failure stack trace branch commit merge index query schema worker queue thread lock retry
timeout socket parser encoder signature border window budget threshold snapshot replay
driver checks writes reads keeps drops moves folds splits joins fails passes returns
raises before after between inside without
"""
_WORDS = _VOCABULARY.split()
_SCRIPTS = (
    "日本語の文章を少し書きます。",
    "한국어 문장도 섞입니다. ",
    "中文内容需要按字符计算。",
    "Ελληνικά και кириллица, ",
    "👩\u200d👩\u200d👧🚀🏳\ufe0f\u200d🌈🧪🇯🇵🇩🇪",
    "e\u0301a\u0308n\u0303o\u0302 ",
    "𠮷野家 \U0001d518\U0001d52b ",
    "नमस्ते दुनिया ",
    "שלום עולם ",
    "\u2028zero\u200bwidth ",
)
_SENTENCE_ENDS = (".", ".", ".", "?", ":\n", "\n\n")
_LINES = (
    "def {0}_{1}(self, {2}: int) -> str:",
    '    return f"{{{0}}}/{1}"',
    "{3:>6}\t    {0} = {1}({2})",
    "{3} WARN {0}.{1}: {2} after {3}ms",
    "-rw-r--r-- 1 dev dev {3} Nov 30 {0}/{1}.{2}",
    "+    {0}.{1}({2}=[{3}])",
    "-    {0}.{1}()",
    "\x1b[31mFAILED\x1b[0m tests/{0}.py::{1} - {2}",
    '{{"{0}": {3}, "{1}": "{2}"}}',
    "C:\\{0}\\{1}.txt\t{2}",
    "// {0} {1} {2} \\ {3}",
    "",
)


class Material:
    """Texts and pictures for one history.

    Attributes:
        scale: Multiplies the length of what tools return.
        tiny: While set, every text is a few words.
    """

    def __init__(self, dice: Dice, scale: float) -> None:
        self._dice = dice
        self._rng = dice.rng
        self.scale = scale
        self.tiny = False

    def prose(self, chars: int) -> str:
        """Return about `chars` characters of sentences, never empty, never only whitespace."""
        return self._foreign(self._slice(_prose_pool(), chars))

    def code(self, chars: int) -> str:
        """Return about `chars` characters of what tools print: code, logs, listings, diffs."""
        return self._foreign(self._slice(_code_pool(), chars))

    def run(self, chars: int) -> str:
        """Return `chars` characters of base64 without a break, as in a data URL inside text."""
        start = self._rng.randrange(_POOL)
        return (_base64_pool()[start:] * (chars // 1000 + 1))[:chars]

    def path(self) -> str:
        """Return a file's path."""
        rng = self._rng
        names = rng.choices(_WORDS, k=rng.randint(1, 3))
        return f"/srv/project/{'/'.join(names)}_{rng.randrange(1000)}.py"

    def picture(self) -> Block:
        """Return an image block with a small valid PNG."""
        data = _png(self._rng.randrange(_PICTURES))
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        }

    def name(self, prefix: str) -> str:
        """Return an identifier that no other block has."""
        return f"{prefix}_{self._rng.getrandbits(96):024x}"

    def _slice(self, pool: str, chars: int) -> str:
        wanted = min(chars, 24) if self.tiny else chars
        start = self._rng.randrange(len(pool) - _POOL // 2)
        text = pool[start : start + wanted].strip()
        return text or "ok"

    def _foreign(self, text: str) -> str:
        if not self._dice.happens(Feature.UNICODE, 0.25):
            return text
        start = self._rng.randrange(2_000)
        piece = _scripts_pool()[
            start : start + self._rng.randint(1, 6 if self.tiny else 300)
        ].strip()
        middle = self._rng.randrange(len(text) + 1)
        return f"{text[:middle]}{piece}{text[middle:]}"


@cache
def _prose_pool() -> str:
    rng = Random(1)  # noqa: S311 - reproducible, not secret
    sentences: list[str] = []
    length = 0
    while length < _POOL:
        words = rng.choices(_WORDS, k=rng.randint(4, 18))
        sentences.append(" ".join(words).capitalize() + rng.choice(_SENTENCE_ENDS))
        length += len(sentences[-1]) + 1
    return " ".join(sentences)


@cache
def _code_pool() -> str:
    rng = Random(2)  # noqa: S311 - reproducible, not secret
    lines: list[str] = []
    length = 0
    while length < _POOL:
        line = rng.choice(_LINES).format(*rng.choices(_WORDS, k=3), rng.randrange(10**5))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


@cache
def _scripts_pool() -> str:
    rng = Random(3)  # noqa: S311 - reproducible, not secret
    return "".join(rng.choices(_SCRIPTS, k=400))


@cache
def _base64_pool() -> str:
    return base64.b64encode(Random(4).randbytes(_POOL)).decode()  # noqa: S311 - not secret


@cache
def _png(number: int) -> str:
    rng = Random(number)  # noqa: S311 - reproducible, not secret
    width, height = rng.randint(1, 24), rng.randint(1, 24)
    rows = b"".join(b"\x00" + rng.randbytes(3 * width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    packed = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + packed).decode()
