"""The WebAssembly guest of quickjs-rs, driven through wasmtime.

quickjs-rs ships QuickJS compiled to WebAssembly. This module knows the functions it exports,
`runtime.py` those it imports, `instance.py` makes them, and no other one knows either;
`tests/plugins/quickjs/test_guest.py` names what breaks if they change. Its own Python
layer is not used: it marshals values one property at a time, shares its wasmtime engine with
every other user in the process, and gives the guest a system interface.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from interpstack import EngineFailure
from interpstack_quickjs.guest_memory import SLOTS_BYTES, WORKSPACE_BYTES, GuestMemory
from interpstack_quickjs.webassembly.instance import Instance

__all__ = ["Guest", "from_column_one"]

STATUS_OK: Final = 0
STATUS_JS_ERROR: Final = 1

#: Jobs that one `execute_pending_jobs` runs at most.
_JOBS_PER_CALL: Final = 100_000
#: Said by the bundles `tell` and `run` if that fails, plus the status.
_FAILED: Final = -(2**31)
#: Bytes of an answer that fits behind the slots of the workspace.
_ROOM: Final = WORKSPACE_BYTES - SLOTS_BYTES
#: Bytes of the workspace that are read at once, for most answers are short.
_AT_FIRST: Final = SLOTS_BYTES + 1024
#: Address and length of an answer.
_ANSWER: Final = struct.Struct("<ii")


class Guest(GuestMemory):
    """One instance with a QuickJS runtime and one context in it.

    Args:
        memory_bytes: Size in bytes to which the memory may grow; `None` for the maximum of the
            format.
        instance: One that was wiped, which must be loaded before it is used; else a new one.

    Raises:
        EngineFailure: It cannot be started.
    """

    def __init__(self, memory_bytes: int | None, instance: Instance | None = None) -> None:
        super().__init__(memory_bytes, instance)
        #: Set by the realm: names and sources of modules, as look-ups.
        self.resolve_module: Callable[[str, str], str | None] = lambda base, specifier: None
        self.load_module: Callable[[str], str | None] = lambda name: None
        #: What code that the host wrote gets for a text, by a function of `host_function`.
        self.answer: Callable[[Guest, str], str] | None = None

    # -- memory ----------------------------------------------------------------------------

    def hand_over(self, text: str | None, size: int) -> int:
        """Answer an import with a text that the guest will free; `None` as 0."""
        if text is None:
            return 0
        # The guest cannot allocate zero bytes, and would take an empty module for a missing one.
        data = text.encode("utf-8", "replace") or b"\n"
        address = self.call("qjs_alloc", len(data))
        if address:
            self.write(data, address)
            self.write(struct.pack("<I", len(data)), size)
        return address

    def host_function(self, name: str) -> int:
        """Handle of a new function that passes a text to `answer` and returns what that returns."""
        data = name.encode()
        address = self._allocate(data)
        try:
            return self.call("new_function", address, len(data))
        finally:
            self.call("qjs_free", address, len(data) + 1)

    def asked(self, argument: int) -> int:
        """Handle of the answer to a text that guest code asks; negative if there is none.

        Called in the middle of a call of the guest, whose workspace is in use.
        """
        text = self.string(argument)
        if self.answer is None or text is None:
            return -1
        data = self.answer(self, text).encode()
        address = self._allocate(data)
        try:
            return self.call("new_string", address, len(data))
        finally:
            self.call("qjs_free", address, len(data) + 1)

    # -- calls -----------------------------------------------------------------------------

    def evaluate(self, source: str, export: str = "eval_code", *more: int) -> tuple[int, int]:
        """Run a script; status and handle of its value, or of the thrown value.

        Args:
            source: The script.
            export: The guest's function that runs it.
            more: Arguments of that function, behind the source.
        """
        data, out = source.encode(), self._space().address
        with self._placed(data) as address:
            status = self.call(export, address, len(data), *more, out)
            if status == STATUS_JS_ERROR:
                self.call("last_exception", out)
            return status, self._word(out)

    def evaluate_nameless(self, source: str) -> tuple[int, int]:
        """The same for a module that nothing can import."""
        return self.evaluate(source, "eval_module", self._space().address, 0)

    def evaluate_module(self, source: str, name: str) -> int:
        """Run a module under a name of its own; the handle of its default export."""
        data, label, out = source.encode(), name.encode(), self._space().address
        label_address = self._allocate(label)
        with self._placed(data) as address:
            status = self.call("eval_module", address, len(data), label_address, len(label), out)
        self.call("qjs_free", label_address, len(label) + 1)
        if status != STATUS_OK:
            raise EngineFailure(f"{name} does not evaluate: {self.thrown_text()}")
        self.run_jobs()
        return self.get(self._word(out), "default")

    def invoke(self, function: int, *args: int) -> tuple[int, int]:
        """Call a guest function with at most 15 handles.

        Returns:
            Status, and the handle of its value or of the thrown value.
        """
        space = self._space()
        out, argv = space.address, space.address + 4
        self.write(struct.pack(f"<{len(args)}i", *args), argv)
        status = self.call("call_function", function, space.undefined, argv, len(args), out)
        if status == STATUS_JS_ERROR:
            self.call("last_exception", out)
        return status, self._word(out)

    def run_jobs(self) -> None:
        """Run all pending promise jobs.

        Raises:
            CpuLimitReached: The time is up; more of them are waiting.
        """
        self._go_on(self.call("execute_pending_jobs"))

    def _go_on(self, done: int) -> None:
        """Run the jobs that are left after some were done."""
        while done:
            self.pause()
            if done < _JOBS_PER_CALL:
                return
            done = self.call("execute_pending_jobs")

    def tell(self, function: int, text: str, further: int) -> bool:
        """Call a guest function with a text, then run all pending promise jobs.

        Args:
            function: The function.
            text: Its argument.
            further: A function without arguments, called after the jobs; when it returns true, jobs
                run again, and so on.

        Returns:
            False if one of the functions failed.

        Raises:
            CpuLimitReached: The time is up; more jobs are waiting.
        """
        done = self._pass("tell", function, text, further, _JOBS_PER_CALL)
        while done:
            if done == _FAILED:
                return False
            self.pause()
            if done < _JOBS_PER_CALL:
                break
            space = self._space()
            done = self.call("go_on", further, space.undefined, space.address, _JOBS_PER_CALL)
        return True

    def ask(self, function: int, text: str) -> tuple[int, str | None]:
        """Call a guest function with a text.

        Returns:
            Status, and the text that it returns; `None` for any other value.
        """
        status = self._pass("ask", function, text, _ROOM)
        slots = self._space().address
        answer = self.read(slots, _AT_FIRST)
        start, length = _ANSWER.unpack_from(answer, 8)
        if length < 0:
            return status, None
        if length > _ROOM:
            answer = self.read(start, length)
            self.call("asked", slots)
        elif length > _AT_FIRST - SLOTS_BYTES:
            answer = self.read(slots + SLOTS_BYTES, length)
        else:
            answer = answer[SLOTS_BYTES : SLOTS_BYTES + length]
        return status, answer.decode("utf-8", "replace")

    def _pass(self, bundle: str, function: int, text: str, *more: int) -> int:
        """Call a bundle that passes a text to a guest function."""
        space, data = self._space(), text.encode()
        address = self._put(data)  # a context manager takes as long as the rest
        behind = (len(data), space.address, *more)
        if address is not None:
            return self.call(bundle, function, space.undefined, address, *behind)
        with self._placed(data) as address:
            return self.call(bundle, function, space.undefined, address, *behind)

    # -- values ----------------------------------------------------------------------------

    def new_string(self, text: str) -> int:
        """Handle of a new string."""
        data = text.encode()
        with self._placed(data) as address:
            return self.call("new_string", address, len(data))

    def string(self, handle: int) -> str | None:
        """The text of a string; `None` for any other value."""
        if self.call("get_string", handle) != STATUS_OK:
            return None
        length = self.call("qjs_last_len")
        data = self.read(self.call("qjs_last_ptr"), length) if length else b""
        self.call("qjs_result_free")
        return data.decode("utf-8", "replace")

    def get(self, handle: int, key: str) -> int:
        """Handle of a property."""
        data, out = key.encode(), self._space().address
        with self._placed(data) as address:
            status = self.call("get_prop", handle, address, len(data), out)
        if status != STATUS_OK:
            raise EngineFailure(f"the guest has no {key!r}")
        return self._word(out)

    def text_of(self, handle: int, key: str) -> str | None:
        """A property that is a string; `None` for any other, and where there is none."""
        try:
            property_ = self.get(handle, key)
        except EngineFailure:
            return None
        text = self.string(property_)
        self.free(property_)
        return text

    def free(self, handle: int) -> None:
        """Give a handle back."""
        self.call("free_value", handle)

    def thrown_text(self) -> str:
        """The pending exception, for messages about our own code."""
        out = self._space().address
        self.call("last_exception", out)
        handle = self._word(out)
        parts = [self.string(self.get(handle, key)) for key in ("name", "message", "stack")]
        return ": ".join(part for part in parts if part)


def from_column_one(source: str) -> str:
    """Return a source that QuickJS counts from column 1 in each line.

    It counts the columns of the first line from 0 and those of all others from 1, so errors would
    name the column before. A first line with `#!` has no code, and takes nothing before it.
    """
    return source if source.startswith("#!") else f" {source}"
