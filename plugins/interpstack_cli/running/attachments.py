"""Images and files of an outcome for people: drawn, printed, or saved with their path."""

from __future__ import annotations

import mimetypes
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, Outcome
from interpstack_cli.printing import is_terminal, write
from interpstack_cli.running.inline_images import inline_image
from interpstack_display.api import Attachment, attachments_of, described

__all__ = ["Gallery"]

#: Characters of a text that is printed; longer ones are saved.
_TEXT_CHARS: Final = 4000
#: Endings of the names of files; by the type alone, never by a name that a guest gave.
_ENDINGS: Final = {
    "application/octet-stream": ".bin",
    "image/avif": ".avif",
    "image/heic": ".heic",
    "image/heif": ".heif",
    "image/webp": ".webp",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
_TYPES: Final = mimetypes.MimeTypes()  # of Python's own table: that of the machine is not asked


@attrs.define(eq=False)
class Gallery:
    """Shows the images and files of outcomes, one after another.

    Attributes:
        folder: The folder to save all of them in; `None` to draw or print where that is possible,
            and to save the rest in a new folder of the system's own.
    """

    folder: Path | None = None
    _made: Path | None = attrs.field(default=None, init=False)

    def check(self) -> None:
        """Make the chosen folder, and try to write in it, before anything runs for it.

        Raises:
            ConfigurationError: No file can be written there.
        """
        if self.folder is None:
            return
        try:
            with tempfile.TemporaryFile(dir=self._into()):
                return
        except OSError as error:
            raise self._refused(error) from error

    def show(self, outcome: Outcome) -> None:
        """Draw, print or save each image and file, and name it on standard error.

        Raises:
            ConfigurationError: A file cannot be saved.
        """
        for index, item in enumerate(attachments_of(outcome), start=1):
            drawn = self._drawn(item)
            saved = "" if drawn is not None else f": saved as {self._save(item)}"
            if drawn:
                write(drawn, drawing=item.is_image)
            write(f"Shown {index}: {described(item)}{saved}", err=True)

    def saved(self, outcome: Outcome) -> list[Any]:
        """The attachments as JSON data: images and files with the path at which they are saved.

        Raises:
            ConfigurationError: A file cannot be saved.
        """
        return [
            self._saved(item) if isinstance(item, Attachment) else type(item).__name__
            for item in outcome.attachments
        ]

    def _saved(self, item: Attachment) -> dict[str, Any]:
        data: dict[str, Any] = {"mime_type": item.mime_type, "name": item.name}
        return {**data, "bytes": len(item.data), "path": str(self._save(item))}

    def _drawn(self, item: Attachment) -> str | None:
        """The attachment in the form for a terminal; `None` if it must be saved."""
        if self.folder is not None or not is_terminal(sys.stdout):
            return None
        if item.is_text and len(item.data) <= _TEXT_CHARS:
            return item.text
        return inline_image(item, os.environ)

    def _save(self, item: Attachment) -> Path:
        ending = _ENDINGS.get(item.mime_type) or _TYPES.guess_extension(item.mime_type) or ".bin"
        try:
            folder = self._into()
            for number in range(1, 1_000_000):
                path = folder / f"shown-{number}{ending}"
                if not path.exists():
                    with path.open("xb") as opened:
                        opened.write(item.data)
                    return path
        except OSError as error:
            raise self._refused(error) from error
        raise ConfigurationError(f"{folder} is full of files; name another folder with --save")

    def _refused(self, error: OSError) -> ConfigurationError:
        """The error for a folder that no file can be written in."""
        where = self.folder or tempfile.gettempdir()
        reason = error.strerror or error
        return ConfigurationError(
            f"cannot write to {where}: {reason}; choose another folder with --save"
        )

    def _into(self) -> Path:
        """The folder to save in; the system's own folders are for the user alone."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder
        if self._made is None:
            self._made = Path(tempfile.mkdtemp(prefix="interpstack-"))
        return self._made
