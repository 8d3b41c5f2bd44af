"""The survey of installed plugins: each is loaded on its own, and failures have their reason."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from interpstack_cli.installed import survey as module
from interpstack_cli.installed.survey import EngineEntry, FailedPlugin, PluginEntry, Survey, survey
from interpstack_testing import FakeEngine

PLUGINS = {
    "broken": "import no_such_package_of_anybody",
    "hookless": "",
    "odd": (
        "from interpstack import hookimpl\n"
        "@hookimpl\n"
        "def interpstack_register_engine():\n"
        "    raise OSError('no library')\n"
    ),
    "silent": "raise ValueError",
    "sound": (
        "from interpstack import hookimpl\n"
        "from interpstack_testing import FakeEngine\n"
        "@hookimpl\n"
        "def interpstack_register_engine():\n"
        "    return FakeEngine\n"
    ),
}


@pytest.fixture
def found(distribution, monkeypatch) -> Survey:
    """A survey of one distribution, whose extra `broken` is not installed."""
    sources = {f"surveyed_{name}": source for name, source in PLUGINS.items()}
    points = "[interpstack]\n" + "".join(f"{name} = surveyed_{name}\n" for name in PLUGINS)
    requires = ["no-such-package-of-anybody; extra == 'broken'"]
    path = distribution("surveyed", points, "broken", requires=requires, **sources)
    monkeypatch.syspath_prepend(str(path))
    everything = module.installed()
    monkeypatch.setattr(module, "installed", lambda: {one: everything[one] for one in PLUGINS})
    return survey()


def test_a_plugin_that_loads_is_reported_with_its_engine(found):
    assert found.engines == (EngineEntry(FakeEngine, "sound"),)
    hooks = ("interpstack_register_engine",)
    assert found.plugins == (PluginEntry("sound", "1.0", "surveyed", hooks),)


def test_each_failure_has_its_reason(found):
    failed = {one.name: one for one in found.failed}
    assert list(failed) == ["broken", "hookless", "odd", "silent"]
    assert {one.distribution for one in found.failed} == {"surveyed"}
    assert failed["broken"].reason == (
        "ModuleNotFoundError: No module named 'no_such_package_of_anybody'"
    )
    assert "has no hooks" in failed["hookless"].reason
    assert "no library" in failed["odd"].reason
    assert "ValueError" in failed["silent"].reason
    assert {one.name: one.extra for one in found.failed if one.extra} == {"broken": "broken"}


def test_a_plugin_of_no_distribution_has_none(monkeypatch):
    entry = EntryPoint("loose", "no_such_module_of_anybody", "interpstack")
    monkeypatch.setattr(module, "installed", lambda: {"loose": entry})
    (failed,) = survey().failed
    assert (failed.distribution, failed.extra) == ("", "")
    assert "loose" in failed.reason


def test_plain_data():
    seen = Survey((EngineEntry(FakeEngine, "sound"),), (), (FailedPlugin("a", "b", "c"),)).to_dict()
    assert seen == {
        "engines": [
            {
                "name": "fake",
                "plugin": "sound",
                "isolation": "none",
                "language": "python",
                "capabilities": sorted(one.value for one in FakeEngine.capabilities),
            }
        ],
        "plugins": [],
        "failed": [{"name": "a", "distribution": "b", "reason": "c", "extra": ""}],
    }
