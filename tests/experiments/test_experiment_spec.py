"""Specs: what they say is read, and every mistake is named with its place and a way out."""

from __future__ import annotations

import pytest
from experiment_support import OWN, own

from cuesta.core.errors import ConfigError
from cuesta.experiments.spec import load, parse, shipped

MISTAKES = [
    ("strategies", '["clif"]', "matrix 1, key `strategies`: unknown `clif`; did you mean `cliff`?"),
    ("scaffold", '"openhands"', "unknown `openhands` on own; choose one of own"),
    ("task-set", '"swe-bench"', "did you mean `swe-bench-verified`?"),
    ("models", "[]", "key `models`: expected at least one"),
    ("models", '"claude"', "expected a list of texts, not 'claude'"),
    ("models", '["house-model"]', 'add [models."house-model"] with `base-url'),
    ("thresholds", "[10]", "key `thresholds`: expected 0 or at least 1000, not 10"),
    ("thresholds", "[16_000, 16_000]", "16000 stands twice"),
    ("thresholds", "[true]", "expected a list of whole numbers"),
    ("seeds", "0", "expected how many there are, or a list of them, not 0"),
    ("seeds", "[-1]", "expected how many there are"),
    ("tasks", '["cents"]', "own has no task `cents`"),
    ("window", "12", "key `window`: expected at least 4000, not 12"),
    ("steps", "0", "limits, key `steps`: expected at least 1, not 0"),
    ("minutes", '"long"', "limits, key `minutes`: expected a number from 0 on, not 'long'"),
    ('[paper]\n"a b 0"', '"much"', "paper, key `a b 0`: expected a number from 0 on"),
    ("tresholds", "[1]", "key `tresholds`: no such key; did you mean `thresholds`?"),
    ("strategies", '["native"]', "own has no compaction of its own"),
]


@pytest.mark.parametrize(("key", "value", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_place_and_a_way_out(key, value, said):
    with pytest.raises(ConfigError) as error:
        own(**{key.replace("-", "_"): value})
    assert said in str(error.value)
    assert str(error.value).startswith("a test's spec")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "add a table [[matrix]]"),
        ("matrix = 1", "expected tables, each under [[matrix]]"),
        ("[[matrix]\n", "is not valid TOML"),
        ("[[matrix]]\n", "key `task-set`: is missing; choose one of own"),
        ('limits = "none"\n' + OWN.replace("[limits]", "[other]"), "no such key"),
    ],
)
def test_a_broken_file_is_told(text, said):
    with pytest.raises(ConfigError, match="bad") as error:
        parse(text, "bad.toml", "bad")
    assert said in str(error.value)


def test_a_name_that_is_nearly_one_is_guessed():
    with pytest.raises(ConfigError, match="did you mean `terminus-2`"):
        load("terminus2")


def test_a_block_is_the_product_of_its_settings_seed_by_seed():
    spec = own(
        strategies='["cliff", "keep_all"]', thresholds="[16_000, 8_000]", seeds="2",
        tasks='["cent-rounder", "slug-maker"]',
    )  # fmt: skip
    cells = list(spec.blocks[0].cells(spec.blocks[0].tasks))
    assert len(cells) == 2 * 3 * 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.seed for cell in cells] == [0] * 6 + [1] * 6
    assert {(c.strategy, c.threshold) for c in cells} == {
        ("cliff", 16_000), ("cliff", 8_000), ("keep_all", 0),
    }  # fmt: skip


def test_limits_of_money_and_time_change_no_hash_and_all_that_decides_results_does():
    base = own()
    for key, value in (("money", "5"), ("hours", "2"), ("parallel", "7")):
        spec = parse(OWN.replace("steps", f"{key} = {value}\nsteps"), "a", "b")
        assert spec.hash == base.hash
    changes = (
        {"steps": "31"}, {"minutes": "6"}, {"window": "24_000"}, {"profile": '"default"'},
        {"seeds": "2"}, {"strategies": '["cliff"]'}, {"reclaim": "6_000"},
    )  # fmt: skip
    hashes = {own(**change).hash for change in changes}
    assert len(hashes | {base.hash}) == len(changes) + 1


def test_runs_are_comparable_across_strategies_and_not_across_windows_or_step_limits():
    base, model = own(), "claude-opus-5-5"
    basis = base.basis(base.blocks[0], model)
    for change in ({"strategies": '["cliff"]'}, {"seeds": "3"}, {"thresholds": "[8_000]"}):
        spec = own(**change)
        assert spec.basis(spec.blocks[0], model) == basis
    for change in ({"steps": "31"}, {"window": "24_000"}, {"minutes": "9"}):
        spec = own(**change)
        assert spec.basis(spec.blocks[0], model) != basis


def test_a_model_of_ones_own_is_asked_where_the_spec_says():
    text = OWN.replace("claude-opus-5-5", "house") + (
        '[models.house]\nbase-url = "http://127.0.0.1:8000/v1"\nwindow = 32_000\n'
    )
    endpoint = parse(text, "a", "b").endpoints["house"]
    assert (endpoint.base_url, endpoint.key, endpoint.window) == (
        "http://127.0.0.1:8000/v1", "", 32_000,
    )  # fmt: skip


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_spec_is_read_and_says_what_it_shows(name):
    spec = load(name)
    assert spec.name == name
    assert spec.about
    settings = {f"{m} {s} {t}" for block in spec.blocks for m, s, t in block.settings()}
    assert set(spec.paper) <= settings
