"""Measures Cuesta beside nginx, cliffcompaction and no proxy at all, in one run.

`python -m benchmarks` runs everything (`make bench`), `python -m benchmarks.gate` guards the CPU
that a request costs (`make bench-gate`), `python -m benchmarks.flames` shows where it goes
(`make profile`).
"""
