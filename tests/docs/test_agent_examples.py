"""The agents in `docs/examples` do what their READMEs show, and their figures are right."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

pytestmark = pytest.mark.timeout(600)  # engines and models start beside the load


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an example's folder, where it may write."""
    skipped = shutil.ignore_patterns("__pycache__", "shop", "desk", "report")
    return Path(shutil.copytree(EXAMPLES / request.param, tmp_path / "example", ignore=skipped))


data_agent = pytest.mark.parametrize("example", ["data-agent"], indirect=True)
map_agent = pytest.mark.parametrize("example", ["map-agent"], indirect=True)
report_agent = pytest.mark.parametrize("example", ["report-agent"], indirect=True)


def commands(folder: Path) -> list[str]:
    """The commands that a README shows."""
    text = (folder / "README.md").read_text("utf-8")
    return [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]


def ran(folder: Path, command: str, said: str = "", **variables: str) -> str:
    """The output of a command of the README, run as a user would."""
    python, *args = shlex.split(command)
    assert python == "python"
    done = subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        input=said,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def number(pattern: str, output: str) -> int:
    found = re.search(pattern.replace("N", r"([\d,]+)"), output)
    assert found, output
    return int(found[1].replace(",", ""))


def about_as_shown(folder: Path, output: str, *patterns: str) -> None:
    """Check figures against those of the README; prompts may change a little."""
    text = (folder / "README.md").read_text("utf-8")
    for pattern in patterns:
        assert number(pattern, output) == pytest.approx(number(pattern, text), rel=0.25)


def result(output: str, name: str) -> Any:
    """A field of the result that the agent answered with, in which keys have no quotes."""
    found = re.search(rf"\b{name}: (\{{[^}}]*\}}|\[[^]]*\]|\d+)", output)
    assert found, output
    return json.loads(re.sub(r"(\{|, )(\w+):", r'\1"\2":', found[1]))


# -- data agent ---------------------------------------------------------------------------------

#: Of several refunds of an order, the first one counts.
_NET = """
WITH first AS (
    SELECT CAST(substr("order", 5) AS INTEGER) AS id, max(round(euros * 100)) AS cents
    FROM refunds GROUP BY 1
)
SELECT substr(day, 1, 7), CAST(sum(orders.cents) - total(first.cents) AS INTEGER)
FROM orders LEFT JOIN first USING (id) GROUP BY 1
"""


def shop(folder: Path) -> sqlite3.Connection:
    """The shop's database, with the refunds in a table beside the orders."""
    database = sqlite3.connect(folder / "shop" / "shop.db")
    with (folder / "shop" / "refunds-2025.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    database.execute('CREATE TEMP TABLE refunds (refund, day, "order", euros, reason)')
    database.executemany("INSERT INTO refunds VALUES (?, ?, ?, ?, ?)", rows)
    return database


def expected_figures(folder: Path) -> tuple[dict[str, int], list[str], set[str]]:
    """Net revenue in euros, months that missed their target, and second refunds, all by SQL."""
    database = shop(folder)
    assert database.execute("SELECT count(*) FROM orders").fetchone() == (50_000,)
    net = dict(database.execute(_NET))
    with (folder / "shop" / "targets-2025.csv").open(encoding="utf-8", newline="") as file:
        targets = {row["month"]: int(row["euros"]) for row in csv.DictReader(file)}
    later = 'refund NOT IN (SELECT min(refund) FROM refunds GROUP BY "order")'
    twice = {row[0] for row in database.execute(f"SELECT refund FROM refunds WHERE {later}")}
    database.close()
    missed = [month for month in sorted(net) if net[month] < targets[month] * 100]
    return {month: int(cents / 100 + 0.5) for month, cents in net.items()}, missed, twice


def reclaimed(folder: Path) -> set[str]:
    database = sqlite3.connect(folder / "shop" / "shop.db")
    found = {row[0] for row in database.execute("SELECT refund FROM reclaims")}
    database.close()
    return found


def colours(png: bytes) -> Counter[int]:
    """The number of pixels of each colour of a PNG with a palette of four."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        body = png[at + 4 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size]) == (zlib.crc32(body),)
        chunks[body[:4]] = body[4:]
        at += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (width, height, depth, kind) == (480, 200, 2, 3)
    lines = zlib.decompress(chunks[b"IDAT"])  # checks the sum of the data
    rows = [lines[n : n + 121] for n in range(0, len(lines), 121)]
    assert len(rows) == height
    assert {row[0] for row in rows} == {0}
    return Counter(byte >> shift & 3 for row in rows for byte in row[1:] for shift in (6, 4, 2, 0))


@pytest.mark.parametrize("answer", ["y", "n"])
@data_agent
def test_the_data_agent_is_right_and_acts_only_if_approved(example: Path, answer: str) -> None:
    install, start = commands(example)
    assert install == "pip install '../../..[langchain]'"
    output = ran(example, start, said=f"{answer}\n")
    net, missed, twice = expected_figures(example)
    assert len(net) == 12
    assert result(output, "net") == net
    assert result(output, "missed") == missed
    assert 0 < len(missed) < 12
    assert result(output, "refundedTwice")["count"] == len(twice) > 10
    (shown,) = re.findall(r"wants to call reclaim: (\{.*\})", output)
    assert set(json.loads(shown)["refunds"]) == twice
    assert reclaimed(example) == (twice if answer == "y" else set())
    done = f"{len(twice)} refunds are reclaimed" if answer == "y" else "Nothing was reclaimed: "
    assert done in output
    about_as_shown(example, output, "took N turns", "turns and read N", "calls and read N")
    found = colours((example / "shop" / "revenue.png").read_bytes())
    assert set(found) == {0, 1, 2, 3}
    # Bars have almost the same height: their areas say how many months are red.
    assert round(12 * found[2] / (found[1] + found[2])) in (len(missed) - 1, len(missed))


@contextmanager
def provider(reply: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[dict[str, str]]:
    """A provider of models on this machine, as the variables with which an example asks it.

    Args:
        reply: Returns the content block that answers a request.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            block = reply(asked)
            answer = {
                "id": "msg",
                "type": "message",
                "role": "assistant",
                "model": asked["model"],
                "content": [block],
                "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 9_000, "output_tokens": 100},
            }
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}
        finally:
            server.shutdown()
            thread.join()


