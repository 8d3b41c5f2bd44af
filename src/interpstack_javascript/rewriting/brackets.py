"""Brackets of JavaScript: the closing bracket of each kind, and the context after it."""

from __future__ import annotations

from typing import Final, TypeAlias

from interpstack_javascript.rewriting.lexis import BLOCK, CONTROL, DO, OPERAND, SEMICOLON

__all__ = [
    "CODE",
    "CONDITION",
    "CURLY_BLOCK",
    "CURLY_OBJECT",
    "DO_BLOCK",
    "DO_CONDITION",
    "IN_TEMPLATE",
    "ROUND",
    "SQUARE",
    "Bracket",
    "DeclaredClass",
]

#: Start of a class at the top level and, if it is a declaration, its name.
DeclaredClass: TypeAlias = tuple[int, str]
#: The closing bracket, the context after it, and the action: end a class, a template or a call.
Bracket: TypeAlias = tuple[str, str, DeclaredClass | int | None]

SQUARE: Final[Bracket] = ("]", OPERAND, None)
CURLY_OBJECT: Final[Bracket] = ("}", OPERAND, None)
CURLY_BLOCK: Final[Bracket] = ("}", BLOCK, None)
DO_BLOCK: Final[Bracket] = ("}", DO, None)
ROUND: Final[Bracket] = (")", OPERAND, None)
CONDITION: Final[Bracket] = (")", CONTROL, None)
DO_CONDITION: Final[Bracket] = (")", SEMICOLON, None)
IN_TEMPLATE: Final = -1
CODE: Final[Bracket] = ("}", OPERAND, IN_TEMPLATE)
