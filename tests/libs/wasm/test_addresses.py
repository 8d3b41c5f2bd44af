"""Processes whose address space is bounded (`ulimit -v`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interpstack_wasm import addresses

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems do not hold a process to its address space"
)

_HEAD = """
import resource
from interpstack import InterpreterStack
import {engine}.engine

def limit(mib):
    resource.setrlimit(resource.RLIMIT_AS, (mib * 2**20, resource.RLIM_INFINITY))

def taken():
    pages = open("/proc/self/statm").read().split()[0]
    return int(pages) * resource.getpagesize()

def run(session, source):
    outcome = session.eval_sync(source)
    print(outcome.error.message if outcome.error else outcome.text)
"""


def _run(code: str, engine: str = "interpstack_quickjs") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _HEAD.replace("{engine}", engine) + code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_guests_that_reserve_little_do_the_same() -> None:
    lines = _run("""
limit(2000)
with InterpreterStack() as stack, stack.session("one") as one, stack.session("two") as two:
    run(one, "const held = [...Array(30).keys()].map(n => new Uint8Array(2**20).fill(n)); 30")
    run(two, "const deep = n => n ? deep(n - 1) : 'deep'; deep(500)")
    run(one, "held.map(part => part[77]).join() === [...held.keys()].join()")
    run(one, "const hog = []; for (;;) hog.push(new Array(10000).fill(7))")
    run(one, "held.length")
    run(two, "deep(1)")
""")
    assert lines[:3] == ["30", "deep", "true"]
    assert lines[3].startswith("the guest used up its memory limit of 64 MiB")
    assert lines[4:] == ["30", "deep"]


def test_images_fit_guests_of_both_kinds() -> None:
    code = """
import asyncio, sys
from interpstack import Image
if {mib}: limit({mib})
async def main():
    with InterpreterStack() as stack:
        session = stack.session("one")
        text = sys.stdin.read()
        if text:
            await session.restore(Image(*text.split()[:2], bytes.fromhex(text.split()[2])))
            print((await session.eval("f(kept)")).text)
        else:
            await session.eval("let kept = 41; const f = n => n + 1")
            image = await session.image()
            print(image.engine, image.base, image.data.hex())
asyncio.run(main())
"""
    text = ""
    for mib in (0, 2000):
        done = subprocess.run(
            [sys.executable, "-c", _HEAD.replace("{engine}", "interpstack_quickjs")
             + code.replace("{mib}", str(mib))],
            input=text, capture_output=True, text=True, check=True,
        )  # fmt: skip
        text = done.stdout
    assert text == "42\n"


def test_too_few_addresses_are_reported() -> None:
    (line,) = _run("""
limit(400)
with InterpreterStack() as stack, stack.session() as session:
    run(session, "1")
""")
    assert "it needs 512 MiB of address space at once" in line
    assert "this process may have 400 MiB in total (ulimit -v)" in line
    assert "raise that limit where it is set" in line


def test_a_limit_that_comes_later_is_reported() -> None:
    lines = _run("""
with InterpreterStack() as stack, stack.session("one") as one, stack.session("two") as two:
    run(one, "1")
    # Room for the threads and heaps of the host, but for no other guest.
    limit(taken() // 2**20 + 1000)
    run(two, "1")
    run(one, "2")
""")
    assert lines[::2] == ["1", "2"]
    assert "it needs 4160 MiB of address space at once" in lines[1]
    assert "(ulimit -v)" in lines[1]


def test_v8_says_so_instead_of_ending_the_process() -> None:
    pytest.importorskip("jsrun")
    (line,) = _run(
        """
limit(3000)
with InterpreterStack("v8") as stack, stack.session() as session:
    run(session, "1")
""",
        "interpstack_v8",
    )
    assert "V8 cannot be started: it needs 51200 MiB of address space at once" in line


@pytest.mark.parametrize(
    ("mib", "verdict"), [(None, "ok"), (10**9, "ok"), (8000, "warn"), (100, "fail")]
)
def test_doctor_tells(monkeypatch: pytest.MonkeyPatch, mib: int | None, verdict: str) -> None:
    from interpstack_cli.installed.checks import check_addresses

    limit = resource.RLIM_INFINITY if mib is None else mib * 2**20
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
    # Other tests may have left this process with any number.
    monkeypatch.setattr(addresses, "_taken", lambda: 1000 * 2**20)
    check = check_addresses()
    assert check.verdict == verdict
    assert ("ulimit -v" in check.fix) is (verdict != "ok")
    assert mib is None or f"limited to {mib} MiB" in check.found
