import pytest

from cuesta.core.errors import UnknownModelError
from cuesta.core.prices import Price, PriceBook
from cuesta.core.usage import Usage

_MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-opus-5-5", Usage(input=_MILLION), 4.0),
        ("claude-opus-5-5", Usage(cache_read=_MILLION), 0.2),
        ("claude-opus-5-5", Usage(cache_write_5m=_MILLION), 5.0),
        ("claude-opus-5-5", Usage(cache_write_1h=_MILLION), 8.0),
        ("claude-opus-5-5", Usage(output=_MILLION), 20.0),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Usage(input=_MILLION), 3.0),
        ("claude-haiku-4-5@20251001", Usage(input=1000, output=200), 0.002),
        (
            "claude-sonnet-5-5",
            Usage(input=10, cache_read=90_000, cache_write_5m=2_000, output=500),
            0.01902,
        ),
        ("claude-opus-5", Usage(), 0.0),
    ],
)
def test_costs_by_hand(model: str, usage: Usage, dollars: float):
    assert PriceBook().price(model).cost(usage) == pytest.approx(dollars, rel=1e-12)


@pytest.mark.parametrize("model", ["", "gpt-5.5", "claude-3-opus-20240229", "claude-opus-9-9"])
def test_an_unknown_model_is_an_error_and_never_free(model: str):
    with pytest.raises(UnknownModelError, match="no price is known"):
        PriceBook().price(model)


def test_a_table_of_ones_own_replaces_the_dated_one():
    book = PriceBook({"kimi-k2.6": Price(0.95, 4, 0.16, 0.95, 0.95)})
    assert book.price("kimi-k2.6").output == 4
    with pytest.raises(UnknownModelError):
        book.price("claude-opus-5-5")


def test_usage_adds_up_class_by_class_and_the_prompt_is_the_sum_of_its_classes():
    total = Usage(1, 20, 300, 4000, 5) + Usage(5, 10, 100, 1000, 2)
    assert total == Usage(6, 30, 400, 5000, 7)
    assert total.prompt == 5436
    assert total.cache_write == 5400
