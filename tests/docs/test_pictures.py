"""The pictures show what their sources say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from benefit_figures import FIGURES

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
_SVG = "{http://www.w3.org/2000/svg}"
_SOURCES = sorted(PICTURES.glob("*.dot"))


def said(svg: str) -> list[str]:
    """Names of nodes and arrows, text and colours; where they stand depends on fonts."""
    found = []
    for element in ET.fromstring(svg).iter():
        if element.tag in (f"{_SVG}title", f"{_SVG}text"):
            found.append(element.text or "")
        found += [value for name in ("fill", "stroke") if (value := element.get(name))]
    return found


@pytest.mark.parametrize("source", _SOURCES, ids=lambda path: path.stem)
def test_a_picture_is_drawn_from_its_source(source: Path, tmp_path: Path) -> None:
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    for name in ("draw.py", source.name):
        shutil.copy(PICTURES / name, tmp_path)
    subprocess.run([sys.executable, str(tmp_path / "draw.py")], check=True)
    drawn = (tmp_path / source.name).with_suffix(".svg").read_text("utf-8")
    kept = source.with_suffix(".svg").read_text("utf-8")
    assert said(kept) == said(drawn), "draw it again: tox -e pictures"


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_shown_with_a_text_and_loads_nothing(picture: Path) -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    shown = [text for text in pages if f"pictures/{picture.name})" in text]
    assert shown
    assert not any(f"![](../pictures/{picture.name})" in text for text in shown)
    svg = picture.read_text("utf-8")
    assert "url(http" not in svg.replace('"', "")
    assert "<script" not in svg


def test_there_is_a_source_for_every_drawing() -> None:
    curves = json.loads((PICTURES / "scale.json").read_text("utf-8"))
    drawings = {path.stem for path in PICTURES.glob("*.svg")} - {"demo"}
    assert drawings == {path.stem for path in _SOURCES} | curves.keys() | {FIGURES.stem}
