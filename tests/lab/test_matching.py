"""Thresholds of the same mean peak are found, in few passes."""

import pytest

from cuesta.lab.matching import match
from cuesta.lab.records import Variant

_CLIFF = Variant("cliff", 0, "default")
_MICRO = Variant("microcompaction", 0, "default")


class Sessions:
    """Contexts that peak at so much above the threshold, but never above what there is."""

    def __init__(self, above=3_000, most=90_000):
        self.passes = []
        self._above, self._most = above, most

    def peaks(self, variants):
        self.passes.append(len(variants))
        assert len(set(variants)) == len(variants)
        return {v: min(float(self._most), v.at * 1.1 + self._above) for v in variants}


@pytest.mark.parametrize("target", [8_000, 20_000, 32_000, 60_000, 85_000])
def test_the_mean_peak_is_met(target):
    sessions = Sessions()
    found = match([_CLIFF, _MICRO], target, sessions.peaks)
    assert [one.strategy for one in found] == ["cliff", "microcompaction"]
    assert found[0].reclaim == 0
    assert found[1].threshold == 0
    for peak in sessions.peaks(found).values():
        assert peak == pytest.approx(target, rel=0.02)


def test_all_strategies_share_three_passes():
    sessions = Sessions()
    match([_CLIFF, _MICRO], 30_000, sessions.peaks)
    assert len(sessions.passes) == 3
    assert max(sessions.passes) <= 16


def test_a_target_out_of_reach_gets_what_comes_nearest():
    sessions = Sessions()
    low, high = (match([_CLIFF], target, sessions.peaks)[0] for target in (1_000, 500_000))
    assert low.threshold == 2_000
    assert sessions.peaks([high])[high] == 90_000
