"""Notebooks that a real kernel executes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

import attrs
from jupyter_client.manager import KernelManager

__all__ = ["Kernel", "kernel"]

LOAD = "%load_ext interpstack"
_SECONDS = 100.0


@attrs.define
class Output:
    """The output of one cell.

    Attributes:
        status: `ok` or `error`.
        text: The stream, joined.
        bundles: Rich outputs, in order.
        error: Name and text of the exception, and the lines shown for it.
    """

    status: str = ""
    text: str = ""
    bundles: list[dict[str, Any]] = attrs.field(factory=list)
    error: tuple[str, str, list[str]] | None = None


class Kernel:
    """A running kernel with the extension."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=_SECONDS)

    def run(self, source: str, interrupt_at: str = "") -> Output:
        """Execute a cell; interrupt the kernel once the stream has a text."""
        request = self.client.execute(source, stop_on_error=False)
        output, idle = Output(), False
        until = time.monotonic() + _SECONDS
        while not idle:
            try:
                message = self.client.get_iopub_msg(timeout=max(0.1, until - time.monotonic()))
            except Empty:
                raise AssertionError(f"the cell does not end: {source}") from None
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            idle = kind == "status" and content["execution_state"] == "idle"
            if kind == "stream":
                output.text += content["text"]
                if interrupt_at and interrupt_at in output.text:
                    interrupt_at = ""
                    self.manager.interrupt_kernel()
            elif kind in ("execute_result", "display_data"):
                output.bundles.append(content["data"])
            elif kind == "error":
                output.error = content["ename"], content["evalue"], content["traceback"]
        reply = self.client.get_shell_msg(timeout=_SECONDS)
        while reply["parent_header"].get("msg_id") != request:
            reply = self.client.get_shell_msg(timeout=_SECONDS)
        output.status = reply["content"]["status"]
        return output

    def restart(self) -> None:
        """Restart the kernel, as the button of a notebook does."""
        self.manager.restart_kernel(now=False)
        self.client.wait_for_ready(timeout=_SECONDS)


@contextmanager
def kernel() -> Iterator[Kernel]:
    """Start a kernel, and load the extension."""
    with tempfile.TemporaryDirectory() as folder:  # for sockets, whose paths must be short
        sockets = str(Path(folder, "kernel"))
        manager = KernelManager(kernel_name="python3", transport="ipc", ip=sockets)
        manager.start_kernel(extra_arguments=["--HistoryManager.enabled=False"])
        running = Kernel(manager)
        try:
            assert running.run(LOAD).status == "ok"
            yield running
        finally:
            running.client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
