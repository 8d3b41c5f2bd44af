"""Names of tools, as code calls them."""

from __future__ import annotations

import pytest

from interpstack_cli.running.names import guest_name
from interpstack_ptc.names import guest_name as name_in_agents


@pytest.mark.parametrize("language", ["javascript", "python"])
@pytest.mark.parametrize(
    "name", ["read_price", "web-search", "readPrice", "a.b c", "_private", "import", "x2_y"]
)
def test_they_are_those_in_agents(name, language):
    assert guest_name(name, language) == name_in_agents(name, language)


def test_a_name_of_separators_alone_stays():
    assert guest_name("__") == "__"
