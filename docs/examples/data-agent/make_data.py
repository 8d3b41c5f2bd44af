"""Makes the data of the example: a shop's database, and two files that others export."""

from __future__ import annotations

import csv
import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

ORDERS, CUSTOMERS, PRODUCTS = 50_000, 5_000, 40
_TABLES = """
CREATE TABLE products (sku TEXT PRIMARY KEY, category TEXT, cents INTEGER);
CREATE TABLE customers (id INTEGER PRIMARY KEY, country TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, day TEXT, customer INTEGER, sku TEXT, quantity INTEGER,
                     cents INTEGER);
CREATE TABLE reclaims (refund TEXT PRIMARY KEY, reason TEXT);
"""


def make_data(folder: Path, seed: int = 34) -> None:
    """Write `shop.db`, `refunds-2025.csv` and `targets-2025.csv`; the same ones for a seed."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    prices = {f"P{n:03}": rng.randrange(499, 20_000, 50) for n in range(PRODUCTS)}
    days = rng.choices(range(365), weights=[3 + (day > 320) * 2 for day in range(365)], k=ORDERS)
    orders = []
    for number, day in enumerate(sorted(days), 1):
        sku, quantity = rng.choice(list(prices)), rng.choice([1, 1, 1, 2, 3])
        ordered = (date(2025, 1, 1) + timedelta(day)).isoformat()
        customer = rng.randint(1, CUSTOMERS)
        orders.append((number, ordered, customer, sku, quantity, quantity * prices[sku]))
    _write_database(folder / "shop.db", rng, prices, orders)
    _write_refunds(folder / "refunds-2025.csv", rng, orders)
    with (folder / "targets-2025.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("month", "euros"), *((f"2025-{n:02}", 520_000 + 5_000 * n) for n in range(1, 13))]
        )


def _write_database(path: Path, rng: random.Random, prices: dict[str, int], orders: list) -> None:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.executescript(_TABLES)
        products = [(sku, rng.choice("ABCD"), cents) for sku, cents in prices.items()]
        customers = [(n, rng.choice(["AT", "DE", "FR", "NL"])) for n in range(1, CUSTOMERS + 1)]
        database.executemany("INSERT INTO products VALUES (?, ?, ?)", products)
        database.executemany("INSERT INTO customers VALUES (?, ?)", customers)
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", orders)
    database.close()


def _write_refunds(path: Path, rng: random.Random, orders: list) -> None:
    """Refunds of a payment provider, which names orders and amounts in its own way."""
    rows = []
    for number, day, _, _, _, cents in rng.sample(orders, 2_500):
        refunded = date.fromisoformat(day) + timedelta(rng.randint(1, 14))
        reason = rng.choice(["damaged", "late", "wrong item", "changed mind"])
        amount = f"{cents / 100:.2f}"
        rows.append((refunded, f"ORD-{number:07}", amount, reason))
        if rng.random() < 0.015:  # sent once more by a retry
            rows.append((refunded + timedelta(1), f"ORD-{number:07}", amount, reason))
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("refund", "day", "order", "euros", "reason"))
        for n, row in enumerate(sorted(rows), 1):
            lines.writerow((f"RF-{n:05}", *row))
