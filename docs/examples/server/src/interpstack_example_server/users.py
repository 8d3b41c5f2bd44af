"""Users: whose a thread is, and how many turns each may start."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote

from psycopg_pool import AsyncConnectionPool

__all__ = ["Rates", "TooManyTurns", "thread_of"]

_TABLE = """
CREATE TABLE IF NOT EXISTS turn_rates (
  name text PRIMARY KEY, turns double precision NOT NULL, at timestamptz NOT NULL)
"""
# A bucket of turns that fills with time. One statement, so that workers do not disturb each other.
_TAKE = """
INSERT INTO turn_rates AS rate (name, turns, at) VALUES (%(name)s, %(most)s - 1, now())
ON CONFLICT (name) DO UPDATE SET at = now(), turns = -1 + LEAST(
  %(most)s, rate.turns + EXTRACT(EPOCH FROM now() - rate.at) * %(most)s / 60)
WHERE rate.turns + EXTRACT(EPOCH FROM now() - rate.at) * %(most)s / 60 >= 1
RETURNING turns
"""


class TooManyTurns(Exception):
    """A user has started as many turns as they may.

    Attributes:
        wait_seconds: Seconds after which another turn is allowed.
    """

    def __init__(self, per_minute: int) -> None:
        super().__init__(f"a user may start {per_minute} turns a minute")
        self.wait_seconds = math.ceil(60 / per_minute)


class Rates:
    """Counts the turns of each user in the database, for all workers together.

    Args:
        pool: Connections to the database.
        per_minute: How many turns a user may start in a minute; None for any number.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], per_minute: int | None) -> None:
        self._pool, self._per_minute = pool, per_minute

    async def setup(self) -> None:
        """Create the table if it is missing."""
        if self._per_minute is not None:
            async with self._pool.connection() as connection:
                await connection.execute(_TABLE)

    async def take(self, user: str) -> None:
        """Count one turn of a user.

        Raises:
            TooManyTurns: The user has started as many as they may.
        """
        if self._per_minute is None:
            return
        async with self._pool.connection() as connection:
            given = {"name": user, "most": self._per_minute}
            taken = await connection.execute(_TAKE, given)
            if await taken.fetchone() is None:
                raise TooManyTurns(self._per_minute)


def thread_of(user: str | None, thread: str) -> str:
    """Return the id under which the thread of a user is stored; no other user has the same."""
    return thread if user is None else f"{quote(user, safe='')}/{quote(thread, safe='')}"
