"""Parameters of bridges that are models of pydantic, which the kernel does not need."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from typing import Annotated, Any

import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    model_validator,
)
from pydantic.dataclasses import dataclass

from interpstack import UNDEFINED, Bridge, InterpreterStack, MapValue, bridge


class Line(BaseModel):
    item: str
    count: int = Field(1, ge=1)


class Order(BaseModel):
    lines: list[Line]
    due: datetime | None = None
    owner: str = Field("", validation_alias=AliasChoices("owner", "user"))


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")
    a: int = 0


class Renaming(BaseModel):
    q: str

    @model_validator(mode="before")
    @classmethod
    def rename(cls, data: Any) -> Any:
        return {"q": data["query"]} if "query" in data else data


class Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    inner_name: int = Field(alias="innerName")


class Keeping(Named):
    model_config = ConfigDict(extra="allow")


class Ignoring(Named):
    model_config = ConfigDict(extra="ignore")


class Aliased(BaseModel):
    inner_name: int = Field(0, alias="innerName")
    other: int = Field(0, alias="a", validation_alias="b")


class Paths(BaseModel):
    first: int = Field(0, validation_alias=AliasChoices(AliasPath("all", 0), "one"))
    second: int = Field(0, validation_alias=AliasPath("all", 1))


class Counts(RootModel[dict[str, int]]):
    pass


class Table(BaseModel):
    rows: dict[int, str]


class Flags(BaseModel):
    by_day: list[dict[date, dict[bool, Line]]]


class First(BaseModel):
    """Keeps the first rows alone, as its author wants."""

    rows: Annotated[dict[int, str], BeforeValidator(lambda rows: {"1": rows["1"]})]


@dataclass
class Native:
    n: int


@dataclass(config=ConfigDict(populate_by_name=True))
class NativeNamed:
    inner_name: int = Field(alias="innerName")


#: A field under its name and under its alias, and the words about it.
_TWICE = {"inner_name": 1, "innerName": 2}
_BOTH = "field '%s' takes one of 'innerName' and 'inner_name', which are the same field; give one"


def bound(annotation: Any, value: Any) -> Any:
    def handler(it: Any) -> None: ...

    handler.__annotations__["it"] = annotation
    _, given = Bridge(name="kit.take", handler=handler).arguments({"it": value})
    return given["it"]


@pytest.mark.parametrize(
    ("annotation", "value", "made"),
    [
        (Order, {"lines": [{"item": "a"}]}, Order(lines=[Line(item="a")])),
        (Order, MapValue([("lines", []), ("user", "u")]), Order(lines=[], user="u")),  # type: ignore[call-arg]
        (
            Order,
            {"lines": [], "due": datetime(2030, 1, 2, tzinfo=UTC)},
            Order(lines=[], due=datetime(2030, 1, 2, tzinfo=UTC)),
        ),
        (list[Line] | None, [{"item": "a"}], [Line(item="a")]),
        (dict[str, Line], {"k": {"item": "a"}}, {"k": Line(item="a")}),
        (Line | Renaming, {"q": "a"}, Renaming(q="a")),
        (Renaming, {"query": "a"}, Renaming(q="a")),
        (Open, {"x": 1}, Open(x=1)),  # type: ignore[call-arg]
        (Lenient, {"x": 1}, Lenient()),
        (Native, {"n": 1}, Native(1)),
        (Named, {"inner_name": 1, "innerName": UNDEFINED}, Named(inner_name=1)),
        (Keeping, _TWICE, Keeping.model_validate(_TWICE)),
        (Paths, {"all": [1, 2]}, Paths.model_validate({"all": [1, 2]})),
        (Paths, {"all": [], "one": 2}, Paths.model_validate({"one": 2})),
        (Counts, {"a": 1}, Counts({"a": 1})),
        (Table, {"rows": {"1": "a", "02": "b"}}, Table(rows={1: "a", 2: "b"})),
        (First, {"rows": {"1": "a", "2": "b"}}, First(rows={"1": "a"})),  # type: ignore[dict-item]
        (Annotated[int, Field(gt=1)], 2, 2),
    ],
    ids=str,
)
def test_a_model_is_built_from_data(annotation: Any, value: Any, made: Any) -> None:
    assert bound(annotation, value) == made


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (
            Table,
            {"rows": {"1": "a", "01": "b"}},
            "field 'it.rows' takes each key once; got 'it.rows.01' again",
        ),
        (
            Flags,
            {"by_day": [{"2030-01-02": {"yes": {"item": "a"}, "true": {"item": "b"}}}]},
            "field 'it.by_day[0].2030-01-02' takes each key once; "
            "got 'it.by_day[0].2030-01-02.true' again",
        ),
        (
            Flags,
            {"by_day": [{"2030-01-02": {"yes": {"item": "a", "no": 1}}}]},
            "there is no field 'it.by_day[0].2030-01-02.yes.no'",
        ),
        (Order, {"lines": [{"item": "a"}, {"item": 2}]}, "field 'it.lines[1].item': Input should"),
        (Order, {}, "field 'it.lines': Field required"),
        (Order, {"lines": [{"item": "a", "cuont": 1}]}, "no field 'it.lines[0].cuont'; its object"),
        (Order, 5, "field 'it': Input should be"),
        (Line, {"item": "a", "count": 0}, "field 'it.count': Input should be greater"),
        (Order | None, {"lines": [{"item": 2}]}, "field 'it.lines[0].item': Input should"),
        (Native, {"n": "x"}, "field 'it.n': Input should be"),
        (Native, {"n": 1, "m": 1}, "no field 'it.m'; its object has n"),
        (Named, _TWICE, _BOTH % "it"),
        (Ignoring, _TWICE, _BOTH % "it"),
        (NativeNamed, _TWICE, _BOTH % "it"),
        (list[Named], [_TWICE], _BOTH % "it[0]"),
        (dict[str, Named], {"k": _TWICE}, _BOTH % "it.k"),
        (Order, {"lines": [], "user": "a", "owner": "b"}, "takes one of 'owner' and 'user', which"),
        (Paths, {"all": [1], "one": 2}, "takes one of 'all' and 'one', which"),
        (Aliased, {"inner_name": 1}, "no field 'it.inner_name'; its object has innerName, b"),
        (Aliased, {"a": 1, "b": 1}, "no field 'it.a'; its object has innerName, b"),
        (
            Table,
            {"rows": MapValue([(1, "a"), (True, "b")])},
            "field 'it': two of its keys are the same in Python, as 1 and true are",
        ),
        (Annotated[int, Field(gt=1)], 1, "field 'it': Input should be greater than 1"),
        (list[Annotated[str, Field(max_length=1)]], ["ab"], "field 'it[0]': String should have"),
    ],
    ids=str,
)
def test_wrong_data_are_a_type_error_that_names_the_path(
    annotation: Any, value: Any, words: str
) -> None:
    with pytest.raises(TypeError) as caught:
        bound(annotation, value)
    assert words in str(caught.value)


def test_code_passes_an_object_and_catches_a_type_error() -> None:
    @bridge("orders.add")
    def add(order: Order) -> Order:
        assert isinstance(order, Order)
        return order

    with InterpreterStack(bridges=[add]) as stack, stack.session() as session:
        code = "(await orders.add({order: {lines: [{item: 'a'}]}})).lines[0].count"
        assert session.eval_sync(code).text == "1"
        wrong = session.eval_sync("await orders.add({order: {lines: [{item: 1}]}})")
    assert wrong.error is not None
    assert wrong.error.name == "TypeError"
    assert "field 'order.lines[0].item'" in wrong.error.message


def test_the_core_takes_records_without_pydantic() -> None:
    code = (
        "import sys; sys.modules['pydantic'] = None\n"
        "import attrs, interpstack\n"
        "@attrs.frozen\n"
        "class A:\n    n: int\n"
        "def f(a): ...\n"
        "f.__annotations__['a'] = A\n"
        "bridge = interpstack.Bridge(name='f', handler=f)\n"
        "print(bridge.arguments({'a': {'n': 1}})[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'a': A(n=1)}"
