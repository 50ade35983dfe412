"""One file a scaffold: how a run of it is started, what it needs, how its result is read."""
