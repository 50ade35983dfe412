"""In-process adapters: one file a scaffold, each behind an extra of the same name."""
