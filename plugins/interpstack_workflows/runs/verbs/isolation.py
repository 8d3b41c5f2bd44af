"""Isolated steps: an agent in a worktree of its own, whose work is a part of the answer."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import Any

import attrs

from interpstack import to_end
from interpstack_workflows.agents.agent import Agent, AgentCall
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_worktrees import GitWorktrees, Worktree, WorktreeError

__all__ = ["IsolatedWork", "check_isolation", "isolated_value", "remove_left"]

_log = logging.getLogger("interpstack.workflows")


def check_isolation(parts: RunParts, name: str, agent: Agent) -> GitWorktrees:
    """Return the worktrees for a call that asks for one.

    Raises:
        StepFailed: The host has named no repository, or the agent cannot work in a folder.
    """
    if parts.worktrees is None:
        raise StepFailed(
            "agent option isolation: the host has named no repository; pass one as"
            " WorkflowRunner(worktrees=FOLDER), or --worktrees FOLDER",
            "TypeError",
        )
    if not agent.takes_cwd:
        raise StepFailed(
            f"agent option isolation: agent {name!r} does not say that it works in the folder of a"
            " call, AgentCall.cwd; leave isolation out, or call an agent that does",
            "TypeError",
        )
    return parts.worktrees


def isolated_value(value: Any, product: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value that a script gets of an isolated step."""
    return {"value": value, **product}


class IsolatedWork:
    """The worktree of one step, from its first call to its end or pause.

    Args:
        trees: Makes worktrees.
        key: Identifies the step.
        saved: What `save` returned when the step paused; `None` at first.
    """

    def __init__(
        self, trees: GitWorktrees, key: str, saved: Mapping[str, Any] | None = None
    ) -> None:
        self._trees = trees
        self._key = key
        self._saved = saved
        self._id = str(saved["id"]) if saved else secrets.token_hex(8)
        self._tree: Worktree | None = None

    async def enter(self, call: AgentCall) -> AgentCall:
        """Return the call with the worktree as its folder; made for the first call.

        Raises:
            WorktreeError: It cannot be made.
        """
        if self._tree is None:
            self._tree = await self._trees.open(self._key, self._saved)
        return attrs.evolve(call, cwd=self._tree.path, cwd_id=self._id)

    async def product(self) -> dict[str, Any]:
        """Return the work, as plain JSON; empty if no worktree was made.

        Raises:
            WorktreeError: Git fails.
        """
        return {} if self._tree is None else (await self._tree.product()).to_json()

    async def save(self) -> dict[str, Any]:
        """Return the work as the record of a pause stores it.

        Raises:
            WorktreeError: Git fails, or the work is too large for a record.
        """
        product = await self.product()
        if product.get("branch"):
            raise WorktreeError(
                "the agent waits for a decision, and its work is too large to be saved until then;"
                f" it is on the branch {product['branch']}"
            )
        return {**product, "id": self._id}

    async def try_save(self) -> Mapping[str, Any] | None:
        """Return the work as the record of a stage stores it; `None` if it cannot be saved."""
        if self._tree is None:
            return self._saved
        try:
            return await self.save()
        except WorktreeError as error:
            _log.warning("The work of the step %s is lost if the run stops: %s", self._key, error)
            return None

    async def failed(self, error: StepFailed) -> StepFailed:
        """Return the failure of the step, with the work that was done before."""
        try:
            product = await self.product()
        except WorktreeError:
            _log.exception("The work of the failed step %s cannot be read", self._key)
            return error
        files = product if product.get("files") else {}
        return StepFailed(str(error), error.name, {**error.data, **files})

    async def close(self) -> None:
        """Remove the worktree, even if the step is being cancelled."""
        tree, self._tree = self._tree, None
        if tree is not None:
            await to_end(self._remove(tree))

    async def _remove(self, tree: Worktree) -> None:
        try:
            await tree.remove()
        except WorktreeError:  # the next activation of the run tries it again
            _log.exception("The worktree %s cannot be removed", tree.path)


async def remove_left(parts: RunParts, run_id: str) -> None:
    """Remove the worktrees of an earlier activation of a run whose process died."""
    if parts.worktrees is None:
        return
    try:
        count = await parts.worktrees.sweep(run_id)
    except WorktreeError:
        _log.exception("Leftover worktrees of run %s cannot be removed", run_id)
        return
    if count:
        _log.warning("Removed %d leftover worktrees of run %s", count, run_id)
