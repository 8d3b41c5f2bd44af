"""Images inside a terminal, by the protocols of kitty and iTerm2.

The terminal decodes the image. The sequences hold numbers and Base64 alone, so nothing of a guest
can end a sequence and begin another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from interpstack_display.api import Attachment

__all__ = ["inline_image"]

#: Characters of one part of an image for kitty, as its protocol bounds them.
_PART: Final = 4096
#: Images larger than this are saved: a terminal would be busy for long.
_MOST_BYTES: Final = 4 * 2**20
#: Values of `TERM_PROGRAM` of terminals that know a protocol.
_KITTY: Final = frozenset({"ghostty", "kitty"})
_ITERM: Final = frozenset({"iTerm.app", "WezTerm", "mintty", "rio", "vscode"})
#: Terminals inside a terminal, which pass on no images.
_INSIDE: Final = ("dumb", "screen", "tmux")


def inline_image(item: Attachment, environment: Mapping[str, str]) -> str | None:
    """The sequence that draws an image; `None` if the terminal cannot draw it.

    Args:
        item: An attachment.
        environment: The environment variables of the terminal.
    """
    draw = _protocol(environment)
    if draw is None or not item.is_image or len(item.data) > _MOST_BYTES:
        return None
    return draw(item)


def _protocol(environment: Mapping[str, str]) -> Callable[[Attachment], str | None] | None:
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if term.startswith(_INSIDE) or environment.get("TMUX"):
        return None
    if term in ("xterm-kitty", "xterm-ghostty") or program in _KITTY:
        return _kitty
    if program in _ITERM or environment.get("LC_TERMINAL") == "iTerm2":
        return _iterm
    return None


def _kitty(item: Attachment) -> str | None:
    """The protocol of kitty, which takes PNG."""
    if item.mime_type != "image/png":
        return None
    text, made = item.base64, []
    for start in range(0, len(text), _PART):
        head = "f=100,a=T," if start == 0 else ""
        more = int(start + _PART < len(text))
        made.append(f"\x1b_G{head}m={more};{text[start : start + _PART]}\x1b\\")
    return "".join(made)


def _iterm(item: Attachment) -> str | None:
    """The protocol of iTerm2, which takes every usual format."""
    if item.mime_type not in ("image/gif", "image/jpeg", "image/png"):
        return None
    return f"\x1b]1337;File=inline=1;size={len(item.data)}:{item.base64}\x07"
