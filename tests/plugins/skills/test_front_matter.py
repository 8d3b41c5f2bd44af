"""Front matter by anybody is read in linear time, or refused."""

from __future__ import annotations

import pytest

from interpstack_skills.front_matter import read_front_matter


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("no front matter", {}),
        ("---\nmodule: a.js\n---\n", {"module": "a.js"}),
        ("\ufeff--- \r\nmodule: a.js\r\n---\t\r\ntext", {"module": "a.js"}),
        ("---\n\n\nmodule: a.js\n\n---", {"module": "a.js"}),
        ("---\n- a list\n---\n", {}),
        ("---\na: &x {b: 1}\nc: *x\n---\n", {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_fields(text: str, fields: dict[str, object]) -> None:
    assert read_front_matter(text) == fields


#: Mappings of which each merges the one before it twice.
_MERGES = "a0: &a0 {k: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 60)
)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (_MERGES, "merges with << are not supported"),
        ("[" * 19_000, "it nests deeper than 50 levels"),
        ("{a: " * 4_000, "it nests deeper than 50 levels"),
        ("- " * 9_000, "it nests deeper than 50 levels"),
        ("when: 1" + ":59" * 6_000 + ".0", "cannot be read"),
        ("a: " + "x" * 20_000, "is longer than 20000 characters"),
    ],
    ids=["merges", "lists", "mappings", "blocks", "sixties", "long"],
)
def test_what_would_take_long_is_refused(body: str, found: str) -> None:
    with pytest.raises(ValueError, match=r"^(cannot be read|is longer)") as caught:
        read_front_matter(f"---\n{body}\n---\n")
    assert found in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["---" + "\n" * 2**20, "---\n" + "\n---" * 2**18 + "x"])
def test_a_text_without_an_end_is_read_once(text: str) -> None:
    assert read_front_matter(text) == {}
