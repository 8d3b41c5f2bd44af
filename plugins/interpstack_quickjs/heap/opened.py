"""Images that are opened again and again, as that of the realm in which each workflow begins.

To open an image is to check it, to take it apart, and to write it over a fresh guest's memory; each
guest then has its own copy of what the image holds. The memory of an image that was opened a few
times becomes a template instead, of which the memory of further guests begins as a view.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

import attrs

from interpstack_quickjs.guest_memory import Heap
from interpstack_quickjs.heap.images import unpack
from interpstack_quickjs.webassembly.templates import drop_template, keep_template, template_of

__all__ = ["OpenedImages", "opened_images"]

#: Openings of one image before its memory becomes a template: most are opened once.
_OPENINGS: Final = 3
#: Images whose openings are counted.
_COUNTED: Final = 64
#: Templates of images.
_TEMPLATES: Final = 4
#: Openings of other images after which a template makes room for another one.
_UNUSED: Final = 256
#: Size in bytes of the largest memory that becomes a template.
_MAX_BYTES: Final = 16 * 2**20

_Opened = tuple[Heap, dict[str, Any]]


@attrs.frozen(eq=False)
class _Known:
    """An image whose memory is a template.

    Attributes:
        data: The image, which was checked.
        opened: The heap and the extra data.
    """

    data: bytes
    opened: _Opened


class OpenedImages:
    """Takes images apart, and remembers those that are opened often."""

    def __init__(self) -> None:
        self._openings = 0
        self._counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()
        self._known: dict[tuple[str, bytes], _Known] = {}
        #: Numbers of their last openings.
        self._used: dict[tuple[str, bytes], int] = {}
        self._lock = threading.Lock()

    def open(
        self, base_id: str, base: Heap, data: bytes, max_bytes: int, *, apart: bool = True
    ) -> _Opened:
        """The heap and the extra data of an image; see `unpack`.

        Args:
            base_id: Names the base heap.
            base: The base heap that the image differs from.
            data: The image, from an untrusted place.
            max_bytes: Largest heap to accept.
            apart: See `unpack`.
        """
        key = base_id, data[:64]  # with the checksum, where there is one
        with self._lock:
            self._openings += 1
            known = self._known.get(key)
            if known is not None and known.data == data:
                self._used[key] = self._openings
                if known.opened[0].size <= max_bytes:
                    return known.opened
        opened = unpack(data, base, max_bytes, apart=apart)
        return self._noted(key, data, opened)

    def _noted(self, key: tuple[str, bytes], data: bytes, opened: _Opened) -> _Opened:
        """Count an opening, and make a template if it is time for one."""
        with self._lock:
            count = self._counts[key] = self._counts.pop(key, 0) + 1
            if len(self._counts) > _COUNTED:
                self._counts.popitem(last=False)
            if count % _OPENINGS or opened[0].size > _MAX_BYTES or not self._has_room():
                return opened
        viewed = _viewed(opened[0])
        if viewed is None:
            return opened
        with self._lock:
            self._forget(key)  # of another thread, or another image with such a beginning
            self._known[key] = _Known(data, (viewed, opened[1]))
            self._used[key] = self._openings
        return viewed, opened[1]

    def _has_room(self) -> bool:
        """Whether one more template may be made, in place of one that is not used any more."""
        if len(self._known) < _TEMPLATES:
            return True
        oldest = min(self._used, key=self._used.__getitem__)
        if self._openings - self._used[oldest] < _UNUSED:
            return False
        self._forget(oldest)
        return True

    def _forget(self, key: tuple[str, bytes]) -> None:
        if key in self._known:
            del self._used[key]
            drop_template(self._known.pop(key).opened[0].memory)


def _viewed(heap: Heap) -> Heap | None:
    """The heap with a template of all its memory; `None` where the system has none.

    There is none of a damaged heap either, which is refused when it is loaded.
    """
    try:
        memory = bytes(heap.whole().memory)
    except ValueError:
        return None
    keep_template(memory)
    if template_of(memory) is None:
        return None
    return Heap(memory, heap.stack_pointer, heap.workspace)


#: Those of this process.
opened_images = OpenedImages()
