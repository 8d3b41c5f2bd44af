"""The check of a machine for `interpstack doctor`: whether cells can be checked by their types."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from interpstack.contracts.errors import ConfigurationError
from interpstack_javascript.types.service import CheckerService, CheckerSilent, checker_node

__all__ = ["checks"]

_NAME: Final = "check of types"
_REQUEST: Final = {"declarations": "", "variables": {}, "cell": "[1].lenght", "added": []}


def checks() -> Iterator[tuple[str, str, str, str]]:
    """The check as its name, verdict, result and next step."""
    try:
        node = checker_node()
    except ConfigurationError:
        found = "no Node that could check cells by check='types'"
        yield _NAME, "absent", found, "to use it: pip install 'interpstack[check]'"
        return
    service, begun = CheckerService(), time.monotonic()
    try:
        faults = service.ask(_REQUEST)["faults"]
    except CheckerSilent as error:
        faults, why = [], str(error)
    else:
        why = "it did not see a fault"
    finally:
        service.close()
    shown = f"Node {'.'.join(map(str, node.version))} at {node.path}"
    if faults:
        took = time.monotonic() - begun
        yield _NAME, "ok", f"TypeScript on {shown}; ready after {took:.1f} s", ""
    else:
        fix = "until then, use check='names'; report it with the output of this command"
        yield _NAME, "fail", f"TypeScript on {shown}: {why}", fix
