"""A provider that enforces its wire rules, keeps a real prefix cache and bills for it."""
