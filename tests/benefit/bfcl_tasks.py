"""The multi-turn tasks of BFCL (its category `multi_turn_base`): files, cars, shares, journeys."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import attrs
from benefit_tasks import Call, Task, ToolForm, Turn
from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    STATELESS_CLASSES,
)

__all__ = ["CATEGORY", "bfcl_tasks"]

CATEGORY: Final = "BFCL_v4_multi_turn_base"
_DATA: Final = files("bfcl_eval") / "data"
_TYPES: Final = {"dict": "object", "float": "number", "tuple": "array"}


@attrs.define
class _Bench:
    """The objects of one task; their public methods are the tools."""

    config: Mapping[str, Any]
    classes: Sequence[str]
    objects: dict[str, Any] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for name in self.classes:
            made = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in STATELESS_CLASSES:
                made._load_scenario(copy.deepcopy(self.config.get(name, {})), long_context=False)
            self.objects[name] = made

    def method(self, tool: str) -> Any:
        # as in the package, where classes share a name the last one counts
        return [getattr(one, tool) for one in self.objects.values() if hasattr(one, tool)][-1]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        method = self.method(tool)
        try:
            # objects keep the lists that they are given, and change them later
            result = method(**copy.deepcopy(_typed(method, arguments)))
        except Exception as error:  # noqa: BLE001 - models of this benchmark read errors as results
            return f"Error during execution: {error}"
        return json.loads(json.dumps(result, default=str))

    def state(self) -> Any:
        return {
            name: {key: value for key, value in vars(one).items() if not key.startswith("_")}
            for name, one in self.objects.items()
        }


def _typed(method: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Make floats of whole numbers where the method takes a float: JSON has one kind of number."""
    parameters = inspect.signature(method).parameters
    return {
        name: float(value)
        if type(value) is int and parameters[name].annotation in (float, "float")
        else value
        for name, value in arguments.items()
    }


def bfcl_tasks() -> list[Task]:
    """Read all tasks of the category from the installed package."""
    truths = {one["id"]: one["ground_truth"] for one in _lines(f"possible_answer/{CATEGORY}.json")}
    return [_read(entry, truths[entry["id"]]) for entry in _lines(f"{CATEGORY}.json")]


def _lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _DATA.joinpath(path).read_text("utf-8").splitlines()]


def _read(entry: dict[str, Any], truth: list[list[str]]) -> Task:
    def new_world() -> _Bench:
        return _Bench(entry["initial_config"], entry["involved_classes"])

    bench = new_world()
    turns = [
        Turn(
            "\n".join(message["content"] for message in messages),
            [_call(bench, source) for source in sources],
            "Done.",
        )
        for messages, sources in zip(entry["question"], truth, strict=True)
    ]
    return Task(entry["id"], _forms(entry["involved_classes"]), turns, new_world)


def _call(bench: _Bench, source: str) -> Call:
    """Read a call that the ground truth has as Python's source."""
    made = ast.parse(source, mode="eval").body
    assert isinstance(made, ast.Call)
    tool = ast.unparse(made.func)
    values = [ast.literal_eval(one) for one in made.args]
    named = {str(one.arg): ast.literal_eval(one.value) for one in made.keywords}
    bound = inspect.signature(bench.method(tool)).bind(*values, **named)
    return Call(tool, json.loads(json.dumps(bound.arguments)))


def _forms(classes: Sequence[str]) -> list[ToolForm]:
    found = {
        document["name"]: ToolForm(
            document["name"], document["description"], _schema(document["parameters"])
        )
        for name in classes
        for document in _lines(f"multi_turn_func_doc/{MULTI_TURN_FUNC_DOC_FILE_MAPPING[name]}")
    }
    return list(found.values())


def _schema(value: Any) -> Any:
    """Turn the benchmark's names of types into those of JSON Schema."""
    if isinstance(value, list):
        return [_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _TYPES.get(one, one) if key == "type" and isinstance(one, str) else _schema(one)
        for key, one in value.items()
    }
