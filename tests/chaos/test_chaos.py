"""Proxies that keep losing everything send the same bytes within an epoch, and valid ones."""

import asyncio
import sys

import pytest

from cuesta.testing.chaos import Chaos, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_bytes_whatever_is_lost(workers):
    conversations = 6 // workers
    report = asyncio.run(run(Chaos(seed=2, conversations=conversations, turns=30, workers=workers)))
    assert report.conversations == conversations
    assert report.losses.total() >= 6
    assert report.retries > 0
    assert report.cliffs > 5
    assert report.misses > 0, "no database was lost where it mattered: this proves nothing"
    assert report.violations == [], report.table()
