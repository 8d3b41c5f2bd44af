"""Lists of strings among a server's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_mcp.serving.arguments import texts


def test_every_list_of_strings_is_taken() -> None:
    assert texts("hosts", iter(["a", "b"])) == ("a", "b")
    assert texts("hosts", ()) == ()


@pytest.mark.parametrize("wrong", ["example.org", b"example.org", None, 5, [1]])
def test_everything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^hosts takes a list of strings; got "):
        texts("hosts", wrong)
