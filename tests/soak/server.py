"""The load on the example server: turns by HTTP, some of whose clients disconnect."""

from __future__ import annotations

import asyncio
import itertools
import json

import httpx
from gates import Gate, Log, Tally

__all__ = ["ServerLoad"]

_CONVERSATIONS = 4
_TURNS = 12
_TRIES = 200
_CODE = """
globalThis.count = (globalThis.count ?? 0) + 1;
await Promise.all(["a", "b"].map(call => tools.note({what: `THREAD/${count}/${call}`})));
count
"""


class ServerLoad:
    """Sends turns to a server, until the gate has ended."""

    def __init__(self, url: str, gate: Gate, log: Log, tally: Tally) -> None:
        self._url, self._gate, self._log, self._tally = url, gate, log, tally

    async def run(self) -> None:
        """Run all conversations."""
        async with asyncio.TaskGroup() as group:
            for place in range(_CONVERSATIONS):
                group.create_task(self._converse(place))

    async def _converse(self, place: int) -> None:
        for number in itertools.count():
            thread = f"served-{place}-{number}"
            for turn in range(1, _TURNS + 1):
                if self._gate.ended:
                    return
                async with self._gate.step(), httpx.AsyncClient() as client:
                    await self._turn(client, thread, turn)
                await asyncio.sleep(0.05)

    async def _turn(self, client: httpx.AsyncClient, thread: str, turn: int) -> None:
        """One turn, sent again until it is answered; some clients have no patience at first."""
        name = f"{thread}/{turn}"
        for call in "ab":
            self._log.expect(f"{name}/{call}", 1, 1)
        hasty = self._tally.chance.random() < 0.1
        body = {"id": f"{thread}-{turn}", "text": json.dumps([_CODE.replace("THREAD", thread)])}
        for attempt in range(_TRIES):
            seconds = 0.05 if hasty and attempt == 0 else 60
            try:
                answer = await client.post(
                    f"{self._url}/threads/{thread}/turns", json=body, timeout=seconds
                )
            except httpx.TransportError:
                continue
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await asyncio.sleep(0.1)
        else:
            self._tally.report(f"{name}: never answered")
            return
        if (answer.status_code, answer.text) != (200, '{"answer":"done"}'):
            self._tally.report(f"{name}: {answer.status_code} {answer.text:.200}")
        self._tally.note("server", "turn, client gone once" if hasty else "turn")
