"""States in files of a directory, for the processes of one machine.

Each state has two files, named by the hash of its key: the claim, with the key, and the blob.
Files are replaced whole. A lock, which ends with its process, surrounds each change.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import math
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import attrs

from interpstack import ConfigurationError
from interpstack_state.contract import (
    MAX_CLAIM_SECONDS,
    BlobStore,
    StoredBlob,
    check_claim,
    check_delete,
    check_idle,
    is_key,
)
from interpstack_state.errors import (
    StateBusy,
    StateRejected,
    StateTaken,
    StoreUnavailable,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["FileStore"]

_log = logging.getLogger(__name__)
_CLAIM, _STATE = ".claim", ".state"
#: Bytes of the largest claim: a key, a token and two times.
_MAX_CLAIM: Final = 16_384


@attrs.frozen
class _Claim:
    key: str
    token: str
    until: float
    used: float

    @classmethod
    def read(cls, path: Path) -> _Claim | None:
        """The claim in a file; `None` if there is none.

        Raises:
            StateRejected: The file is damaged.
        """
        try:
            with _opened(path) as file:
                found = json.loads(file.read(_MAX_CLAIM))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise StateRejected(f"the claim in {path} is damaged: {error}") from error
        shape = {"key": str, "token": str, "until": float, "used": float}
        parts = found.items() if isinstance(found, dict) else ()
        if {name: type(value) for name, value in parts} != shape:
            raise StateRejected(f"the claim in {path} is damaged: it has other parts")
        claim = cls(**found)
        if not (math.isfinite(claim.until) and math.isfinite(claim.used)):
            raise StateRejected(f"the claim in {path} is damaged: it holds no time")
        if _digest(claim.key) != path.stem or not is_key(claim.key):
            raise StateRejected(f"the claim in {path} is damaged: it is of another state")
        return claim

    def holds(self, now: float) -> bool:
        """Whether the claim holds; one without an end, in a damaged file, does not."""
        return 0 < self.until - now <= MAX_CLAIM_SECONDS


@attrs.define(eq=False)
class FileStore(BlobStore):
    """States in files of a directory, for the processes of one machine.

    The directory is created with access for its owner only. It must not be on a network file
    system.

    Args:
        path: The directory.
        max_bytes: Bytes of the largest blob.

    Raises:
        ConfigurationError: The system has no locks of files.
    """

    path: Path = attrs.field(converter=Path)

    def __attrs_post_init__(self) -> None:
        if fcntl is None:
            raise ConfigurationError("FileStore needs POSIX locks of files; use SQLiteStore here")

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        with self._locked(key) as place:
            now = time.time()
            claim = _Claim.read(place.with_suffix(_CLAIM))
            if claim is not None and claim.token != token and claim.holds(now):
                raise StateBusy(key, claim.until - now, claim.until)
            self._hold(place, key, token, seconds)
            return self._read(place.with_suffix(_STATE))

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        with self._locked(key) as place:
            _check(place, key, token)
            self._hold(place, key, token, seconds)

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        self.check_save(key, token, data, seconds)
        with self._locked(key) as place:
            _check(place, key, token)
            _replace(place.with_suffix(_STATE), data)
            self._hold(place, key, token, seconds)

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        with self._locked(key) as place:
            there = place.with_suffix(_CLAIM).exists()
            if there and token is not None:
                _check(place, key, token)
            _remove(place)
            return there

    def blobs(self) -> Iterator[StoredBlob]:
        for path in self._claims():
            try:
                with _failures(self.path):
                    claim, size = _Claim.read(path), _size(path.with_suffix(_STATE))
            except StateRejected as error:
                _log.warning("a state is left out: %s", error)
                continue
            now = time.time()
            if claim is not None:
                yield StoredBlob(
                    key=claim.key,
                    size=size,
                    idle_seconds=max(0.0, now - claim.used),
                    claimed=claim.holds(now),
                )

    def expire(self, idle_seconds: float) -> int:
        check_idle(idle_seconds)
        count = 0
        for state in self.blobs():
            with self._locked(state.key) as place:
                now = time.time()
                claim = _Claim.read(place.with_suffix(_CLAIM))
                if claim and not claim.holds(now) and now - claim.used >= idle_seconds:
                    _remove(place)
                    count += 1
        return count

    def _claims(self) -> list[Path]:
        with _failures(self.path):
            return sorted(self.path.glob("*" + _CLAIM))

    def _hold(self, place: Path, key: str, token: str, seconds: float) -> None:
        now = time.time()
        claim = _Claim(key, token, now + seconds, now)
        _replace(place.with_suffix(_CLAIM), json.dumps(attrs.asdict(claim)).encode())

    def _read(self, path: Path) -> bytes | None:
        try:
            with _opened(path) as file:
                self.check_size(os.fstat(file.fileno()).st_size)
                return file.read(self.max_bytes)
        except FileNotFoundError:
            return None

    @contextmanager
    def _locked(self, key: str) -> Iterator[Path]:
        """The path of a state's files, without their endings, for one user at a time.

        The lock files are few, and stay: one that is removed could be locked twice.
        """
        digest = _digest(key)
        with _failures(self.path):
            self.path.mkdir(0o700, parents=True, exist_ok=True)
            lock = os.open(self.path / f"{digest[:2]}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield self.path / digest
            finally:
                os.close(lock)


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"the states in {path} cannot be used: {error}") from error


def _digest(key: str) -> str:
    """The name of a state's files; no state has a key that is not Unicode text."""
    return hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()


def _opened(path: Path) -> BinaryIO:
    """A file that is a plain one: others can keep their reader waiting, or are not of a state.

    Raises:
        StateRejected: The path is not that of a plain file.
        OSError: It cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise StateRejected(f"{path} is damaged: it is a link") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StateRejected(f"{path} is damaged: it is not a plain file")
    return os.fdopen(descriptor, "rb")


def _check(place: Path, key: str, token: str) -> None:
    claim = _Claim.read(place.with_suffix(_CLAIM))
    if claim is None or claim.token != token:
        raise StateTaken(key)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _replace(path: Path, data: bytes) -> None:
    """Replace a file whole, also if this process or the machine dies in the middle."""
    new = path.with_suffix(path.suffix + ".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)  # it would keep a full disk full
        raise


def _remove(place: Path) -> None:
    """Delete a state's files; the blob first, which would count again without its claim."""
    for ending in (_STATE, _CLAIM):
        place.with_suffix(ending).unlink(missing_ok=True)
