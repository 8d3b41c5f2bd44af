"""Errors of a cell, from the reports of its kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from interpstack import GuestError

__all__ = ["guest_error"]

_NODE_FRAME: Final = re.compile(r"^\s*at (?:.* \()?node:")


def guest_error(report: Mapping[str, str]) -> GuestError:
    """An error without the frames of Node, through which cells are entered.

    Args:
        report: Name, message and stack trace.
    """
    stack = "\n".join(line for line in report["stack"].split("\n") if not _NODE_FRAME.search(line))
    return GuestError(report["name"], report["message"], stack)
