"""Any engine in actors of a Ray cluster: `engine="ray:quickjs"`. Comes with the extra `ray`."""

from __future__ import annotations

from importlib.util import find_spec

from interpstack import Cell, Engine, Outcome, SessionView, Wrapper, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    if find_spec("ray") is None:  # Ray itself takes a second to import, and is not needed yet
        raise ModuleNotFoundError("No module named 'ray'", name="ray")

    from interpstack_ray.engine import RayEngine

    return RayEngine


@hookimpl
def interpstack_wrap_eval(session: SessionView, cell: Cell) -> Wrapper[Outcome]:
    from interpstack_ray.placement import placed_by

    return placed_by(session.key)
