"""Which strings a probe asks for, and where they stand."""

import random
import string

from cuesta.core.transcript import Block, BlockKind, Message, Role
from cuesta.lab.words import Concordance, Kind, stands, texts_of, words


def test_strings_are_told_by_their_form():
    found = words('grep -n "first line" src/app/run_all.py && sed -n 120,4567p load_model 99 cat')
    assert found == {
        "first line": Kind.PHRASE,
        "src/app/run_all.py": Kind.PATH,
        "120": Kind.NUMBER,
        "load_model": Kind.IDENTIFIER,
    }


def test_what_may_be_prose_is_counted_apart():
    assert words("confirmed Settings getColor") == {
        "confirmed": Kind.WORD,
        "Settings": Kind.WORD,
        "getColor": Kind.IDENTIFIER,
    }
    assert words("sevenly short_1") == {}


def test_a_sentence_ends_without_taking_the_path_along():
    assert words("See /etc/hosts. Then ./a/b, or c/d-") == {
        "/etc/hosts": Kind.PATH,
        "./a/b": Kind.PATH,
        "c/d": Kind.PATH,
    }


def test_a_string_stands_only_whole():
    assert stands("run_model", "a run_models b") < 0
    assert stands("run_model", "xrun_model run_model") == 11
    assert stands("123", "4123 1234 123") == 10
    assert stands("src/run.py", "at /repo/src/run.py:7") == 9


def test_a_blank_that_json_wrote_is_one():
    assert stands("load_data", r"import\nload_data") >= 0
    assert stands("load_data", r"import\xload_data") < 0


def test_hostile_texts_take_linear_time_and_raise_nothing():
    for text in ("/" * 50_000, "a/" * 30_000, '"' * 50_000, "'a " * 30_000, "\ud800/\0x" * 9_999):
        assert isinstance(words(text), dict)
    assert stands("aaaaaaaa", "a" * 5_000) < 0
    assert words("") == {}


def test_places_agree_with_a_plain_search():
    draw = random.Random(3)
    alphabet = string.ascii_lowercase[:3] + "_/ 1\n"
    for _ in range(50):
        texts = ["".join(draw.choices(alphabet, k=60)) for _ in range(8)]
        messages = [Message(Role.USER, (Block(BlockKind.TEXT, (text,)),)) for text in texts]
        concordance = Concordance(messages)
        for word in ("a", "ab", "a_b", "1", "a/b"):
            plain = tuple(
                (i, BlockKind.TEXT) for i, text in enumerate(texts) if stands(word, text) >= 0
            )
            assert concordance.places(word) == plain


def test_a_call_says_its_name_and_the_leaves_of_its_arguments():
    call = Block(
        BlockKind.CALL,
        name="edit",
        arguments={"path": "a/b", "edits": [{"old": "x", "n": 5}, None]},
    )
    assert list(texts_of(call)) == ["edit", "a/b", "x", "5"]
