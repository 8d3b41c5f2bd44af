"""Goes on with a conversation in a process of its own; prints the answers as JSON.

Arguments: the kind of checkpointer, its place, the thread, and the steps as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys

from conftest import make_agent
from stores import open_saver


async def main(name: str, place: str, thread: str, steps: str) -> None:
    async with open_saver(name, place) as saver:
        agent = make_agent(saver=saver, is_async=name.endswith("async"))
        print(json.dumps(await agent.run(*json.loads(steps), thread=thread)))
        agent.middleware.stack.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
