"""The first line of a cell."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError
from interpstack_notebook.arguments import CellArguments, read_arguments, read_engine


def test_all_arguments_are_read() -> None:
    line = "engine=node --in a b --out c --in a d --frames --tools f"
    assert read_arguments("%%js", line, "quickjs") == CellArguments(
        engine="node", ins=("a", "b", "d"), outs=("c",), frames=True, tools=("f",)
    )
    assert read_arguments("%%js", " ", "quickjs") == CellArguments(engine="quickjs")


@pytest.mark.parametrize(
    ("line", "engine", "advice"),
    [
        ("", None, "%%guest takes engine=NAME, such as engine=quickjs; got nothing"),
        ("node", None, "%%guest takes engine=NAME, such as engine=quickjs; got 'node'"),
        ("engine=", None, "got 'engine='"),
        ("engine=a engine=b", None, "unrecognized arguments: engine=b; the form is %%guest"),
        ("--inn a", "q", "unrecognized arguments: --inn"),
        ("--in", "q", "--in: expected at least one argument"),
        ("--in 'a", "q", "No closing quotation; close the quotation marks"),
        ("--in a.b", "q", "'a.b' is not the name of a variable"),
        ("--frames", "q", "--frames needs --out NAME"),
    ],
)
def test_wrong_arguments_are_refused(line: str, engine: str | None, advice: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_arguments("%%guest", line, engine)
    assert advice in str(caught.value)


def test_an_engine_alone() -> None:
    assert read_engine("%reset", " engine=node ") == "node"
    assert read_engine("%reset", " ") is None
    for line in ("node", "engine=", "engine=node --in a", "--frames"):
        with pytest.raises(ConfigurationError, match=r"^%reset takes engine=NAME, .* got "):
            read_engine("%reset", line)
