import pytest
from rich.console import Console

from cuesta.cli.bill import bill_of, bill_table, cliffs_of, saving_of, short_tokens
from cuesta.core.prices import Price, PriceBook
from cuesta.core.usage import Usage

PRICE = Price(input=4, output=20, cache_read=0.2, cache_write_5m=5, cache_write_1h=8)
STRAIGHT = (
    Usage(input=100, cache_write_5m=10_000, output=50),
    Usage(cache_read=10_000, cache_write_5m=20_000, output=100),
    Usage(cache_read=30_000, cache_write_1h=5_000, output=150),
)
THROUGH = (
    Usage(cache_write_5m=10_000, output=50),
    Usage(cache_read=5_000, cache_write_5m=2_000, output=100),
    Usage(cache_read=7_000, cache_write_5m=1_000, output=150),
)


def test_bill_is_the_sum_by_hand():
    bill = bill_of("straight", STRAIGHT, PRICE)
    assert (bill.calls, bill.cliffs) == (3, 0)
    assert bill.peak == 35_000
    assert bill.mean == (10_100 + 30_000 + 35_000) // 3
    assert bill.usage == Usage(100, 40_000, 30_000, 5_000, 300)
    # 100 at 4, 40,000 at 0.2, 30,000 at 5, 5,000 at 8, 300 at 20 dollars a million
    assert bill.cost == pytest.approx(0.0004 + 0.008 + 0.15 + 0.04 + 0.006)


def test_saving_is_the_part_not_spent():
    one, two = bill_of("a", STRAIGHT, PRICE), bill_of("b", THROUGH, PRICE)
    # 12,000 at 0.2, 13,000 at 5, 300 at 20 dollars a million
    assert two.cost == pytest.approx(0.0024 + 0.065 + 0.006)
    assert two.cliffs == 1
    assert saving_of(one, two) == pytest.approx(1 - 0.0734 / 0.2044)
    assert saving_of(two, one) < 0


def test_prices_of_the_book_are_used():
    bill = bill_of("a", [Usage(output=1_000_000)], PriceBook().price("claude-opus-5-5"))
    assert bill.cost == 20


def test_no_call_is_no_bill():
    with pytest.raises(ValueError, match="call"):
        bill_of("a", [], PRICE)


@pytest.mark.parametrize(
    ("prompts", "cliffs"),
    [
        ([], ()),
        ([10], ()),
        ([10, 20, 30], ()),
        ([100, 30, 60, 90, 20, 25], (1, 4)),
        ([100, 95, 91], ()),
        ([100, 90], (1,)),
    ],
)
def test_a_cliff_is_a_drop_by_a_tenth(prompts, cliffs):
    assert cliffs_of(prompts) == cliffs


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (950, "950"),
        (1_000, "1K"),
        (9_540, "9.5K"),
        (50_000, "50K"),
        (99_960, "100K"),
        (142_308, "142K"),
        (999_800, "1M"),
        (5_078_305, "5.1M"),
    ],
)
def test_short_tokens(tokens, text):
    assert short_tokens(tokens) == text


def render():
    console = Console(width=80, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        one, two = bill_of("straight", STRAIGHT, PRICE), bill_of("through Cuesta", THROUGH, PRICE)
        console.print(bill_table(one, two))
    return capture.get()


def test_table_fits_80_columns_and_shows_all_figures():
    text = render()
    assert max(map(len, text.splitlines())) <= 80
    rows = {line[:26].strip(): line[26:].split() for line in text.splitlines() if line.strip()}
    assert rows["calls"] == ["3", "3"]
    assert rows["cliffs"] == ["0", "1"]
    assert rows["largest prompt, tokens"] == ["35,000", "10,000", "-71", "%"]
    assert rows["read from the cache"] == ["40,000", "12,000", "-70", "%"]
    assert rows["written to the cache"] == ["35,000", "13,000", "-63", "%"]
    assert rows["prompt beside the cache"] == ["100", "0", "-100", "%"]
    assert rows["output, thinking included"] == ["300", "300"]
    assert rows["cost"] == ["$0.20", "$0.07", "-64", "%"]


def test_bill_as_plain_values():
    told = bill_of("straight", STRAIGHT, PRICE).to_dict()
    assert told["usage"]["cache_write_1h"] == 5_000
    assert told["peak"] == 35_000
