"""Python as a guest language: names, calls, signatures, and the words of prompts.

Engines of Python register `PYTHON`. Nothing here runs code.
"""

from __future__ import annotations

from interpstack_python.language import PYTHON

__all__ = ["PYTHON"]
