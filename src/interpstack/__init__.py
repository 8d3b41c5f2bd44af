"""The interpreter framework for LLM agents: a thin core, everything else a plugin."""

from interpstack.bridges import Bridge, BridgeRegistry, BridgeSet, GuestBridge, GuestSource, bridge
from interpstack.cells.extensions import CellExtension
from interpstack.cells.guards import CellGuard, Seconds
from interpstack.cells.outcome import CellContext, Outcome, Usage
from interpstack.cells.raised import GuestException
from interpstack.cells.step import RunRecord, Step
from interpstack.cells.steps import CellRun, StepSource
from interpstack.cells.wrappers import Wrapper
from interpstack.encoding import encode
from interpstack.engine import Capability, Engine, Execution, Isolation, Realm
from interpstack.errors import (
    BridgeError,
    BridgeNameClash,
    ConfigurationError,
    EngineFailure,
    ImageError,
    InterpstackError,
    PluginLoadError,
    SessionClosed,
    UnknownEngine,
    UnknownPlugin,
    UnsupportedValue,
    install_command,
)
from interpstack.hookspecs import hookimpl
from interpstack.languages import EditorRules, GuestLanguage, PromptWords
from interpstack.limits import Limits
from interpstack.modules import ModuleBundle
from interpstack.offer import HostOffer, HostTool
from interpstack.plugins import (
    PluginInfo,
    PluginManager,
    find_engine,
    find_language,
    installed,
    installed_languages,
)
from interpstack.protocol import (
    Call,
    Cell,
    Completion,
    GuestError,
    Image,
    Place,
    Progress,
    Request,
    Settlement,
)
from interpstack.render import render
from interpstack.sessions import Session
from interpstack.slots import Slots
from interpstack.stack import InterpreterStack
from interpstack.states import SessionState
from interpstack.threads import call_blocking, run_guest, run_sync, to_end
from interpstack.values import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue, decode

__version__ = "0.1.0"

__all__ = [
    "UNDEFINED",
    "BigInt",
    "Bridge",
    "BridgeError",
    "BridgeNameClash",
    "BridgeRegistry",
    "BridgeSet",
    "Call",
    "Capability",
    "Cell",
    "CellContext",
    "CellExtension",
    "CellGuard",
    "CellRun",
    "Completion",
    "ConfigurationError",
    "EditorRules",
    "Engine",
    "EngineFailure",
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
    "Limits",
    "MapValue",
    "ModuleBundle",
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
    "SetValue",
    "Settlement",
    "Slots",
    "Step",
    "StepSource",
    "UnknownEngine",
    "UnknownPlugin",
    "UnsupportedValue",
    "Usage",
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
    "render",
    "run_guest",
    "run_sync",
    "to_end",
]
