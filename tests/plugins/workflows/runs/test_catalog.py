"""Workflows are known by name, and by path within allowed folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import script

from interpstack import ConfigurationError
from interpstack_workflows.errors import MetadataError, UnknownWorkflow
from interpstack_workflows.runs.catalog import WorkflowCatalog, metadata_of
from interpstack_workflows.runs.values import Script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "flows"
    inner.mkdir()
    (inner / "one.js").write_text(script("return 1", "first"), "utf-8")
    (inner / "two.mjs").write_text(script("return 2", "zweiter ü"), "utf-8")
    (inner / "broken.js").write_text("export default 1", "utf-8")
    (inner / "notes.txt").write_text("nothing")
    (tmp_path / "outside.js").write_text(script("return 3", "outside"), "utf-8")
    return inner


def test_workflows_of_folders_are_known_by_their_metadata(folder: Path) -> None:
    catalog = WorkflowCatalog([folder])
    assert catalog.names() == ["first", "zweiter ü"]
    found = catalog.named("first")
    assert (found.name, found.path, found.source_name) == ("first", folder / "one.js", "one.js")


def test_one_folder_may_be_given_alone(folder: Path) -> None:
    assert WorkflowCatalog(folder).names() == ["first", "zweiter ü"]


def test_a_folder_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"workflows takes folders, and '.*gone' does not"):
        WorkflowCatalog([folder, folder / "gone"])
    with pytest.raises(ConfigurationError, match=r"'.*one.js' is a file; it also takes a mapping"):
        WorkflowCatalog(folder / "one.js")


def test_an_unknown_name_lists_the_known_ones(folder: Path) -> None:
    with pytest.raises(UnknownWorkflow) as caught:
        WorkflowCatalog([folder]).named("frist")
    assert str(caught.value) == (
        "Unknown workflow: frist; did you mean 'first'? Known workflows: first, zweiter ü"
    )
    with pytest.raises(UnknownWorkflow, match=r"Unknown workflow: x\. Known workflows: none"):
        WorkflowCatalog().named("x")


def test_names_are_of_files_or_sources(folder: Path) -> None:
    catalog = WorkflowCatalog(
        {"a": folder / "one.js", "b": str(folder / "two.mjs"), "c": script("")}
    )
    assert catalog.named("a").path == folder / "one.js"
    assert catalog.named("b").path == folder / "two.mjs"
    assert catalog.named("c") == Script(script(""), "c.js", None, "c")


def test_users_give_paths_names_and_sources(folder: Path) -> None:
    catalog = WorkflowCatalog([folder])
    assert catalog.given(folder / "one.js").path == folder / "one.js"
    assert catalog.given(str(folder / "one.js")).path == folder / "one.js"
    assert catalog.given("first").name == "first"
    assert catalog.given("export default 1").source == "export default 1"
    with pytest.raises(UnknownWorkflow, match=r"No workflow file at nowhere\.js: No such file"):
        catalog.given("nowhere.js")
    wrong: Any = 3
    with pytest.raises(UnknownWorkflow, match="a workflow is a Path, the name of a known"):
        catalog.given(wrong)


def test_paths_lead_only_into_allowed_folders(folder: Path) -> None:
    catalog = WorkflowCatalog()
    caller = catalog.given(folder / "one.js")
    assert catalog.beside(caller, "./two.mjs").path == folder / "two.mjs"
    for path in ("../outside.js", str(folder.parent / "outside.js"), "../flows/../outside.js"):
        with pytest.raises(UnknownWorkflow, match="outside the allowed folders"):
            catalog.beside(caller, path)
    (folder / "link.js").symlink_to(folder.parent / "outside.js")
    with pytest.raises(UnknownWorkflow, match="outside the allowed folders"):
        catalog.beside(caller, "link.js")
    with pytest.raises(UnknownWorkflow, match="is not a workflow file; these end in"):
        catalog.beside(caller, "notes.txt")
    with pytest.raises(UnknownWorkflow, match="the calling script has no file"):
        catalog.beside(Script(""), "one.js")
    assert WorkflowCatalog([folder.parent]).beside(caller, "../outside.js").source


def test_large_and_foreign_files_are_refused(folder: Path) -> None:
    (folder / "large.js").write_text(" " * (2**20 + 1))
    with pytest.raises(UnknownWorkflow, match="larger than a workflow may be"):
        WorkflowCatalog().given(folder / "large.js")
    (folder / "bytes.js").write_bytes(b"\xff\xfe")
    with pytest.raises(UnknownWorkflow, match="is not UTF-8 text"):
        WorkflowCatalog().given(folder / "bytes.js")
    assert WorkflowCatalog([folder]).names() == ["first", "zweiter ü"]


def test_a_changed_file_is_read_again(folder: Path) -> None:
    catalog = WorkflowCatalog([folder])
    assert "first" in catalog.names()
    path = folder / "one.js"
    path.write_text(script("return 1", "renamed"), "utf-8")

    os.utime(path, (1, 1))
    assert catalog.names() == ["renamed", "zweiter ü"]


async def test_scripts_have_metadata() -> None:
    found = await metadata_of(Script(script("return 1", "here")))
    assert found.name == "here"
    with pytest.raises(MetadataError):
        await metadata_of(Script("export default 1"))
