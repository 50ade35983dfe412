"""Reading the sessions that agent programs save: one file a format, recognised by content."""
