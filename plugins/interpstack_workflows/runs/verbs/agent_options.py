"""Options of `agent`, as scripts give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack.checks import shown
from interpstack_javascript import JAVASCRIPT
from interpstack_workflows.agents.selectors import ModelChoice, Models, SelectorFault
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.verbs.wait_options import LONGEST_WAIT_MS

__all__ = ["AgentOptions", "OptionFault", "Retry"]

_MAX_ATTEMPTS: Final = 2**32 - 1
_MAX_TOKENS: Final = 2**53 - 1
#: Efforts of thinking, from the least.
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_RETRY_NAMES: Final = ("maxAttempts", "backoffMs")
_NAMES: Final = (
    *(
        "agentType",
        "effort",
        "isolation",
        "key",
        "label",
        "maxTokens",
        "model",
        "phase",
        "priority",
    ),
    *("provider", "retry", "schema"),
)


class OptionFault(StepFailed):
    """An option is wrong, whatever the host offers.

    Attributes:
        option: The name of the option.
        known: Whether there is an option of that name, so that its value is wrong.
        value: The value.
    """

    def __init__(self, message: str, option: str, value: Any = None, *, known: bool = True) -> None:
        super().__init__(message, "TypeError")
        self.option = option
        self.known = known
        self.value = value


@attrs.frozen
class Retry:
    """The number of attempts of an agent, and the pause between them in seconds."""

    attempts: int = 1
    seconds: float = 0.0

    @classmethod
    def of(cls, given: Any) -> Retry:
        """Return the option `retry` of a call.

        Raises:
            StepFailed: An option is malformed.
        """
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise OptionFault("agent retry option must be an object", "retry", given)
        for name in given:
            if name not in _RETRY_NAMES:
                listed = ", ".join(_RETRY_NAMES)
                text = f"agent retry has no option {name!r:.60}; it has {listed}"
                raise OptionFault(text, name, known=False)
        attempts, backoff = given.get("maxAttempts", 1), given.get("backoffMs", 0)
        if not _is_whole(attempts) or attempts < 1:
            text = "agent retry.maxAttempts must be a positive integer"
            raise OptionFault(text, "maxAttempts", attempts)
        if attempts > _MAX_ATTEMPTS:
            text = f"agent retry.maxAttempts must be between 1 and {_MAX_ATTEMPTS}"
            raise OptionFault(text, "maxAttempts", attempts)
        if not _is_whole(backoff) or backoff < 0:
            text = "agent retry.backoffMs must be a non-negative integer"
            raise OptionFault(text, "backoffMs", backoff)
        if backoff > LONGEST_WAIT_MS:
            text = f"agent retry.backoffMs must be at most {LONGEST_WAIT_MS}, 365 days"
            raise OptionFault(text, "backoffMs", backoff)
        return cls(int(attempts), backoff / 1000)


@attrs.frozen(kw_only=True)
class AgentOptions:
    """Checked options of one call.

    Attributes:
        agent_type: The name of the agent.
        schema: What the answer has to fit, not checked yet.
        model: The model that was chosen, its provider, and its effort of thinking.
        label: Words that distinguish the call from others.
        phase: The phase of the run.
        max_tokens: Tokens that each attempt may use at most.
        priority: Higher goes first.
        retry: The attempts.
        isolated: Whether the agent gets a worktree of its own.
    """

    agent_type: str | None
    schema: Any
    model: ModelChoice
    label: str | None
    phase: str | None
    max_tokens: int | None
    priority: int
    retry: Retry
    isolated: bool = False

    @classmethod
    def read(
        cls, given: Mapping[str, Any], models: Models, defaults: Mapping[str, Any]
    ) -> AgentOptions:
        """Return the options that a script gave.

        Args:
            given: The options.
            models: The names that the host gives to models.
            defaults: The model and the provider of the phase.

        Raises:
            StepFailed: There is an unknown option, or one of another type.
        """
        if not given and not defaults:
            return _USUAL
        for name in given:
            if name not in _NAMES:
                text = f"agent has no option {name!r:.60}; it has {', '.join(_NAMES)}"
                raise OptionFault(text, name, known=False)
        if _text(given, "key") == "":
            raise OptionFault("agent option key takes a string that is not empty", "key", "")
        return cls(
            agent_type=_text(given, "agentType"),
            schema=given.get("schema"),
            model=_model(given, models, defaults),
            label=_text(given, "label"),
            phase=_text(given, "phase"),
            max_tokens=_max_tokens(given),
            priority=_priority(given),
            retry=Retry.of(given.get("retry")),
            isolated=_isolated(given),
        )


#: The options of a call that leaves all of them to the agent, as most calls do.
_USUAL: Final = AgentOptions(
    agent_type=None,
    schema=None,
    model=ModelChoice(),
    label=None,
    phase=None,
    max_tokens=None,
    priority=0,
    retry=Retry(),
)


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _got(value: Any) -> str:
    return f"got {shown(value, JAVASCRIPT.literal)}"


def _text(options: Mapping[str, Any], name: str) -> str | None:
    value = options.get(name)
    if value is None or isinstance(value, str):
        return value
    raise OptionFault(f"agent option {name} takes a string; {_got(value)}", name, value)


def _model(options: Mapping[str, Any], models: Models, defaults: Mapping[str, Any]) -> ModelChoice:
    try:
        choice = models.choose(options, defaults)
    except SelectorFault as error:
        raise StepFailed(f"agent option {error}", "TypeError") from error
    effort = options.get("effort")
    if effort is None:
        return choice
    if effort not in _EFFORTS:
        text = f"agent option effort takes {', '.join(map(repr, _EFFORTS))}; {_got(effort)}"
        raise OptionFault(text, "effort", effort)
    own = choice.options.get("thinking", effort)
    if own != effort and "thinking=" in str(options.get("model")):
        text = (
            f"agent option effort is {effort!r}, and the option model asks for the thinking effort "
            f"{own!r}; leave one of them out"
        )
        raise OptionFault(text, "effort", effort)
    return attrs.evolve(choice, options={**choice.options, "thinking": effort})


def _max_tokens(options: Mapping[str, Any]) -> int | None:
    value = options.get("maxTokens")
    if value is None:
        return None
    if not _is_whole(value) or not 1 <= value <= _MAX_TOKENS:
        text = f"agent option maxTokens takes a positive whole number; {_got(value)}"
        raise OptionFault(text, "maxTokens", value)
    return int(value)


def _isolated(options: Mapping[str, Any]) -> bool:
    value = options.get("isolation")
    if value not in (None, "worktree"):
        text = f"agent option isolation takes 'worktree'; {_got(value)}"
        raise OptionFault(text, "isolation", value)
    return value is not None


def _priority(options: Mapping[str, Any]) -> int:
    value = options.get("priority", 0)
    if type(value) is not int:
        text = f"agent option priority takes a whole number; {_got(value)}"
        raise OptionFault(text, "priority", value)
    return value
