"""One file a verb; the only room that prints."""
