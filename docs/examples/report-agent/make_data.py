"""Makes the readings of the example: three plants, one reading every quarter of an hour."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from typing import Any

PLANTS = ("north", "south", "west")
YEAR, STEP = datetime(2025, 1, 1), timedelta(minutes=15)


def readings_of(plant: str, seed: int = 34) -> list[dict[str, Any]]:
    """The 35,040 readings of a plant in 2025; the same ones for a seed."""
    rng = random.Random(f"{seed} {plant}")
    panels, off = rng.randint(40, 90), rng.randrange(150, 240)  # the day of a failure
    rows = []
    for step in range(365 * 96):
        day, quarter = divmod(step, 96)
        sun = max(0.0, math.sin((quarter - 24) / 48 * math.pi)) * (1.4 - math.cos(day / 58))
        works = day != off or not 36 <= quarter < 60
        kwh = round(panels * sun * rng.uniform(0.4, 1) / 10, 3) if works else 0.0
        degrees = round(12 - 10 * math.cos(day / 58) + 5 * sun, 1)
        rows.append(
            {"time": f"{YEAR + step * STEP:%Y-%m-%dT%H:%M}", "kwh": kwh, "degrees": degrees}
        )
    return rows
