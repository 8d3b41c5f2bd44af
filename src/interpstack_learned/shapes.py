"""Shapes of values: kinds, names of fields, counts; never a value.

Answers come from anywhere, so everything is bounded: the parts that are looked at, the depth, the
fields of an object, the parts of a shape. Keys may be data: the values below such keys have one
shape together, and the keys are dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Self

import attrs

from interpstack_schemas import BYTES

__all__ = ["MalformedShape", "Shape", "is_field_name"]

#: Levels of lists and objects inside each other.
_DEPTH: Final = 6
#: Fields of one object; an object with more is a dictionary.
_FIELDS: Final = 64
#: Items of one list, and values of one dictionary, that are looked at.
_ITEMS: Final = 100
#: Parts after which no further item is begun, and parts that are looked at in all.
_PARTS: Final = 500
_MOST_PARTS: Final = 2000
#: Parts of one shape.
_NODES: Final = 400
#: Objects, fields, and the share of fields that an object has on average, for a dictionary.
_SPARSE_OBJECTS: Final = 5
_SPARSE_FIELDS: Final = 10
_SPARSE_SHARE: Final = 0.3
#: How often a name must have been seen for it to be shown.
_SHOWN_FROM: Final = 2
#: Characters of a schema as JSON that is shown to models, and what is tried to keep to it: levels
#: of lists and objects, and fields of each object.
_SHOWN_CHARS: Final = 2000
_SHOWN: Final = (*((n, _FIELDS) for n in (6, 5, 4, 3, 2)), (2, 32), (1, _FIELDS), (2, 16), (1, 32))
_MOST_SEEN: Final = 10**9

_ANY: Final = "any"
_SAFE: Final = 2**53 - 1
#: Kinds without parts, in the order in which a type lists them.
_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"type": "string"},
    "bytes": {"type": "string", "format": BYTES},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
}
_KINDS: Final = frozenset({*_SCHEMAS, _ANY})

#: Words of letters and digits, with signs between them; no spaces, by which names become sentences.
_NAME: Final = re.compile(r"[$@_]*[A-Za-z][A-Za-z0-9]*(?:[_.-]+[A-Za-z0-9]+)*_*", re.ASCII)
_NAME_CHARS: Final = 40
#: The longest word with letters and digits, and the most digits of a name.
_MIXED_CHARS: Final = 12
_DIGITS: Final = 4
_WORD: Final = re.compile(r"[A-Za-z0-9]+", re.ASCII)


class MalformedShape(ValueError):
    """A stored shape has another form."""


def is_field_name(key: Any) -> bool:
    """Whether a key looks like the name of a field, and not like data.

    Data are addresses, dates, numbers, ids, tokens and texts: what is long, has many digits, or has
    digits within a long word, as keys and hashes have.
    """
    if type(key) is not str or len(key) > _NAME_CHARS or not _NAME.fullmatch(key):
        return False
    if sum(map(str.isdigit, key)) > _DIGITS:
        return False
    words = _WORD.findall(key)
    return not any(len(word) > _MIXED_CHARS and not word.isalpha() for word in words)


class _Look:
    """What is left of the parts that one look at an answer may take."""

    def __init__(self) -> None:
        self.taken = 0

    def begins(self) -> bool:
        """Whether one more item may be begun."""
        return self.taken < _PARTS

    def takes(self) -> bool:
        """Take one part; whether it was left."""
        self.taken += 1
        return self.taken <= _MOST_PARTS


@attrs.define
class Shape:
    """The shape of some values.

    Attributes:
        seen: How many values.
        kinds: Kinds of those without parts; `any` for what JSON does not have, and for what lies
            too deep.
        items: The shape of all items of the lists; `None` without a list.
        objects: How many of the values are objects.
        fields: The shapes of their fields by name; each has its own count.
        values: The shape of all values whose keys are data; `None` without such.
        dictionary: Whether all keys are data, so that there are no fields.
    """

    seen: int = 0
    kinds: set[str] = attrs.field(factory=set)
    items: Shape | None = None
    objects: int = 0
    fields: dict[str, Shape] = attrs.field(factory=dict)
    values: Shape | None = None
    dictionary: bool = False

    @classmethod
    def of(cls, value: Any) -> Self:
        """The shape of one value of the host, of which at most 2,000 parts are looked at.

        No method of a value's own class is called.
        """
        made = cls()
        made.look_at(value, _Look(), 0)
        made._trim()
        return made

    def look_at(self, value: Any, look: _Look, depth: int) -> None:
        """Add one value, which lies at a depth of the whole answer."""
        self.seen += 1
        if not look.takes():
            self.kinds.add(_ANY)
        elif value is None:
            self.kinds.add("null")
        elif isinstance(value, bool):
            self.kinds.add("boolean")
        elif type(value) is int:
            self.kinds.add("integer" if -_SAFE <= value <= _SAFE else _ANY)
        elif type(value) is float:
            self.kinds.add("number")
        elif type(value) is str:
            self.kinds.add("string")
        elif type(value) in (bytes, bytearray):
            self.kinds.add("bytes")
        elif depth < _DEPTH and isinstance(value, (list, tuple)):
            self._add_list(value, look, depth)
        elif depth < _DEPTH and isinstance(value, dict):
            self._add_object(value, look, depth)
        else:
            self.kinds.add(_ANY)

    def _add_list(self, value: list[Any] | tuple[Any, ...], look: _Look, depth: int) -> None:
        self.items = self.items or Shape()
        base: Any = list if isinstance(value, list) else tuple
        length = base.__len__(value)
        for index in range(0, length, max(1, -(-length // _ITEMS))):
            if not look.begins():
                return
            self.items.look_at(base.__getitem__(value, index), look, depth + 1)

    def _add_object(self, value: dict[Any, Any], look: _Look, depth: int) -> None:
        pairs = list(islice(dict.items(value), _FIELDS + 1))
        if not all(isinstance(key, str) for key, _ in pairs):  # a Map in the guest
            self.kinds.add(_ANY)
            return
        self.objects += 1
        named = [is_field_name(key) for key, _ in pairs]
        if len(pairs) > _FIELDS or sum(named) * 2 < len(pairs):
            self._fold()
        for (key, item), is_named in zip(pairs, named, strict=True):
            if is_named and not self.dictionary:
                self._target(key).look_at(item, look, depth + 1)
            elif look.begins():
                self._target().look_at(item, look, depth + 1)
        if self._is_dictionary():
            self._fold()

    def merge(self, other: Shape) -> None:
        """Add what another shape was made of."""
        self.absorb(other)
        self._trim()

    def absorb(self, other: Shape) -> None:
        """Add another shape, and leave the bounds to the caller."""
        self.seen = min(self.seen + other.seen, _MOST_SEEN)
        self.kinds |= other.kinds
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.absorb(other.items)
        self.objects = min(self.objects + other.objects, _MOST_SEEN)
        if other.dictionary:
            self._fold()
        for name, shape in other.fields.items():
            self._target(name).absorb(shape)
        if other.values is not None:
            self._target().absorb(other.values)
        if self._is_dictionary():
            self._fold()

    def _target(self, name: str | None = None) -> Shape:
        """The shape of a field, or of all values that have no name."""
        if name is not None and not self.dictionary:
            return self.fields.setdefault(name, Shape())
        self.values = self.values or Shape()
        return self.values

    def _is_dictionary(self) -> bool:
        """Whether there are too many fields, or each object has others."""
        count = len(self.fields)
        if count > _FIELDS:
            return True
        if self.objects < _SPARSE_OBJECTS or count < _SPARSE_FIELDS:
            return False
        share = sum(one.seen for one in self.fields.values()) / (self.objects * count)
        return share < _SPARSE_SHARE

    def _fold(self) -> None:
        """Make a dictionary of the objects: their fields lose their names."""
        for shape in self.fields.values():
            self._target().absorb(shape)
        self.fields, self.dictionary = {}, True

    # -- bounds --------------------------------------------------------------------------------

    @property
    def parts(self) -> list[Shape]:
        """The shapes right below this one."""
        return [
            *self.fields.values(),
            *(one for one in (self.items, self.values) if one is not None),
        ]

    def size(self) -> int:
        """The number of its parts, itself included."""
        return 1 + sum(part.size() for part in self.parts)

    def forget_parts(self) -> None:
        """Forget what its lists and objects are made of."""
        if self.items is not None or self.objects:
            self.kinds.add(_ANY)
        self.items, self.objects, self.fields, self.values = None, 0, {}, None
        self.dictionary = False

    def _trim(self) -> None:
        """Forget what lies deepest, so that the shape has few enough parts."""
        level, count = [self], 1
        while level:
            below = [part for shape in level for part in shape.parts]
            count += len(below)
            if count > _NODES:
                for shape in level:
                    shape.forget_parts()
                return
            level = below

    # -- forms ---------------------------------------------------------------------------------

    def schema(self, depth: int = _DEPTH, width: int = _FIELDS) -> dict[str, Any]:
        """The JSON Schema that accepts every value of which the shape was made.

        A name that was seen once is left out: it may be data after all.

        Args:
            depth: Levels of lists and objects whose parts are described.
            width: Fields of each object that are described.
        """
        if _ANY in self.kinds or not self.seen:
            return {}
        made: list[dict[str, Any]] = []
        if self.objects:
            made.append(self._object(depth, width))
        if self.items is not None:
            inner = self.items.schema(depth - 1, width) if depth > 0 else {}
            made.append({"type": "array", **({"items": inner} if inner else {})})
        covered = {"integer"} if "number" in self.kinds else set()
        kinds = self.kinds - covered
        made += [dict(schema) for kind, schema in _SCHEMAS.items() if kind in kinds]
        return made[0] if len(made) == 1 else {"anyOf": made}

    def _object(self, depth: int, width: int) -> dict[str, Any]:
        if depth <= 0:
            return {"type": "object"}
        if self.dictionary:
            inner = {} if self.values is None else self.values.schema(depth - 1, width)
            return {"type": "object", **({"additionalProperties": inner} if inner else {})}
        known = [name for name, one in self.fields.items() if one.seen >= _SHOWN_FROM]
        shown = {name: self.fields[name] for name in known[:width]}
        if not shown:
            return {"type": "object"}
        must = [name for name, one in shown.items() if one.seen >= self.objects]
        return {
            "type": "object",
            "properties": {name: one.schema(depth - 1, width) for name, one in shown.items()},
            **({"required": must} if must else {}),
        }

    def short_schema(self) -> tuple[dict[str, Any], bool]:
        """The schema with as much as a prompt has room for, and whether it lacks fields."""
        for depth, width in _SHOWN:
            made = self.schema(depth, width)
            if len(json.dumps(made)) <= _SHOWN_CHARS:
                return made, width < _FIELDS and made != self.schema(depth)
        return self.schema(0), False

    def dump(self) -> dict[str, Any]:
        """The stored form."""
        made: dict[str, Any] = {"n": self.seen}
        if self.kinds:
            made["k"] = sorted(self.kinds)
        if self.items is not None:
            made["i"] = self.items.dump()
        if self.objects:
            made["o"] = self.objects
        if self.fields:
            made["f"] = {name: shape.dump() for name, shape in self.fields.items()}
        if self.values is not None:
            made["v"] = self.values.dump()
        if self.dictionary:
            made["d"] = 1
        return made

    @classmethod
    def load(cls, form: Any) -> Self:
        """The shape of a stored form, of which nothing is taken unchecked.

        Raises:
            MalformedShape: The form is another one.
        """
        made = cls._load(form, _DEPTH)
        if made.size() > _NODES:
            raise MalformedShape(f"a shape has more than {_NODES} parts")
        return made

    @classmethod
    def _load(cls, form: Any, depth: int) -> Self:
        if not isinstance(form, dict) or form.keys() - set("nkiofvd") or depth < 0:
            raise MalformedShape("a shape is not an object of its known keys, or lies too deep")
        seen, objects = _count(form.get("n")), _count(form.get("o", 0))
        kinds, fields = form.get("k", []), form.get("f", {})
        if not isinstance(kinds, list) or not all(type(kind) is str for kind in kinds):
            raise MalformedShape("the kinds of a shape are not a list of texts")
        if not _KINDS.issuperset(kinds):
            raise MalformedShape("a shape has an unknown kind")
        if not isinstance(fields, dict) or len(fields) > _FIELDS:
            raise MalformedShape("the fields of a shape are not an object, or too many")
        if not all(map(is_field_name, fields)):
            raise MalformedShape("a shape has a field whose name is data")
        if form.get("d", 1) != 1:
            raise MalformedShape("a mark of a shape is another one than 1")
        has_parts = bool(fields or "v" in form or "d" in form)
        if objects > seen or (has_parts and not objects) or (fields and "d" in form):
            raise MalformedShape("the counts of a shape do not fit each other")
        return cls(
            seen,
            set(kinds),
            cls._load(form["i"], depth - 1) if "i" in form else None,
            objects,
            {name: cls._load(one, depth - 1) for name, one in fields.items()},
            cls._load(form["v"], depth - 1) if "v" in form else None,
            "d" in form,
        )


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST_SEEN:
        raise MalformedShape("a count of a shape is not a whole number")
    return int(value)
