"""`interpstack run --engine node FILE`: a file imports the files and packages beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interpstack_node.modules.places import VARIABLE


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "interpstack", "run", "--engine", "node", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)


def package(folder: Path, name: str, value: str) -> None:
    own = folder / "node_modules" / name
    own.mkdir(parents=True)
    (own / "package.json").write_text(json.dumps({"name": name, "main": "index.js"}))
    (own / "index.js").write_text(f"module.exports = {json.dumps(value)}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a program in its folder `bin`, and an empty folder beside it."""
    (tmp_path / "elsewhere").mkdir()
    program = tmp_path / "project" / "bin"
    program.mkdir(parents=True)
    (program / "near.mjs").write_text("export const near = 41;\n")
    (program / "main.mjs").write_text('import {near} from "./near.mjs";\nnear + 1\n')
    (program / "main.ts").write_text('const {near} = await import("./near.mjs");\nnear as number\n')
    return tmp_path / "project"


def test_files_beside_it_are_found_from_any_folder(project: Path) -> None:
    assert run(project / "bin", "main.mjs").stdout == "42\n"
    assert run(project, "bin/main.ts").stdout == "41\n"
    assert run(project.parent / "elsewhere", "../project/bin/main.mjs").stdout == "42\n"
    link = project.parent / "elsewhere" / "link.mjs"
    link.symlink_to(project / "bin" / "main.mjs")
    assert run(project.parent / "elsewhere", "link.mjs").stdout == "42\n"


def test_packages_are_found_beside_it_above_it_and_in_the_current_folder(project: Path) -> None:
    package(project / "bin", "own", "beside")
    package(project, "own", "above")
    package(project, "more", "above")
    package(project.parent / "elsewhere", "more", "here")
    package(project.parent / "elsewhere", "rest", "here")
    (project / "bin" / "all.mjs").write_text(
        'import a from "own"; import b from "more"; import c from "rest"; [a, b, c].join()\n'
    )
    done = run(project.parent / "elsewhere", str(project / "bin" / "all.mjs"))
    assert done.stdout == "beside,above,here\n", done.stderr


def test_a_file_above_it_is_refused_with_the_reason(project: Path) -> None:
    (project / "up.mjs").write_text("export default 1;\n")
    (project / "bin" / "up.mjs").write_text('import up from "../up.mjs"; up\n')
    done = run(project, "bin/up.mjs")
    assert done.returncode == 1
    assert '"../up.mjs". It leads out of the working folder (option working_dir)' in done.stderr


def test_an_option_for_the_folder_has_precedence(project: Path) -> None:
    (project / "near.mjs").write_text("export const near = 1;\n")
    done = run(project, "--engine-option", "working_dir=.", "bin/main.mjs")
    assert done.stdout == "2\n"


def test_other_sources_have_no_folder(project: Path) -> None:
    done = run(project / "bin", "-e", 'import {near} from "./near.mjs"; near')
    assert done.returncode == 1
    assert "This engine has no working folder (its option working_dir)" in done.stderr
    assert "File 'gone.mjs' not found." in run(project, "gone.mjs").stderr
