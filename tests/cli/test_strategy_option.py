"""`--strategy` on the command line: what is taken, what is refused, and in which words."""

import pytest

from cuesta.cli import serve
from cuesta.core.errors import ConfigError
from cuesta.exchange.options import CompactionOptions
from cuesta.proxy.options import ProxyOptions
from cuesta.strategies.names import ASKING, NAMES
from cuesta.strategies.registry import STRATEGIES, strategy


def test_an_unknown_strategy_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError) as refused:
        serve.main(["--strategy", "forget"])
    assert all(name in str(refused.value) for name in STRATEGIES)
    with pytest.raises(ConfigError, match="unknown strategy `forget`"):
        strategy("forget")


@pytest.mark.parametrize("name", sorted(ASKING))
@pytest.mark.parametrize("flags", [["--workers", "2"], ["--record", "somewhere"]])
def test_what_a_summary_cannot_go_with_is_told_at_once(name, flags):
    with pytest.raises(ConfigError, match=f"{flags[0][2:]}: .*{name}"):
        serve.main(["--strategy", name, *flags])


def test_every_name_is_a_strategys():
    assert tuple(STRATEGIES) == NAMES


def test_the_others_go_with_all():
    for name in STRATEGIES.keys() - ASKING:
        options = ProxyOptions(workers=2, record="somewhere")
        serve.check_summaries(options, CompactionOptions(strategy=name))


def test_w_is_a_knob_of_the_policy():
    assert CompactionOptions(reclaim=700).policy().reclaim_tokens == 700
    with pytest.raises(ConfigError):
        CompactionOptions(reclaim=-1).policy()