def code_block(folder: Path, cell: int, call_id: str) -> dict[str, Any]:
    code = sorted((folder / "cells").iterdir())[cell].read_text("utf-8")
    return {"type": "tool_use", "id": call_id, "name": "eval", "input": {"code": code}}


@data_agent
def test_a_real_model_reads_the_chart_and_no_rows(example: Path) -> None:
    asked: list[dict[str, Any]] = []

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        done = json.dumps(request["messages"]).count('"tool_result"')
        if done == 4:
            return {"type": "text", "text": "That is all."}
        return code_block(example, done, f"toolu_{done}")

    command = f"{commands(example)[1]} anthropic:claude-sonnet-4-5"
    with provider(reply) as variables:
        output = ran(example, command, said="y\n", **variables)
    assert "That is all." in output
    assert len(asked) == number(r"took N turns", output) == 5
    read = json.dumps(asked[-1]["messages"])
    (image,) = re.findall(r'"media_type": "image/png", "data": "([^"]+)"', read)
    read = read.replace(image, "")
    assert len(re.findall(r"ORD-\d{7}", read)) == 2  # in the first lines of the file
    assert not expected_figures(example)[2] & set(re.findall(r"RF-\d{5}", read))
    assert number(r"turns and read N characters", output) < 40_000
    assert number(r"calls and read N characters", output) > 2_000_000


@data_agent
def test_the_query_of_the_data_agent_only_reads(example: Path) -> None:
    statements = [
        "DELETE FROM orders",
        "ATTACH 'other.db' AS other",
        "PRAGMA query_only = OFF",
        "INSERT INTO reclaims VALUES ('RF-00001', 'x')",
        "SELECT count(*) FROM orders",
    ]
    program = (
        "import agent\n"
        "agent.make_data(agent.FOLDER)\n"
        f"for sql in {statements!r}:\n"
        "    try:\n        print(agent.query.invoke({'sql': sql}))\n"
        "    except agent.sqlite3.DatabaseError as error:\n        print(error)\n"
    )
    output = ran(example, f"python -c {shlex.quote(program)}").splitlines()
    assert output == ["not authorized"] * 4 + ["[{'count(*)': 50000}]"]
    assert not (example / "other.db").exists()


# -- map agent ----------------------------------------------------------------------------------

_CAUSES = {
    "delivery": "has not arrived|courier never rang",
    "defect": "went dark after|forgets all settings",
    "billing": "charged|invoice names",
    "account": "cannot log in|closed my account",
}


def expected_counts(folder: Path) -> tuple[dict[str, int], list[int]]:
    """Tickets of each cause, and the numbers of those with a hazard, by their lines."""
    lines = (folder / "desk" / "tickets.txt").read_text("utf-8").splitlines()
    heads, bodies = lines[0::3], lines[1::3]
    counts = {name: sum(bool(re.search(p, one)) for one in bodies) for name, p in _CAUSES.items()}
    pairs = zip(heads, bodies, strict=True)
    return counts, [int(head.split()[1]) for head, body in pairs if "smoke" in body]


