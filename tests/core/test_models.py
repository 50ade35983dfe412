import pytest

from cuesta.core.models import checks_prefixes, read_model, window_of

_NAMES = [
    ("claude-opus-5-5", "opus", (5, 5), "claude-opus-5-5"),
    ("claude-opus-5.5", "opus", (5, 5), "claude-opus-5-5"),
    ("claude-opus-5", "opus", (5, 0), "claude-opus-5"),
    ("claude-opus-5[1m]", "opus", (5, 0), "claude-opus-5"),
    ("claude-haiku-4-5-20251001", "haiku", (4, 5), "claude-haiku-4-5"),
    ("claude-opus-4-20250514", "opus", (4, 0), "claude-opus-4"),
    ("claude-sonnet-4-5@20250929", "sonnet", (4, 5), "claude-sonnet-4-5"),
    ("claude-opus-4@20250514", "opus", (4, 0), "claude-opus-4"),
    ("anthropic.claude-opus-4-1-20250805-v1:0", "opus", (4, 1), "claude-opus-4-1"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet", (4, 5), "claude-sonnet-4-5"),
    ("us.anthropic.claude-sonnet-4-20250514-v1:0", "sonnet", (4, 0), "claude-sonnet-4"),
    ("global.anthropic.claude-opus-5-5", "opus", (5, 5), "claude-opus-5-5"),
    (
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-5-5-v1:0",
        "haiku",
        (5, 5),
        "claude-haiku-5-5",
    ),
    ("anthropic/claude-sonnet-5.5", "sonnet", (5, 5), "claude-sonnet-5-5"),
    ("anthropic/claude-4.5-sonnet-20250929", "sonnet", (4, 5), "claude-sonnet-4-5"),
    ("claude-3-7-sonnet-latest", "sonnet", (3, 7), "claude-sonnet-3-7"),
    ("claude-3-5-haiku-20241022", "haiku", (3, 5), "claude-haiku-3-5"),
    ("claude-3-opus-20240229", "opus", (3, 0), "claude-opus-3"),
    ("anthropic.claude-3-5-sonnet-20241022-v2:0", "sonnet", (3, 5), "claude-sonnet-3-5"),
    ("claude-sonnet-10", "sonnet", (10, 0), "claude-sonnet-10"),
    ("claude-poem-6-12", "poem", (6, 12), "claude-poem-6-12"),
]


@pytest.mark.parametrize(("name", "family", "generation", "key"), _NAMES)
def test_a_name_is_read_on_every_platform(name, family, generation, key):
    model = read_model(name)
    assert model.claude
    assert (model.family, model.generation, model.key) == (family, generation, key)


@pytest.mark.parametrize("name", ["", "gpt-5.5", "kimi-k2.6", "claude", "claude-2.1", "glm-5-1"])
def test_any_other_name_is_its_own_family(name: str):
    model = read_model(name)
    assert not model.claude
    assert model.key == name
    assert window_of(model) is None
    assert not checks_prefixes(model)


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("claude-opus-5-5", True),
        ("claude-opus-6", True),
        ("claude-opus-5", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-5", False),
        ("claude-sonnet-5-5-20261101", True),
        ("claude-haiku-5-5", True),
        ("claude-haiku-4-5", False),
        ("claude-fable-5", False),
        ("claude-fable-5-1", True),
        ("claude-mythos-5-2", True),
        ("us.anthropic.claude-opus-5-5-v1:0", True),
        ("claude-poem-5-1", True),
        ("claude-poem-4-9", False),
        ("claude-3-7-sonnet-latest", False),
    ],
)
def test_prefix_checks_begin_at_a_floor_not_on_a_list(name: str, checks: bool):
    assert checks_prefixes(read_model(name)) is checks


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("claude-haiku-4-5", 200_000),
        ("claude-sonnet-4-5", 200_000),
        ("claude-opus-4-5", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-opus-5", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("claude-sonnet-5-5", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("claude-3-opus-20240229", 200_000),
        ("claude-poem-7", 1_000_000),
    ],
)
def test_windows(name: str, window: int):
    assert window_of(read_model(name)) == window
