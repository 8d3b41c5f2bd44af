"""Files: private, replaced whole, and refused when they are damaged."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_state import FileStore, StateRejected, StoreUnavailable, files


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    made = FileStore(tmp_path / "deep" / "states")
    made.claim("a", "one", 9)
    made.save("a", "one", b"state", 0)
    return made


def test_only_the_owner_may_read(store: FileStore) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.path.iterdir()} == {0o600}


def test_names_of_files_say_nothing_about_keys(store: FileStore) -> None:
    store.claim("../../secret/../name", "one", 0)
    assert {path.suffix for path in store.path.iterdir()} == {".claim", ".state", ".lock"}
    assert not [path for path in store.path.rglob("*") if "secret" in path.name]
    assert not [path for path in store.path.parent.iterdir() if path != store.path]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": "a"}', b"[" * 10_000, b"\xff"])
def test_a_damaged_claim_is_refused_and_can_be_deleted(store: FileStore, damage: bytes) -> None:
    next(store.path.glob("*.claim")).write_bytes(damage)
    for use in (
        lambda: store.claim("a", "two", 9),
        lambda: store.save("a", "one", b"x", 9),
        lambda: store.renew("a", "one", 9),
    ):
        with pytest.raises(StateRejected, match="is damaged"):
            use()
    assert store.delete("a")
    assert store.claim("a", "two", 0) is None


@pytest.mark.parametrize(
    ("part", "other"),
    [("until", math.inf), ("used", math.nan), ("key", "another"), ("key", "\ud800"), ("key", "")],
)
def test_a_claim_without_end_or_of_another_state_is_refused(
    store: FileStore, part: str, other: object
) -> None:
    path = next(store.path.glob("*.claim"))
    path.write_text(json.dumps({**json.loads(path.read_bytes()), part: other}))
    with pytest.raises(StateRejected, match="is damaged"):
        store.claim("a", "two", 9)
    assert list(store.blobs()) == []
    assert store.delete("a")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("ending", ["claim", "state"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_plain_files_are_read(
    store: FileStore, make: Callable[[Path], None], ending: str
) -> None:
    path = next(store.path.glob(f"*.{ending}"))
    path.unlink()
    make(path)
    with pytest.raises(StateRejected, match="not a plain file"):
        store.claim("a", "two", 9)


def test_a_damaged_claim_is_left_out_of_the_list(
    store: FileStore, caplog: pytest.LogCaptureFixture
) -> None:
    next(store.path.glob("*.claim")).write_bytes(b"{")
    store.claim("b", "one", 0)
    assert [one.key for one in store.blobs()] == ["b"]
    assert "a state is left out" in caplog.text


@pytest.mark.parametrize("key", ["\ud800", "a\0b", "", "k" * 3000])
def test_a_key_that_no_state_has_is_left_out_of_the_list(store: FileStore, key: str) -> None:
    name = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()
    claim = {"key": key, "token": "one", "until": 0.0, "used": 0.0}
    (store.path / f"{name}.claim").write_text(json.dumps(claim))
    assert [one.key for one in store.blobs()] == ["a"]
    assert store.expire(0.0) == 1


@pytest.mark.parametrize("ending", ["claim", "state"])
def test_links_are_not_followed(store: FileStore, tmp_path: Path, ending: str) -> None:
    path = next(store.path.glob(f"*.{ending}"))
    for target in (tmp_path / "secret", path):  # to a file outside, and to the link itself
        (tmp_path / "secret").write_bytes(b"secret")
        path.unlink()
        path.symlink_to(target)
        store.claim("b", "one", 0)
        with pytest.raises(StateRejected, match="is a link"):
            store.claim("a", "two", 9)
        assert "b" in [one.key for one in store.blobs()]


def test_what_a_killed_process_left_is_replaced(store: FileStore) -> None:
    state = next(store.path.glob("*.state"))
    state.with_suffix(".state.new").write_bytes(b"half a sta")
    assert store.claim("a", "two", 9) == b"state"
    store.save("a", "two", b"whole", 0)
    assert store.claim("a", "three", 0) == b"whole"


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnavailable, match=r"the states in .*file cannot be used"):
        FileStore(tmp_path / "file").claim("a", "one", 9)


def test_a_system_without_locks_gets_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    with pytest.raises(ConfigurationError, match="use SQLiteStore here"):
        FileStore(tmp_path)


def test_a_claim_without_an_end_does_not_hold(store: FileStore) -> None:
    store.claim("b", "one", 9)
    (claim,) = (path for path in store.path.glob("*.claim") if '"b"' in path.read_text())
    claim.write_text(json.dumps({**json.loads(claim.read_text()), "until": 1e12}))
    assert {one.key: one.claimed for one in store.blobs()}["b"] is False
    assert store.claim("b", "other", 9) is None


def test_a_state_that_could_not_be_written_leaves_no_file(store: FileStore) -> None:
    store.claim("b", "one", 9)
    (claim,) = (path for path in store.path.glob("*.claim") if '"b"' in path.read_text())
    claim.with_suffix(".state").mkdir()  # a file cannot replace a folder
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        store.save("b", "one", b"state", 9)
    assert not list(store.path.glob("*.new"))