@map_agent
def test_a_hundred_subagents_read_the_whole_text(example: Path) -> None:
    install, start, _ = commands(example)
    assert install == "pip install '../../..[langchain]'"
    output = ran(example, start)
    text = (example / "desk" / "tickets.txt").read_text("utf-8")
    assert len(text) > 3_000_000
    counts, hazards = expected_counts(example)
    assert result(output, "causes") == counts
    assert result(output, "hazards") == hazards
    assert len(hazards) > 10
    assert (result(output, "parts"), result(output, "read")) == (100, 100)
    assert result(output, "failures") == {}
    assert number(r"N subagents answered", output) == 100
    assert number(r"At most N ran at once", output) == 8
    assert number(r"took N turns", output) == 2
    about_as_shown(example, output, "turns and read N characters", "Their model read N")
    assert number(r"Their model read N characters", output) > len(text)


@map_agent
def test_a_budget_that_is_too_small_stops_the_map(example: Path) -> None:
    output = ran(example, commands(example)[2])
    read = result(output, "read")
    assert 20 <= read <= 36  # 200,000 tokens, and what eight subagents had in flight
    ((name, message),) = result(output, "failures").items()
    assert name == "BudgetExceeded"
    assert re.fullmatch(r"the budget of this turn is used up: \d+ of 200000 tokens", message)
    assert number(r"N subagents answered", output) == read
    assert number(r"answered, N were", output) == 100 - read
    # What was found is that of the parts that were read, and of those only.
    counts, hazards = expected_counts(example)
    found = result(output, "causes")
    assert all(
        found[cause] / count == pytest.approx(read / 100, abs=0.05)
        for cause, count in counts.items()
    )
    assert set(result(output, "hazards")) <= set(hazards)
    assert 0 < len(result(output, "hazards")) < len(hazards)


@map_agent
def test_a_real_model_reads_the_parts(example: Path) -> None:
    readers: list[int] = []

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        if "Read every ticket" in json.dumps(request.get("system")):
            readers.append(len(json.dumps(request["messages"])))
            found = {"causes": {"billing": 7}, "hazards": [1]}
            if any(tool["name"] == "subagent_response" for tool in request.get("tools", [])):
                return {"type": "tool_use", "id": "a", "name": "subagent_response", "input": found}
            return {"type": "text", "text": json.dumps(found)}
        if "tool_result" in json.dumps(request["messages"]):
            return {"type": "text", "text": request["messages"][-1]["content"][0]["content"]}
        return code_block(example, 0, "toolu_map")

    command = f"{commands(example)[1]} --tokens 30000 anthropic:claude-sonnet-4-5"
    with provider(reply) as variables:
        output = ran(example, command, **variables)
    answered = number(r"N subagents answered", output)
    assert answered == len(readers) >= 3
    assert all(25_000 < size < 50_000 for size in readers)
    assert result(output, "causes") == {"billing": 7 * answered}


# -- report agent -------------------------------------------------------------------------------


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@report_agent
def test_big_values_reach_the_report_and_neither_the_code_nor_the_model(example: Path) -> None:
    install, start = commands(example)
    assert install == "pip install '../../..[langchain]'"
    output = ran(example, start)
    about_as_shown(example, output, "turns and read N", "Its code read N", "and received N")
    assert number(r"took N turns", output) == 4
    made = ran(
        example,
        "python -c 'import json, make_data as m;"
        " print(json.dumps({p: m.readings_of(p) for p in m.PLANTS}))'",
    )
    plants: dict[str, list[dict[str, Any]]] = json.loads(made)
    assert len(made) > 6_000_000
    report = (example / "report" / "report.md").read_text("utf-8")
    assert report.rstrip() in output
    for plant, rows in plants.items():
        assert len(rows) == 35_040
        # The whole value arrived, in its order.
        written = table(example / "report" / f"{plant}.csv")
        assert written == [{name: str(value) for name, value in row.items()} for row in rows]
        total = sum(row["kwh"] for row in rows)
        # At noon it is never dark, unless the plant has failed.
        (day,) = {
            row["time"][:10] for row in rows if row["time"].endswith("T12:00") and not row["kwh"]
        }
        pattern = f"{plant}: N kWh; no power for 6 hours from {day} 09:00"
        assert number(pattern, report) == pytest.approx(total, abs=1)
    failures = table(example / "report" / "failures.csv")
    assert [row["plant"] for row in failures] == list(plants)
    assert {row["quarters"] for row in failures} == {"24"}
