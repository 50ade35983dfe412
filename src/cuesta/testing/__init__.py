"""Public fakes: the provider simulator, the scripted agent, builders and generators."""
