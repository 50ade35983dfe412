"""When to drop and what to keep: one strategy a file, pure."""
