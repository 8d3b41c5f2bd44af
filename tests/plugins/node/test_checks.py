"""Checks of a machine: the sandbox that guests of Node really have, and why no stronger one."""

from __future__ import annotations

import sys

import pytest

from interpstack import ConfigurationError
from interpstack_javascript.node_runtime import NodeRuntime, find_node
from interpstack_node import checks
from interpstack_node.kernels.starting.sandbox import Sandbox, choose_sandbox


def test_the_report_fits_the_engine() -> None:
    found = {name: (verdict, result) for name, verdict, result, _ in checks.checks()}
    assert [*found] == ["node program", "node permissions", "node sandbox", "node limits"]
    node = find_node()
    assert node.path in found["node program"][1]
    assert found["node sandbox"][1].startswith(choose_sandbox("auto", node.path).value)
    assert found["node limits"][0] == ("ok" if sys.platform == "linux" else "warn")


@pytest.mark.parametrize(
    ("bubblewrap", "unshare", "verdict", "result"),
    [
        ("", "", "ok", "bubblewrap: processes have files"),
        ("no program", "", "warn", "unshare: network and users of their own, but the h"),
        (
            "no program",
            "not permitted",
            "warn",
            "none beside Node's permission model (bubblewrap: no program; un",
        ),
    ],
)
def test_the_strongest_sandbox_is_named_with_the_faults_of_others(
    bubblewrap: str, unshare: str, verdict: str, result: str
) -> None:
    faults = {Sandbox.BUBBLEWRAP: bubblewrap, Sandbox.UNSHARE: unshare}
    name, *found, fix = checks._sandbox(faults)
    assert (name, found[0]) == ("node sandbox", verdict)
    assert found[1].startswith(result)
    assert bool(fix) == (verdict == "warn")


@pytest.mark.parametrize(
    ("version", "found"), [((24, 2, 0), "only Node 25 or later"), ((25, 0, 0), "so is the network")]
)
def test_an_older_node_does_not_refuse_the_network_itself(
    version: tuple[int, int, int], found: str
) -> None:
    assert found in checks._permissions(NodeRuntime("node", version, "here"))[2]


def test_another_system_has_fewer_limits() -> None:
    assert checks._limits(confines=False)[1] == "warn"


def test_without_node_the_engine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> NodeRuntime:
        raise ConfigurationError("there is none")

    monkeypatch.setattr(checks, "find_node", none)
    assert [*checks.checks()] == []
