"""The strategies' names, for whoever reads options: `registry` holds the strategies themselves."""

NAMES = (
    "cliff", "keep_all", "sliding_window", "microcompaction", "summary", "micro_summary",
)  # fmt: skip
ASKING = frozenset({"summary", "micro_summary"})
"""Those that ask the model, which is billed, and keep what it wrote in memory."""
