"""What messages and pages advise to install can be installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from interpstack.errors import install_command

_EXTRA = re.compile(r"interpstack\[([^\]{}]+)\]")
_INSTALL = re.compile(r"pip install (?P<what>[^\n\"`]+)")
_PACKAGE = re.compile(r"(?<![\w./\[-])[A-Za-z][\w-]*")


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """Sources, pages and changelog entries of the project."""
    for folder, kinds in (("src", "py"), ("plugins", "py"), ("docs", "md")):
        for path in sorted((root / folder).rglob(f"*.{kinds}")):
            yield path.relative_to(root).as_posix(), path.read_text("utf-8")
    yield "README.md", (root / "README.md").read_text("utf-8")


def advice_violations(root: Path) -> list[str]:
    """Extras that the project does not have, and packages that it knows nothing of."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(one for given in extras.values() for one in given)]
    known = {re.match(r"[\w-]+", one).group() for one in needed} | {"interpstack", "tox"}  # type: ignore[union-attr]
    found = []
    for name, text in _texts(root):
        for listed in _EXTRA.findall(text):
            absent = set(re.split(r",\s*", listed)) - extras.keys()
            found += [f"{name}: there is no extra {extra!r}" for extra in sorted(absent)]
        for match in _INSTALL.finditer(text):
            named = _EXTRA.sub("", re.sub(r"\{.*?\}|[<>=!~][^\s']*", "", match["what"]))
            command = named.partition("&&")[0].partition(";")[0]
            wanted = [one for one in _PACKAGE.findall(command) if one not in known]
            found += [f"{name}: nothing here needs {one!r}" for one in wanted]
    return found


def test_only_what_exists_is_advised(root: Path) -> None:
    assert advice_violations(root) == []


def test_the_projects_plugins_are_advised_with_the_extras_they_have(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for name in [*project["entry-points"]["interpstack"], "node", "else"]:
        for extra in _EXTRA.findall(install_command(name)):
            assert extra in project["optional-dependencies"], name


def test_what_does_not_exist_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("pip install 'interpstack[no]' and pip install nonesuch\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["attrs>=1"]\n[project.optional-dependencies]\nv8 = ["jsrun"]\n'
    )
    assert "README.md: there is no extra 'no'" in advice_violations(tmp_path)
    assert "README.md: nothing here needs 'nonesuch'" in advice_violations(tmp_path)
