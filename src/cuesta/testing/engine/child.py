"""The server's own process: `python -m cuesta.testing.engine.child MODEL CONTEXT`.

Says its port, then answers each line on standard input with the CPU seconds it has used. It ends
when standard input does, so it never outlives who started it.
"""

from __future__ import annotations

import os
import sys
import time

from cuesta.testing.engine.model import need


def main(model: str, context: int) -> None:
    """Serve a model on a free port until standard input ends."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the engine's own words are no answers
    engine = need("xllamacpp")
    params = engine.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.cache_ram_mib = 0  # what one slot holds is the whole cache
    params.warmup = False
    params.ui = False
    # Two threads wait for each other by spinning: on a busy machine a hundred times slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = engine.Server(params)
    told.write(f"{server.listening_address.rsplit(':', 1)[1]}\n")
    for _ in sys.stdin:
        told.write(f"{time.process_time()}\n")
    told.flush()
    os._exit(0)  # nothing is worth waiting for


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
