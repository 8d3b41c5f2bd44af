"""Comparisons of two evals or conversations: what an address asks for, and what its page gets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import attrs
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from interpstack_inspect.contract.records import EvalRecord
from interpstack_inspect.contract.source import RunSource
from interpstack_inspect.shown.comparison import compared_conversations, compared_evals

__all__ = ["Choice", "compare_view"]

_NAME_CHARS: Final = 2_000
_DIGITS: Final = 9


@attrs.frozen
class Choice:
    """The two sides that an address names.

    Attributes:
        names: Names of the conversations, left and right; fewer if they are not chosen yet.
        numbers: Numbers of the evals, left and right; empty to compare whole conversations, fewer
            than two if they are not chosen yet.
    """

    names: Sequence[str]
    numbers: Sequence[int]

    @classmethod
    def of(cls, query: QueryParams) -> Choice:
        """The sides of an address: `run=A&run=B`, `run=A&eval=1&eval=2` or all four.

        Raises:
            HTTPException: They are more than two, or not of this form.
        """
        names = query.getlist("run")
        texts = [text.strip() for text in query.getlist("eval") if text.strip()]
        if len(names) > 2 or len(texts) > 2 or any(len(name) > _NAME_CHARS for name in names):
            raise HTTPException(400, "Two evals or two conversations are compared: choose two.")
        for text in texts:
            if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
                raise HTTPException(400, f"The number of an eval has up to {_DIGITS} digits.")
        if len(names) == 1 and len(texts) == 2:
            names = names * 2
        return cls(names, [int(text) for text in texts])

    @property
    def complete(self) -> bool:
        """Whether both sides are chosen."""
        return len(self.names) == 2 and len(self.numbers) != 1

    @property
    def missing(self) -> str:
        """A request for the missing side, in words; empty if both are chosen."""
        if self.complete:
            return ""
        if len(self.numbers) == 1 and len(self.names) == 2:
            return "Give the numbers of both evals, or of neither to compare the conversations."
        return "Choose a second eval or conversation."


async def compare_view(source: RunSource, choice: Choice) -> Mapping[str, Any]:
    """The values for the page of a comparison, which may have no sections yet.

    Raises:
        NotRecorded: One side is not recorded.
    """
    filled = [*choice.names, *choice.names[:1], "", ""][:2]
    given: dict[str, Any] = {
        "names": filled,
        "numbers": [*map(str, choice.numbers), "", ""][:2],
        "missing": choice.missing,
        "sections": [],
        "heads": [],
    }
    if not choice.complete:
        return given
    if choice.numbers:
        evals = [
            await source.eval(name, number)
            for name, number in zip(choice.names, choice.numbers, strict=True)
        ]
        given["sections"] = await asyncio.to_thread(compared_evals, *evals)
        given["heads"] = [_head(name, one) for name, one in zip(choice.names, evals, strict=True)]
        return given
    found = [await source.conversation(name) for name in choice.names]
    given["sections"] = await asyncio.to_thread(compared_conversations, *found)
    given["heads"] = [(name, f"/conversation?{urlencode({'name': name})}", "") for name in filled]
    return given


def _head(name: str, one: EvalRecord) -> tuple[str, str, str]:
    """The title, the address and the times of one side."""
    summary = one.summary
    address = f"/eval?{urlencode({'name': name, 'number': summary.number})}"
    seconds = "" if summary.seconds is None else f"{summary.seconds:.3f} s"
    return f"Eval {summary.number} of {name}", address, seconds
