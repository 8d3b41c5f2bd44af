"""The interpreter framework for LLM agents: a kernel of contracts, everything else a plugin.

The kernel imports attrs and pluggy alone. Read it in this order:

1. `contracts/protocol.py`: cells, requests of code and their answers; `contracts/engine.py`: what
   runs cells; `contracts/bridges.py`: what code can call; `contracts/hookspecs.py`: what a plugin
   may do.
2. `values/`: the forms of values: for guests, as JSON, in stores.
3. `cells/loop.py`: one run of a cell, from its first step to its outcome; the modules beside it
   each have a part of that.
4. `sessions/session.py`: a conversation, whose state outlives its cells.
5. `plugins.py` and `stack.py`: how plugins are found, and what a stack makes of them.

`contracts/` and `values/` know nothing of the rest. `guests/` has helpers for engines.
"""

import interpstack.plugins as _plugins
from interpstack.cells.render import *
from interpstack.cells.steps import CellRun, StepSource
from interpstack.contracts.bridges import *
from interpstack.contracts.cell_checks import *
from interpstack.contracts.engine import *
from interpstack.contracts.errors import *
from interpstack.contracts.errors import install_command
from interpstack.contracts.extensions import *
from interpstack.contracts.hookspecs import *
from interpstack.contracts.languages import *
from interpstack.contracts.limits import *
from interpstack.contracts.modules import ModuleBundle
from interpstack.contracts.offer import *
from interpstack.contracts.outcome import CellContext, Outcome, Usage
from interpstack.contracts.protocol import *
from interpstack.contracts.raised import GuestException
from interpstack.contracts.steps import *
from interpstack.contracts.views import *
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
from interpstack.threads import *
from interpstack.values.decoding import (
    UNDEFINED,
    BigInt,
    ErrorValue,
    MapValue,
    SetValue,
    StandIn,
    decode,
)
from interpstack.values.encoding import encode
from interpstack.values.known_parts import UNKNOWN, OpenFields
from interpstack.values.plain import *

# Attributes that plugins add; type checkers do not see this, and know all other names.
globals()["__getattr__"] = _plugins.offered

__version__ = "0.1.0"

__all__ = [
    "MAX_REJECTED",
    "MODULE",
    "TIMER",
    "UNDEFINED",
    "UNKNOWN",
    "BigInt",
    "Bridge",
    "BridgeError",
    "BridgeNameClash",
    "BridgeRegistry",
    "BridgeSet",
    "Capability",
    "Cell",
    "CellCheck",
    "CellContext",
    "CellExtension",
    "CellGuard",
    "CellRun",
    "CellUnchecked",
    "Completion",
    "ConfigurationError",
    "EditorRules",
    "Engine",
    "EngineFailure",
    "EngineUnavailable",
    "ErrorValue",
    "Execution",
    "GuestBridge",
    "GuestError",
    "GuestException",
    "GuestLanguage",
    "GuestSource",
    "HostOffer",
    "HostTool",
    "Image",
    "ImageError",
    "InterpreterStack",
    "InterpstackError",
    "Isolation",
    "LearnedSchema",
    "Limits",
    "MapValue",
    "ModuleBundle",
    "Notification",
    "OpenFields",
    "Outcome",
    "Place",
    "PluginInfo",
    "PluginLoadError",
    "PluginManager",
    "Progress",
    "PromptWords",
    "Realm",
    "Request",
    "RunRecord",
    "Seconds",
    "Session",
    "SessionClosed",
    "SessionState",
    "SessionStorage",
    "SessionView",
    "SetValue",
    "Settlement",
    "Slots",
    "SourceTooLarge",
    "StackView",
    "StandIn",
    "StateSlot",
    "Step",
    "StepSource",
    "UnknownEngine",
    "UnknownPlugin",
    "UnsupportedValue",
    "Usage",
    "ValueExchange",
    "Wrapper",
    "bridge",
    "call_blocking",
    "decode",
    "encode",
    "find_engine",
    "find_language",
    "hookimpl",
    "install_command",
    "installed",
    "installed_languages",
    "plain_key",
    "render",
    "run_guest",
    "run_sync",
    "simplified",
    "start_anew_after_fork",
    "to_end",
]
