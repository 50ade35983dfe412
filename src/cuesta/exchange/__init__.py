"""The state machine of one request: events in, commands out; pure."""
