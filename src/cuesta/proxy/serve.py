"""The proxy as a process: event loop, signals, memory, and a parent that may go away."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

from cuesta.proxy.app import Proxy
from cuesta.store.memory import MemoryStore
from cuesta.store.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cuesta.proxy.engine import Engine, TapFactory
    from cuesta.proxy.options import ProxyOptions
    from cuesta.store.base import Store

_SWITCH_S = 0.0005
"""Seconds after which the thread that reads a large body lets the event loop go on."""
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8


def run(  # noqa: PLR0913 - the descriptors come one by one from a command line
    options: ProxyOptions,
    engine: Engine,
    taps: Mapping[str, TapFactory],
    *,
    fd: int | None = None,
    parent_fd: int | None = None,
    on_ready: Callable[[Proxy, Store], None] | None = None,
) -> None:
    """Serve until told to stop; running answers get `options.drain_s` seconds to finish.

    SIGTERM and SIGINT stop the proxy, a second one cuts running answers. With `parent_fd`, SIGINT
    is ignored: it means the program in the foreground, and the pipe tells when that has ended.

    Args:
        options: What the person who runs the proxy decided.
        engine: Decides what becomes of requests.
        taps: Makes readers of usage, by dialect.
        fd: An inherited listening socket; None: the address of the options.
        parent_fd: The read end of an inherited pipe: at its end of file the proxy stops.
        on_ready: Called once requests are accepted.

    Raises:
        ConfigError: If the options make no sense or the address cannot be listened on.
    """
    _keep_freed_memory()
    sys.setswitchinterval(_SWITCH_S)
    store = open_store_for(options)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(Proxy(engine, store, options, taps), store, fd, parent_fd, on_ready))
    finally:
        store.close()


def open_store_for(options: ProxyOptions) -> Store:
    """Open the store that the options ask for."""
    if options.ephemeral:
        return MemoryStore()
    from cuesta.store.sqlite import open_store  # noqa: PLC0415 - not needed without a disk

    return open_store(state_folder(options.state_dir))


async def _serve(
    proxy: Proxy,
    store: Store,
    fd: int | None,
    parent_fd: int | None,
    on_ready: Callable[[Proxy, Store], None] | None,
) -> None:
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            proxy.cut()
        stop.set()

    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows: an interrupt ends `run` directly
        loop.add_signal_handler(signal.SIGTERM, on_signal)
        if parent_fd is None:
            loop.add_signal_handler(signal.SIGINT, on_signal)
        else:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _stop_at_end_of(parent_fd, stop)
    await proxy.start(socket.socket(fileno=fd) if fd is not None else None)
    gc.freeze()  # what lives now lives to the end: no collection needs to look at it
    if on_ready is not None:
        on_ready(proxy, store)
    await stop.wait()
    await proxy.stop()


def _stop_at_end_of(pipe: int, stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def on_readable() -> None:
        if not os.read(pipe, 4096):
            loop.remove_reader(pipe)
            stop.set()

    loop.add_reader(pipe, on_readable)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 - not on every platform

    return uvloop.new_event_loop


def _keep_freed_memory() -> None:
    """Keep glibc from giving the memory of each large body back and asking for it again.

    Page faults cost more than the rest of a large request. The price: the memory of the largest
    body stays with the process.
    """
    try:
        glibc = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        glibc = None
    if not glibc:
        return
    import ctypes  # noqa: PLC0415 - for one call

    libc = ctypes.CDLL(None)
    libc.mallopt(_M_MMAP_THRESHOLD, 64 << 20)
    libc.mallopt(_M_TRIM_THRESHOLD, 128 << 20)
    libc.mallopt(_M_TOP_PAD, 1 << 20)
    libc.mallopt(_M_ARENA_MAX, 1)  # one thread at a time runs Python: more arenas only lie idle
