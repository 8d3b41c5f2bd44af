"""The magics, in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from notebooks import LOAD, Kernel, kernel

pytestmark = pytest.mark.usefixtures("running")


@pytest.fixture(scope="module")
def running() -> Iterator[Kernel]:
    with kernel() as made:
        yield made


def test_variables_stay_and_output_is_streamed(running: Kernel) -> None:
    assert (
        running.run("%%js\nlet a = 1; console.log('one'); console.log('two')").text == "one\ntwo\n"
    )
    assert running.run("%%ts\nconst b: number = a + 1; b").bundles[0]["text/plain"] == "2"
    assert running.run("%%js\nlet nothing = 1").bundles == []


def test_records_are_a_table(running: Kernel) -> None:
    (bundle,) = running.run("%%js\n[{a: 1, b: '<b>'}]").bundles
    assert "<td>1</td><td>&lt;b&gt;</td>" in bundle["text/html"]
    assert bundle["text/plain"] == '[{a: 1, b: "<b>"}]'


def test_variables_go_both_ways(running: Kernel) -> None:
    running.run("import pandas\ndf = pandas.DataFrame({'n': [1, 2]})\ndef twice(n): return 2 * n")
    code = "const rows = []; for (const r of df) rows.push({n: await tools.twice(r)}); let s = 'x'"
    assert running.run(f"%%js --in df --tools twice --out rows s\n{code}").status == "ok"
    assert running.run("print(rows, s)").text == "[{'n': 2}, {'n': 4}] x\n"
    assert running.run("%%js --out rows --frames\n0").status == "ok"
    assert running.run("print(type(rows).__name__, rows.n.sum())").text == "DataFrame 6\n"


def test_other_engines_have_sessions_of_their_own(running: Kernel) -> None:
    cell = "%%guest engine=monty\nsquares = [{'n': n * n} for n in range(3)]\nsquares"
    (bundle,) = running.run(cell).bundles
    assert "<td>4</td>" in bundle["text/html"]
    assert running.run("%guest_reset engine=monty").status == "ok"
    assert running.run("%%guest engine=monty\nsquares").status == "error"


def test_images_are_shown(running: Kernel) -> None:
    pixel = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
        "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    code = f"display({{type: 'image', mimeType: 'image/png', data: '{pixel}'}})"
    (bundle,) = running.run(f"%%js\n{code}").bundles
    assert bundle["image/png"].replace("\n", "") == pixel


@pytest.mark.parametrize(
    ("cell", "name", "lines"),
    [
        (
            "%%js\nlet c = 1\nlet d = = 2",
            "GuestCodeError",
            ["SyntaxError: Unexpected", "at cell:2:9", "2 | let d = = 2\n  |         ^"],
        ),
        ("%%js\nnull.x", "GuestCodeError", ["TypeError: ", "cell:1:"]),
        ("%%js --wrong\n1", "CellFailed", ["unrecognized arguments: --wrong"]),
        ("%%js --in missing\n1", "CellFailed", ["the notebook has no variable missing"]),
        ("%%js --out missing\n1", "GuestCodeError", ["ReferenceError: "]),
        ("%%guest engine=nope\n1", "CellFailed", ["nope"]),
        ("%%ts engine=monty\n1", "CellFailed", ["use %%guest engine=monty"]),
        ("%guest_reset nope", "CellFailed", ["%guest_reset takes engine=NAME"]),
        ("%guest_reset engine=node --in a", "CellFailed", ["or nothing; got 'engine=node --in a'"]),
        ("%guest_reset engine=nope", "CellFailed", ["unknown engine 'nope'; known: "]),
    ],
)
def test_errors_are_short_and_fail_the_cell(
    running: Kernel, cell: str, name: str, lines: list[str]
) -> None:
    output = running.run(cell)
    assert output.status == "error"
    assert output.error is not None
    assert output.error[0] == name
    shown = "\n".join(output.error[2])
    assert all(line in shown for line in lines), shown
    assert "site-packages" not in shown
    assert "plugins/" not in shown


def test_an_outcome_of_a_session_is_rich_as_well(running: Kernel) -> None:
    code = (
        "from interpstack import InterpreterStack\n"
        "with InterpreterStack() as stack, stack.session() as session:\n"
        "    outcome = session.eval_sync('\"<b>\"')\n"
        "outcome"
    )
    (bundle,) = running.run(code).bundles
    assert "&lt;b&gt;" in bundle["text/html"]


def test_the_extension_can_be_unloaded_and_loaded(running: Kernel) -> None:
    running.run("%%js\nlet kept = 1")
    running.run("%%html\n<b>one of the magics that IPython loads with its own %%js</b>")
    assert running.run("%unload_ext interpstack").status == "ok"
    assert "Cell magic `%%guest` not found" in running.run("%%guest engine=v8\n1").text
    (own,) = running.run("%%js\nkept").bundles  # IPython's own, which a browser runs
    assert "application/javascript" in own
    assert running.run(LOAD).status == "ok"
    found = running.run("%%js\ntypeof kept").bundles[0]["text/plain"]
    assert found.strip("'\"") == "undefined"


@pytest.mark.parametrize("name", ["interpstack", "interpstack_notebook"])
def test_the_extension_is_loaded_anew_under_either_name(running: Kernel, name: str) -> None:
    assert running.run(f"%reload_ext {name}").status == "ok"
    assert running.run("%%js\n6 * 7").bundles[0]["text/plain"] == "42"
    code = "from interpstack import InterpreterStack, Session\nprint(Session.__module__)"
    assert running.run(code).text == "interpstack.sessions.session\n"
