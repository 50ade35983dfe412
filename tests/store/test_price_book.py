import sys

import pytest

from cuesta.core.errors import ConfigError, UnknownModelError
from cuesta.core.prices import Price, PriceBook
from cuesta.store.prices import PAPER, WideBook, price_book

OWN = """
[models."kimi-k2.6"]
input = 1
output = 2.5
cache_read = 0.1

[models."My-Model"]
input = 3
output = 4

[models."claude-opus-9-9"]
input = 5
output = 6
cache_write_5m = 7
cache_write_1h = 8
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(OWN)
    return path


@pytest.fixture
def without_genai(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)


@pytest.mark.usefixtures("without_genai")
@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("glm-5.1", (1.4, 4.4, 0.26)),
        ("z-ai/GLM-5.1", (1.4, 4.4, 0.26)),
        ("moonshotai/kimi-k2.7", (0.95, 4, 0.19)),
        ("anthropic/claude-opus-5-5", (4, 20, 0.2)),
    ],
)
def test_the_papers_and_the_dated_prices_are_known_without_more(model, price):
    found = price_book().price(model)
    assert (found.input, found.output, found.cache_read) == price


def test_the_users_prices_come_first_and_what_they_leave_out_costs_as_much_as_input(own):
    book = price_book(own)
    assert book.price("kimi-k2.6") == Price(1, 2.5, 0.1, 1, 1)
    assert book.price("vendor/my-model") == Price(3, 4, 3, 3, 3)
    assert book.price("us.anthropic.claude-opus-9-9-20300101-v1:0") == Price(5, 6, 5, 7, 8)
    assert book.price("glm-5.1") == PAPER["glm-5.1"]


@pytest.mark.usefixtures("without_genai")
def test_an_unknown_model_is_an_error_that_names_the_way_to_add_it(own):
    with pytest.raises(UnknownModelError) as told:
        price_book(own).price("vendor/nonesuch")
    for piece in (str(own), '[models."vendor/nonesuch"]', "`input = `", "cuesta[lab]"):
        assert piece in str(told.value)


@pytest.mark.usefixtures("without_genai")
def test_a_model_that_is_free_is_known():
    assert price_book().price("glm-4.7-flash") == Price(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models = 3", "nothing else"),
        ("[prices]\ninput = 1", "nothing else"),
        ('[models."a"]\ninput = 1', "`output` must be a number"),
        ('[models."a"]\ninput = true\noutput = 1', "`input` must be a number"),
        ('[models."a"]\ninput = -1\noutput = 1', "`input` must be 0 or more"),
        ('[models."a"]\ninput = nan\noutput = 1', "`input` must be 0 or more"),
        ('[models."a"]\ninput = inf\noutput = 1', "`input` must be 0 or more"),
        ('[models."a"]\ninput = 1\noutput = 1\ncached = 1', "unknown key `cached`"),
        ("[models]\na = 1", "must be a table"),
        ("[models", "prices.toml"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(tmp_path, text, words):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"prices\.toml") as told:
        price_book(path)
    assert words in str(told.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        price_book(tmp_path / "nowhere.toml")


def test_genai_prices_knows_what_the_tables_do_not_and_agrees_where_both_do():
    pytest.importorskip("genai_prices", reason="genai-prices is not installed (cuesta[lab])")
    book = price_book()
    with pytest.raises(UnknownModelError):
        PriceBook().price("gemini-3-pro-preview")
    assert book.price("google/gemini-3-pro-preview") == Price(2, 12, 0.2, 2, 2)
    assert book.price("gpt-5.5").input == 5, "the base of its tiers"
    for model in ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"):
        assert WideBook({}).price(model) == PriceBook().price(model)


def test_genai_prices_is_not_loaded_for_models_that_are_known(monkeypatch):
    monkeypatch.delitem(sys.modules, "genai_prices", raising=False)
    price_book().price("claude-opus-5-5")
    assert "genai_prices" not in sys.modules
