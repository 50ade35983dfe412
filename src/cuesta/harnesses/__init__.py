"""One file an agent program: how to launch it through the proxy."""
