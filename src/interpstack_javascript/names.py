"""Names under which JavaScript code can call functions of the host."""

from __future__ import annotations

from typing import Final

__all__ = ["fault_of"]

#: Words that cannot name a variable in a cell.
_RESERVED: Final = """
arguments await break case catch class const continue debugger default delete do else enum eval
export extends false finally for function if implements import in instanceof interface let new null
package private protected public return static super switch this throw true try typeof var void
while with yield
"""
#: Globals of the language itself; those of single engines, such as `fetch`, may be replaced.
_GLOBALS: Final = """
AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date
Error EvalError FinalizationRegistry Float32Array Float64Array Function Infinity Int16Array
Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError
ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError
Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI
decodeURIComponent encodeURI encodeURIComponent escape globalThis isFinite isNaN parseFloat parseInt
undefined unescape
"""
#: Properties that the language reads by itself, as `await weather` reads `weather.then`.
_READ: Final = "then toJSON toLocaleString toString valueOf"


def fault_of(name: str, language: str) -> str:
    """Why code cannot call a function by its dotted name; empty if it can.

    Reserved words are names of members, as in `mail.delete`, but not of variables.

    Args:
        name: The dotted name.
        language: Title of the language, for the text.
    """
    first, *members = name.split(".")
    if first in _RESERVED.split():
        return f"{first!r} is a word of {language}; use a namespace, as in 'host.{first}'"
    if first in _GLOBALS.split():
        return f"it would replace {first!r}, a global of {language}"
    read = next((part for part in (first, *members) if part in _READ.split()), None)
    return "" if read is None else f"{language} calls {read!r} by itself; use another word"
