"""Makes the text of the example: 6,000 tickets of a help desk, 3 MB."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

TICKETS = 6_000
_OPENINGS = [
    "Hello, I have been a customer for {years} years and never had to write to you before.",
    "Good morning, this is about my order {order}, which I placed last month.",
    "I have tried your help pages and the chat, and nobody could answer me.",
    "My neighbour has the same device and does not see any of this.",
]
_COMPLAINTS = {
    "delivery": [
        "The parcel {order} has not arrived, although the tracking page calls it delivered.",
        "I waited at home for two days and the courier never rang the bell.",
    ],
    "defect": [
        "The display went dark after a week and does not come back, whatever I press.",
        "It switches itself off every evening around {hour} and forgets all settings.",
    ],
    "billing": [
        "I was charged {euros} euros twice and my bank says that both payments are yours.",
        "The invoice names {euros} euros, which is not the price that I agreed to.",
    ],
    "account": [
        "I cannot log in any more: the link that resets my password leads to an empty page.",
        "You closed my account by mistake, and I cannot see my old orders.",
    ],
}
_HAZARD = "Yesterday there was smoke from the charger, and the plug was too hot to touch."
_FILLERS = [
    "I have attached the photographs that your colleague asked for.",
    "It is the version with the long cable, bought in the shop and not online.",
    "My daughter uses it for school, so we depend on it every single day.",
    "I would rather keep the device than send it back, if you can help me.",
    "Last time somebody answered within a day, which I liked very much.",
    "The serial number is {order}-{hour}, in case you need it to look it up.",
]


def make_data(folder: Path, seed: int = 34) -> None:
    """Write `tickets.txt`; the same one for a seed."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    time, tickets = datetime(2025, 1, 1, 8), []
    for number in range(1, TICKETS + 1):
        time += timedelta(minutes=rng.randint(10, 150))
        causes = rng.sample(list(_COMPLAINTS), rng.choice([1, 1, 1, 2]))
        body = [rng.choice(_COMPLAINTS[cause]) for cause in causes] + rng.sample(_FILLERS, 5)
        body += [_HAZARD] if rng.random() < 0.003 else []
        rng.shuffle(body)
        words = {"years": rng.randint(2, 9), "order": rng.randint(10**5, 10**6)}
        words |= {"hour": f"{rng.randint(5, 11)} pm", "euros": rng.randint(9, 400)}
        text = " ".join([rng.choice(_OPENINGS), *body]).format(**words)
        tickets.append(f"# {number} {time:%Y-%m-%d %H:%M}\n{text}\n")
    (folder / "tickets.txt").write_text("\n".join(tickets), "utf-8")
