"""Names of steps, by which a run finds their records again.

A step is known by what it asks for, not by its place in the script: its name is a digest of its
inputs in canonical JSON. Of equal steps, the second one in a scope has `#2` at the end of its name,
and so on. A script can name a step itself, by `key`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["StepNames", "canonical"]

_DIGITS: Final = 24
_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def canonical(value: Any) -> str:
    """Return a JSON value as text: the same for equal values, whatever the order of their keys.

    Raises:
        ValueError: The value is not JSON.
    """
    try:
        return _encode(value)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the value is not JSON: {error}") from error


class StepNames:
    """Names the steps of one scope of a run, in the order of their requests.

    Args:
        scope: The scope; equal steps of other scopes have other names.
    """

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._seen: Counter[str] = Counter()

    def name(self, kind: str, inputs: Mapping[str, Any], key: str | None = None) -> tuple[str, str]:
        """Return the name and the signature of the next step.

        Args:
            kind: The kind of the step, such as `agent`.
            inputs: Everything that decides what the step does, plain JSON.
            key: The script's own name for the step; the inputs are then not a part of the name.

        Raises:
            ValueError: The inputs are not JSON.
        """
        signature = canonical({"kind": kind, "scope": self._scope, **inputs})
        known = signature if key is None else canonical(["key", self._scope, kind, key])
        digest = hashlib.blake2b(known.encode(), digest_size=_DIGITS // 2).hexdigest()
        base = f"{'sig' if key is None else 'key'}_{digest}"
        self._seen[base] += 1
        count = self._seen[base]
        return (base if count == 1 else f"{base}#{count}"), signature
