"""The proof of one promise: the same bytes within an epoch, whatever is lost.

Conversations of all wires are played through real proxies that are killed at random moments and
whose databases are deleted, restored from older copies and damaged. A judge that shares no code
with the proxy compares everything that reaches the provider; `bytes_judge` says by which rules.
"""

from cuesta.testing.chaos.proxies import ChaosError
from cuesta.testing.chaos.report import Report
from cuesta.testing.chaos.stages import Chaos, run

__all__ = ["Chaos", "ChaosError", "Report", "run"]
