"""The thin core: contracts of engines, bridges and plugins, and the values they exchange."""

from interpstack_core.bridges import *
from interpstack_core.cells.extensions import *
from interpstack_core.cells.guards import *
from interpstack_core.cells.outcome import CellContext, Outcome, Usage
from interpstack_core.cells.raised import GuestException
from interpstack_core.cells.render import *
from interpstack_core.cells.step import *
from interpstack_core.engine import *
from interpstack_core.errors import *
from interpstack_core.errors import install_command
from interpstack_core.hookspecs import *
from interpstack_core.languages import *
from interpstack_core.limits import *
from interpstack_core.modules import ModuleBundle
from interpstack_core.offer import *
from interpstack_core.protocol import *
from interpstack_core.threads import *
from interpstack_core.views import *
from interpstack_core.wire.encoding import encode
from interpstack_core.wire.plain import *
from interpstack_core.wire.values import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue, decode

__all__ = [
    "MAX_REJECTED",
    "MODULE",
    "TIMER",
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
    "InterpstackError",
    "Isolation",
    "Limits",
    "MapValue",
    "ModuleBundle",
    "Outcome",
    "Place",
    "PluginLoadError",
    "Progress",
    "PromptWords",
    "Realm",
    "Request",
    "RunRecord",
    "Seconds",
    "SessionClosed",
    "SessionState",
    "SessionView",
    "SetValue",
    "Settlement",
    "StackView",
    "StateKeeper",
    "StateSlot",
    "Step",
    "UnknownEngine",
    "UnknownPlugin",
    "UnsupportedValue",
    "Usage",
    "Wrapper",
    "bridge",
    "call_blocking",
    "decode",
    "encode",
    "hookimpl",
    "install_command",
    "plain_key",
    "render",
    "run_guest",
    "simplified",
    "start_anew_after_fork",
    "to_end",
]
