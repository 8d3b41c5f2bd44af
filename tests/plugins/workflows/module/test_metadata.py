"""Metadata: read by a real parser, without running the module."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_workflows.api import MetadataError
from interpstack_workflows.module.metadata import (
    PhaseMetadata,
    WorkflowMetadata,
    read_metadata,
)

_FIELDS = "name: 'n', description: 'd'"


def test_metadata_are_a_literal_that_the_module_exports() -> None:
    source = """
    throw new Error("this never runs");
    export const meta = {
      name: "research", description: 'Finds "things"', whenToUse: "often",
      phases: [{ title: "A", detail: "first", model: "m", provider: "p" }, { title: "B" }],
    };
    """
    assert read_metadata(source, name="r.workflow.js") == WorkflowMetadata(
        name="research",
        description='Finds "things"',
        when_to_use="often",
        phases=(
            PhaseMetadata(title="A", detail="first", model="m", provider="p"),
            PhaseMetadata(title="B"),
        ),
        raw={
            "name": "research",
            "description": 'Finds "things"',
            "whenToUse": "often",
            "phases": [
                {"title": "A", "detail": "first", "model": "m", "provider": "p"},
                {"title": "B"},
            ],
        },
    )


@pytest.mark.parametrize(
    ("literal", "name"),
    [
        ("{ /* { é } */ 'name': \"x\", // }\n \"description\": 'd' }", "x"),
        (
            "{ name: '{ } // no', description: 'd', n: [1, -2.5, true, false, null,], 3: {}, }",
            "{ } // no",
        ),
        ("{ name: 'résumé', description: 'd' }", "résumé"),
        ("{ name: '\\ud83d\\ude00 \\u{1F600}', description: 'd' }", "😀 😀"),
        ("{ name: 'a\\\nb', description: 'd' }", "ab"),
        ("{ name: 'x', description: 'd', __proto__: 1 }", "x"),
        ("({ name: ('x'), description: 'd', 1: -(2) })", "x"),
    ],
)
def test_literals_as_the_language_has_them(literal: str, name: str) -> None:
    source = f"/* ünicode, 日本 */ export const meta = {literal}; export default 1"
    assert read_metadata(source, name="a.js").name == name


@pytest.mark.parametrize(
    "source",
    [
        f"function f() {{ const meta = {{{_FIELDS}}} }}",
        f"const meta = {{{_FIELDS}}}",
        f'"export const meta = {{{_FIELDS}}}"',
        f"// export const meta = {{{_FIELDS}}}",
        "export default 1",
        "",
    ],
)
def test_other_places_do_not_count(source: str) -> None:
    with pytest.raises(MetadataError, match=r"no `export const meta = \{…\}`"):
        read_metadata(source, name="a.js")


@pytest.mark.parametrize(
    ("source", "place", "fault"),
    [
        ("\nexport const meta = make()", (2, 21), "meta must be an object literal"),
        (f"export let meta = {{{_FIELDS}}}", (1, 1), "meta must be exported as a const"),
        ("export const meta = {name: `n`}", (1, 28), "a template is none"),
        ("export const meta = {name: n}", (1, 28), "the name n is none"),
        ("export const meta = {...a}", (1, 22), "a spread is none"),
        ("export const meta = {[a]: 1}", (1, 23), "a computed key is none"),
        ("export const meta = {name}", (1, 22), "a method or a shorthand is none"),
        ("export const meta = {a() {}}", (1, 22), "a method or a shorthand is none"),
        ("export const meta = {a: f()}", (1, 25), "an expression is none"),
        ("export const meta = {a: [1,,2]}", (1, 25), "a hole in an array is none"),
        ("export const meta = {a: /x/}", (1, 25), "a regular expression is none"),
        ("export const meta = {a: 1n}", (1, 25), "a BigInt is none"),
        ("export const meta = {a: 1e999}", (1, 25), "a number that is too large is none"),
        ("export const meta = {a: [-1e999]}", (1, 27), "a number that is too large is none"),
        ("export const meta = {description: 'd'}", (1, 21), "name takes a string"),
        ("export const meta = {name: 1, description: 'd'}", (1, 21), "name takes a string"),
        ("export const meta = {name: 'n'}", (1, 21), "description takes a string"),
        (f"export const meta = {{{_FIELDS}, whenToUse: 1}}", (1, 21), "whenToUse takes a string"),
        (
            f"export const meta = {{{_FIELDS}, argsSchema: []}}",
            (1, 21),
            "argsSchema takes a JSON Schema",
        ),
        (f"export const meta = {{{_FIELDS}, phases: 'a'}}", (1, 21), "phases takes an array"),
        (f"export const meta = {{{_FIELDS}, phases: [1]}}", (1, 21), r"phases\[0\] takes"),
        (
            f"export const meta = {{{_FIELDS}, phases: [{{title: 't', n: 1}}]}}",
            (1, 21),
            "all strings",
        ),
        (
            "export const meta = {",
            (1, 22),
            "the module does not parse: Expected `}` but found `EOF`",
        ),
        (
            f"export const meta = {{{_FIELDS}}}; let n: number = 1",
            (1, 57),
            "the module does not parse: .*It is TypeScript, which needs a name that ends in .ts",
        ),
    ],
)
def test_faults_name_their_place(source: str, place: tuple[int, int], fault: str) -> None:
    with pytest.raises(MetadataError, match=fault) as raised:
        read_metadata(source, name="a.workflow.js")
    assert (raised.value.line, raised.value.column) == place
    # A source that does not parse is not a fault of its metadata.
    expected = "" if fault.startswith("the module") else "Workflow script "
    assert str(raised.value).startswith(f"a.workflow.js:{place[0]}:{place[1]}: {expected}")
    assert "\n" not in str(raised.value)


def test_numbers_are_read_from_a_large_module_too() -> None:
    rows = ", ".join(f"[{number}, null, true]" for number in range(20_000))
    source = f"const rows = [{rows}];\nexport const meta = {{{_FIELDS}, n: [1, 2.5, null, true]}}"
    assert read_metadata(source, name="a.js").raw["n"] == [1, 2.5, None, True]


def test_a_literal_may_not_nest_too_deeply() -> None:
    source = f"export const meta = {{{_FIELDS}, a: {'[' * 2000}{']' * 2000}}}"
    with pytest.raises(MetadataError, match=r"^a\.js:1:21: .*meta is nested too deeply$"):
        read_metadata(source, name="a.js")


def test_half_of_a_surrogate_pair_in_a_text_is_carried() -> None:
    source = "export const meta = {name: '\\ud800', description: '\ud800'}"
    found = read_metadata(source, name="a.js")
    assert (found.name, found.description) == ("\ud800", "\ud800")


def test_typescript() -> None:
    source = f"interface M {{ name: string }}\nexport const meta: M = {{{_FIELDS}}} as const;"
    assert read_metadata(source, name="a.ts").name == "n"
    with pytest.raises(MetadataError, match=r"^a\.ts:1:8: "):
        read_metadata("let x: = 1", name="a.ts")


@pytest.mark.parametrize(
    "source", ["[" * 100_000, "x = " + "{a:" * 50_000, "`${" * 50_000, "é" * 2**20, 5, None]
)
def test_hostile_sources_are_refused(source: Any) -> None:
    with pytest.raises(MetadataError):
        read_metadata(source, name="a.js")


def test_sources_are_not_run() -> None:
    source = f"for (;;); export const meta = {{{_FIELDS}}}; await never; import 'nothing'"
    assert read_metadata(source, name="a.js").description == "d"
