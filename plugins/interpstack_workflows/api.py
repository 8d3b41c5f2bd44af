"""Public names of the plugin."""

from __future__ import annotations

from interpstack_workflows.agents.agent import (
    Agent,
    AgentAnswer,
    AgentCall,
    AgentFailed,
    AgentPaused,
)
from interpstack_workflows.budgets.budget import BudgetLimits, RunBudget
from interpstack_workflows.budgets.prices import Price, Prices
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.commands.live import LiveProgress
from interpstack_workflows.errors import (
    ArgumentsError,
    LeaseLost,
    MetadataError,
    ScriptChanged,
    UnknownAgent,
    UnknownRun,
    UnknownWorkflow,
    WorkflowError,
    WorkflowModuleError,
)
from interpstack_workflows.events.events import (
    AgentCompletedEvent,
    AgentFailedEvent,
    AgentProgressEvent,
    AgentStartedEvent,
    CancelledEvent,
    ErrorEvent,
    LogEvent,
    PhaseEvent,
    ResultEvent,
    ResumedEvent,
    StartedEvent,
    StepEvent,
    WaitingEvent,
    WaitOpenedEvent,
    WorkflowEvent,
)
from interpstack_workflows.events.hub import EventSubscription
from interpstack_workflows.events.tree import RunTree, StepNode, WorkflowNode
from interpstack_workflows.module.metadata import PhaseMetadata, WorkflowMetadata, read_metadata
from interpstack_workflows.runs.dry_run import ScriptDifference, StepPreview
from interpstack_workflows.runs.reading.open_questions import run_questions
from interpstack_workflows.runs.reading.rehearsal import Rehearsal, RehearsedStep, ScriptFault
from interpstack_workflows.runs.run_records import RunOptions
from interpstack_workflows.runs.runner import RunHandle, WorkflowRunner
from interpstack_workflows.runs.values import WorkflowResult
from interpstack_workflows.runs.verbs.waits import is_wait_id
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    AskRequest,
    CheckpointRequest,
    Complete,
    ExecRequest,
    FailedResolution,
    LogCall,
    ModuleBudget,
    ModuleProgress,
    Pending,
    PhaseCall,
    ScriptPath,
    SleepRequest,
    UndefinedResolution,
    ValueResolution,
    ValueWithBudget,
    WaitRequest,
    WorkflowModuleInput,
    WorkflowModuleOutput,
    WorkflowRequest,
)
from interpstack_workflows.runtime.runtime import (
    ModuleExecution,
    WorkflowExecution,
    WorkflowRuntime,
)
from interpstack_workflows.scheduling.scheduler import Rate, Scheduler
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.steps.names import StepNames, canonical
from interpstack_workflows.stores.companions import Companions, RunCompanion
from interpstack_workflows.stores.opening import SPACE, open_store
from interpstack_workflows.stores.records import (
    Message,
    WorkflowRecord,
)
from interpstack_workflows.stores.store import Lease, TakenRun, WorkflowStore

__all__ = [
    "SPACE",
    "Agent",
    "AgentAnswer",
    "AgentCall",
    "AgentCompletedEvent",
    "AgentFailed",
    "AgentFailedEvent",
    "AgentPaused",
    "AgentProgressEvent",
    "AgentRequest",
    "AgentStartedEvent",
    "ArgumentsError",
    "AskRequest",
    "BudgetLimits",
    "CancelledEvent",
    "CheckpointRequest",
    "Companions",
    "Complete",
    "Entry",
    "ErrorEvent",
    "EventSubscription",
    "ExecRequest",
    "FailedResolution",
    "Lease",
    "LeaseLost",
    "LiveProgress",
    "LogCall",
    "LogEvent",
    "Message",
    "MetadataError",
    "ModuleBudget",
    "ModuleExecution",
    "ModuleProgress",
    "Pending",
    "PhaseCall",
    "PhaseEvent",
    "PhaseMetadata",
    "Price",
    "Prices",
    "Rate",
    "Rehearsal",
    "RehearsedStep",
    "ResultEvent",
    "ResumedEvent",
    "RunBudget",
    "RunCompanion",
    "RunHandle",
    "RunOptions",
    "RunTree",
    "Scheduler",
    "ScriptChanged",
    "ScriptDifference",
    "ScriptFault",
    "ScriptPath",
    "SleepRequest",
    "StartedEvent",
    "StepEvent",
    "StepNames",
    "StepNode",
    "StepPreview",
    "StepRecord",
    "TakenRun",
    "UndefinedResolution",
    "UnknownAgent",
    "UnknownRun",
    "UnknownWorkflow",
    "ValueResolution",
    "ValueWithBudget",
    "WaitOpenedEvent",
    "WaitRequest",
    "WaitingEvent",
    "WorkflowError",
    "WorkflowEvent",
    "WorkflowExecution",
    "WorkflowMetadata",
    "WorkflowModuleError",
    "WorkflowModuleInput",
    "WorkflowModuleOutput",
    "WorkflowNode",
    "WorkflowRecord",
    "WorkflowRequest",
    "WorkflowResult",
    "WorkflowRunner",
    "WorkflowRuntime",
    "WorkflowStore",
    "WorkflowUsage",
    "canonical",
    "is_wait_id",
    "open_store",
    "read_metadata",
    "run_questions",
]
