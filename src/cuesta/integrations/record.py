"""What a scaffold's own trajectory says of Cuesta: what was chosen, and where the cliffs fell."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cuesta.exchange.options import CompactionOptions
from cuesta.integrations.base import Adapter

_OF_A_CLIFF = ("cut", "border", "messages", "threshold", "digest", "digest_tokens", "external")


def record(adapter: Adapter, options: CompactionOptions) -> dict[str, Any]:
    """Return what a trajectory keeps of one conversation, as plain JSON.

    Args:
        adapter: What compacted it, and nothing else beside it.
        options: What the adapter was made with.

    Returns:
        `options`; `window` and `threshold` in tokens (0: not known, not fixed yet); `sent_tokens`,
        the estimate of the last request; `failures`, requests that went out as they came; `cliffs`,
        each as in the ledger (see `cuesta.core.ledger.Cliff`).
    """
    plan = adapter.plan
    kept = [asdict(cliff) for cliff in plan.cliffs] if plan else []
    return {
        "options": asdict(options),
        "window": plan.window if plan else 0,
        "threshold": plan.threshold if plan else options.threshold,
        "sent_tokens": plan.sent_tokens if plan else 0,
        "failures": adapter.failures,
        "cliffs": [{key: cliff[key] for key in _OF_A_CLIFF} for cliff in kept],
    }
