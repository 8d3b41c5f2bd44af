"""Parts of results."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_langchain.workflows.by_models.selection import selected
from interpstack_workflows.api import WorkflowError

_RESULT = {"files": [{"name": "a.txt", "a/b": 1}], "text": "0123456789", "none": None}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("files/0/name", "text, characters 0 to 5 of 5\na.txt"),
        ("/files/0/a~1b", "number, characters 0 to 1 of 1\n1"),
        ("none", "null, characters 0 to 4 of 4\nnull"),
        ("text", "text, characters 0 to 6 of 10; 4 more, from offset 6\n012345"),
        ("files", 'array of 1 items, characters 0 to 6 of 26; 20 more, from offset 6\n[{"nam'),
    ],
)
def test_a_path_leads_to_a_part(path: str, text: str) -> None:
    assert selected(_RESULT, path, 0, 6) == text


def test_pieces_follow_each_other_to_the_end() -> None:
    assert selected(_RESULT, "text", 6, 6) == "text, characters 6 to 10 of 10\n6789"
    assert selected(_RESULT, "", 0, 5).startswith("object with 3 fields (files, text, none), ")
    with pytest.raises(WorkflowError, match="has 10 characters; offset 11 is behind"):
        selected(_RESULT, "text", 11, 6)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("file", "the result has no field 'file'; did you mean 'files'"),
        ("files/1", "files is an array of 1 items, counted from 0; got '1'"),
        ("files/-1", "counted from 0"),
        ("files/" + "9" * 5000, "counted from 0"),
        ("text/0", "text is text, which has no parts"),
    ],
)
def test_paths_that_lead_nowhere_say_what_is_there(path: str, says: str) -> None:
    with pytest.raises(WorkflowError, match=says):
        selected(_RESULT, path, 0, 6)


@pytest.mark.parametrize("value", [True, 1.5, [], {}, ""])
def test_every_value_has_a_kind(value: Any) -> None:
    assert ", characters 0 to " in selected(value, "", 0, 10)
