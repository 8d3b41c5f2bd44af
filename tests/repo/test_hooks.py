"""Every hook is documented with its arguments and used by a plugin."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from parsed import nodes, tree

_SPECS = "src/interpstack/contracts/hookspecs.py"
_PAGE = "docs/reference/hooks.md"
_MOST = 15


def hooks(root: Path) -> dict[str, list[str]]:
    """Names of all hooks with their arguments: the kernel's, and those that plugins bring."""
    found = _specified(root / _SPECS)
    for path in sorted((root / "plugins").glob("*/hookspecs.py")):
        found |= _specified(path)
    return found


def _specified(path: Path) -> dict[str, list[str]]:
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("interpstack_")
    }


def hook_violations(root: Path) -> list[str]:
    """Hooks that are undocumented, unused, or too many."""
    specs = hooks(root)
    page = (root / _PAGE).read_text("utf-8") if (root / _PAGE).exists() else ""
    used = _functions(root)
    own = len(_specified(root / _SPECS))
    found = [f"there are {own} hooks; at most {_MOST}"] if own > _MOST else []
    diagram = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    for name, arguments in specs.items():
        if diagram and not re.search(rf"\b{name}\b", diagram[1]):
            found.append(f"the diagram of {_PAGE} lacks {name}")
        if not re.search(rf"\b{name}\b", page):
            found.append(f"{_PAGE} does not name {name}")
        found += [
            f"{_PAGE} does not name {argument}, an argument of {name}"
            for argument in arguments
            if not re.search(rf"\b{argument}\b", page)
        ]
        if not used.get(name):
            found.append(f"no plugin implements {name}")
    documented = set(
        re.findall(
            r"\binterpstack_(?:register|resolve|wrap|prompt|session|render|transform|open|add|keep)\w+",
            page,
        )
    )
    found += [f"{_PAGE} names {n}, which is no hook" for n in sorted(documented - set(specs))]
    return found


def _functions(root: Path) -> dict[str, list[str]]:
    """Implementations of hooks in plugins, the project's and the examples', by hook."""
    found: dict[str, list[str]] = {}
    for folder in ("plugins", "docs/examples"):
        for path in sorted((root / folder).rglob("*.py")):
            if "tests" in path.parts[len(root.parts) :]:
                continue
            for node in nodes(path):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("interpstack_"):
                    found.setdefault(node.name, []).append(path.name)
    return found


def test_hooks(root: Path) -> None:
    assert hook_violations(root) == []


def test_the_hook_guard_notices(broken: Any) -> None:
    spec = (
        "\n@hookspec\ndef interpstack_resolve_nothing(stack: object, flavour: str) -> None: ...\n"
    )
    copy = broken({_SPECS: lambda text: text + spec})
    assert [v for v in hook_violations(copy) if "nothing" in v or "flavour" in v] == [
        f"the diagram of {_PAGE} lacks interpstack_resolve_nothing",
        f"{_PAGE} does not name interpstack_resolve_nothing",
        f"{_PAGE} does not name flavour, an argument of interpstack_resolve_nothing",
        "no plugin implements interpstack_resolve_nothing",
    ]


def test_the_hook_guard_counts_and_notices_what_is_gone(broken: Any) -> None:
    many = "".join(f"\n@hookspec\ndef interpstack_{n}() -> None: ...\n" for n in "abcdefghijklmn")
    copy = broken({_SPECS: lambda t: t + many, _PAGE: lambda t: t + "`interpstack_wrap_all`"})
    found = hook_violations(copy)
    assert found[0].endswith("hooks; at most 15")
    assert found[-1] == f"{_PAGE} names interpstack_wrap_all, which is no hook"
