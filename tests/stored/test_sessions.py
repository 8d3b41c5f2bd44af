"""Sessions that earlier code has put into stores are still opened."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from interpstack import InterpreterStack
from interpstack_sessions.api import StoredSessions
from interpstack_state import EncryptedStore, MemoryStore

SESSIONS = Path(__file__).with_name("sessions")
KEY = b"a key of this test, 32 bytes long"


@pytest.mark.parametrize("name", ["plain", "encrypted"])
@pytest.mark.parametrize("form", sorted(path.stem for path in SESSIONS.iterdir()))
async def test_a_stored_session_goes_on(form: str, name: str) -> None:
    data = base64.b64decode(json.loads((SESSIONS / f"{form}.json").read_text())[name])
    inner = MemoryStore()
    inner.claim(name, "then", 9)
    inner.save(name, "then", data, 0)
    store = EncryptedStore(inner, KEY) if name == "encrypted" else inner
    async with InterpreterStack("quickjs", [StoredSessions(store)]) as stack:
        outcome = await stack.session(name).eval(
            "[total, names.join(''), String(seen.get('k'))].join()"
        )
    assert outcome.text == "41,ab,7"
