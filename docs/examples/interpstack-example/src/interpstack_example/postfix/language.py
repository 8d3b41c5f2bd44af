"""The language: words that take values from a stack and leave values on it."""

from __future__ import annotations

import json
import operator
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import GuestError

__all__ = ["NOTHING", "WORDS", "Fault", "Promise", "Task", "read", "show"]


class Word(str):
    """A name in the source; everything else there stands for itself."""


class Fault(Exception):
    """An error of the guest; `try` catches it."""

    def __init__(self, name: str, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = GuestError(name, message, data=data)


_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]()]|[^\s\[\]()"]+|"', re.DOTALL)


def read(source: str) -> tuple[Any, ...]:
    """A cell as a block: words, plain values, and blocks.

    Raises:
        Fault: The source is not a program.
    """
    blocks: list[list[Any]] = [[]]
    for token in _TOKEN.findall(source):
        if token == "[":
            blocks.append([])
        elif token != "]":
            blocks[-1].append(_atom(token))
        elif len(blocks) > 1:
            block = tuple(blocks.pop())
            blocks[-1].append(block)
        else:
            raise Fault("SyntaxError", "a ] without its [")
    if len(blocks) > 1:
        raise Fault("SyntaxError", "a [ without its ]")
    return tuple(blocks[0])


def _atom(token: str) -> Any:
    try:
        return json.loads(token, strict=False)
    except ValueError:
        if token[0] == '"':
            raise Fault("SyntaxError", "a string does not end") from None
        return Word(token)


@attrs.define(eq=False)
class Promise:
    """A promise of guest code: the answer to a request, or the end of a task."""

    done: bool = False
    value: Any = None
    fault: Fault | None = None

    def settle(self, value: Any = None, fault: Fault | None = None) -> None:
        """Give it its value, or the fault that `await` raises."""
        self.done, self.value, self.fault = True, value, fault


@attrs.frozen(eq=False)
class Guard:
    """Marks the end of a `try`: what to run after a fault, and the stack to go back to."""

    handler: tuple[Any, ...]
    depth: int


#: What a word does: how many values it takes, and what it makes of them.
Words = Mapping[str, tuple[int, Callable[..., Any]]]


@attrs.define(eq=False)
class Task(Promise):
    """A stack, and the words still to be run; the promise of the value on top at the end."""

    work: deque[Any] = attrs.field(kw_only=True, converter=deque)
    stack: list[Any] = attrs.field(factory=list)

    def advance(self, words: Words, variables: dict[str, Any], tick: Callable[[], None]) -> None:
        """Run until it waits for a promise, or ends; `tick` is called before every step."""
        while not self.done and not self._waits():
            tick()
            try:
                self._step(words, variables)
            except Exception as error:  # noqa: BLE001 - words raise anything
                self._fail(error if isinstance(error, Fault) else Fault("Error", str(error)))

    def _waits(self) -> bool:
        awaits = not self.work or (isinstance(self.work[0], Word) and self.work[0] == "await")
        return awaits and bool(self.stack) and _pending(self.stack[-1])

    def _step(self, words: Words, variables: dict[str, Any]) -> None:
        if not self.work:
            self.settle(_result(self.stack[-1]) if self.stack else None)
            return
        item = self.work.popleft()
        if not isinstance(item, Word):
            if not isinstance(item, Guard):
                self.stack.append(item)
        elif item in words:
            self._perform(item, *words[item])
        elif item in variables:
            self.stack.append(_checked(variables[item]))
        else:
            self._control(item, variables)

    def _perform(self, word: str, count: int, function: Callable[..., Any]) -> None:
        if len(self.stack) < count:
            raise Fault("TypeError", f"{word} takes {count} values from the stack")
        arguments = [self.stack.pop() for _ in range(count)][::-1]
        value = function(*arguments)
        if value is not NOTHING:
            self.stack.append(value)

    def _control(self, word: Word, variables: dict[str, Any]) -> None:
        stack, pop = self.stack, self.stack.pop
        match word:
            case ")":
                mark = len(stack) - 1 - stack[::-1].index(_MARK)
                stack[mark:] = [stack[mark + 1 :]]
            case "if":
                otherwise, then = pop(), pop()
                self._next(then if pop() else otherwise)
            case "while":
                body, test = pop(), pop()
                self._next((*test, (*body, test, body, word), (), Word("if")))
            case "for":
                body, name, items = pop(), pop(), iter(pop())
                for variables[str(name)] in items:
                    self._next((*body, items, name, body, word))
                    break
            case "try":
                handler, body = pop(), pop()
                self._next((*body, Guard(handler, len(stack))))
            case "await":
                stack.append(_result(pop()))
            case _:
                raise Fault("ReferenceError", f"{word} is not defined")

    def _next(self, block: Sequence[Any]) -> None:
        self.work.extendleft(reversed(block))

    def _fail(self, fault: Fault) -> None:
        while self.work:
            item = self.work.popleft()
            if isinstance(item, Guard):
                error = {"name": fault.error.name, "message": fault.error.message}
                self.stack[item.depth :] = [{**error, **fault.error.data}]
                self._next(item.handler)
                return
        self.settle(fault=fault)


def _pending(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, Promise) and not item.done for item in items)


def _result(value: Any) -> Any:
    if isinstance(value, list):
        return [_result(item) for item in value]
    if isinstance(value, Promise):
        return _checked(value.fault or value.value)
    return value


def _checked(value: Any) -> Any:
    if isinstance(value, Fault):  # of a promise, or in place of a variable that was lost
        raise value
    return value


def show(value: Any) -> str:
    """A value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def _throw(message: str) -> None:
    raise Fault("Error", message)


_MARK: Final = object()
#: What words return that leave no value on the stack.
NOTHING: Final = object()

WORDS: Final[Words] = {
    "(": (0, lambda: _MARK),
    "+": (2, operator.add),
    "<": (2, operator.lt),
    "=": (2, operator.eq),
    "drop": (1, lambda value: NOTHING),
    "get": (2, operator.getitem),
    "join": (1, lambda parts: "".join(map(show, parts))),
    "obj": (1, lambda pairs: dict(zip(pairs[::2], pairs[1::2], strict=True))),
    "promise": (0, Promise),
    "range": (1, range),
    "throw": (1, _throw),
}
