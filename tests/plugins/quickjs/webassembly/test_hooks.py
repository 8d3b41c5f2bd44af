"""The guest's module gets a free place in its table, and exports the table."""

from __future__ import annotations

import pytest
import wasmtime

from interpstack import EngineFailure
from interpstack_javascript.guest_files import guest_path
from interpstack_quickjs.webassembly.hooks import HANDLER, hooked


def test_the_table_has_room_and_is_exported() -> None:
    source = guest_path().read_bytes()
    engine = wasmtime.Engine()
    before, after = (wasmtime.Module(engine, one) for one in (source, hooked(source)))
    names = {one.name for one in before.exports}
    assert {one.name for one in after.exports} == names | {"table"}
    (table,) = (one.type for one in after.exports if one.name == "table")
    assert isinstance(table, wasmtime.TableType)
    assert (table.limits.min, table.limits.max) == (HANDLER + 1, HANDLER + 1)


def test_another_build_is_refused_with_what_to_install() -> None:
    source = guest_path().read_bytes()
    with pytest.raises(EngineFailure, match=r"unknown build.*pip install 'quickjs-rs"):
        hooked(source.replace(b"\x28\x02\xb4\x01", b"\x28\x02\xb0\x01"))
    with pytest.raises(EngineFailure, match=r"push may be faulty.*pip install 'quickjs-rs"):
        hooked(hooked(source))
    with pytest.raises(EngineFailure, match="another table"):
        hooked(source.replace(b"\x01\x70\x01\xe1\x04\xe1\x04", b"\x01\x70\x01\xe1\x14\xe1\x14"))
