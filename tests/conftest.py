"""How much Hypothesis tries: `ci` is short and the default, `full` is for a long look.

Choose `full` with `CUESTA_HYPOTHESIS=full` or `--hypothesis-profile=full`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    max_examples=30,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("full", settings.get_profile("ci"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("CUESTA_HYPOTHESIS", "ci"))
