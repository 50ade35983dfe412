"""The launcher around the stand-in proxy: `beside.py LOG [--fail] -- COMMAND...`."""

import os
import sys
from pathlib import Path

from cuesta.cli.launcher import Proxy, leave, listen, run_beside

split = sys.argv.index("--")
log, flags, command = Path(sys.argv[1]), sys.argv[2:split], sys.argv[split + 1 :]
stand_in = str(Path(__file__).with_name("stand_in_proxy.py"))
listener, address = listen()
proxy = Proxy(listener, [sys.executable, stand_in, *flags], os.environ, log)
try:
    status = run_beside(proxy, command, {**os.environ, "ADDRESS": address})
finally:
    proxy.stop()
sys.exit(leave(status))
