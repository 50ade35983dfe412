"""Many tasks: where they run, what is kept of them, and when to stop. Nothing here prints."""
