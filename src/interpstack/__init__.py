"""The interpreter framework for LLM agents: a thin core, everything else a plugin."""

import interpstack.plugins as _plugins
import interpstack_core as _core
from interpstack.cells.steps import CellRun, StepSource
from interpstack.plugins import (
    PluginInfo,
    PluginManager,
    find_engine,
    find_language,
    installed,
    installed_languages,
)
from interpstack.sessions.session import Session
from interpstack.slots import Slots
from interpstack.stack import InterpreterStack
from interpstack.sync import run_sync
from interpstack_core import *  # noqa: F403 - one package to import from

# Attributes that plugins add; type checkers do not see this, and know all other names.
globals()["__getattr__"] = _plugins.offered

__version__ = "0.1.0"

__all__ = [
    "CellRun",
    "InterpreterStack",
    "PluginInfo",
    "PluginManager",
    "Session",
    "Slots",
    "StepSource",
    "find_engine",
    "find_language",
    "installed",
    "installed_languages",
    "run_sync",
]
__all__ += _core.__all__
