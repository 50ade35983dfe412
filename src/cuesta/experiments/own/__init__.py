"""Six small tasks of our own: git repositories made by code, each with a bug and a test for it."""
