"""The kit under the name of the kernel: the same objects, no second copy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import interpstack.testing
import interpstack_testing


@pytest.mark.parametrize("name", interpstack_testing.__all__)
def test_every_public_name_is_the_same_object(name: str) -> None:
    assert getattr(interpstack.testing, name) is getattr(interpstack_testing, name)
    assert name in interpstack.testing.__all__
    assert name in dir(interpstack.testing)


def test_what_the_kit_does_not_offer_is_no_attribute_of_the_alias() -> None:
    with pytest.raises(AttributeError, match=r"'interpstack_testing' has no attribute 'Nothing'"):
        interpstack.testing.Nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_alias_loads_pytest_no_sooner_than_the_kit() -> None:
    code = (
        "import sys\nfrom interpstack.testing import FakeEngine\nassert 'pytest' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
