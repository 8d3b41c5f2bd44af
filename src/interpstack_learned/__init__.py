"""Types of answers: what tools that declare no type have answered, as shapes without values.

| Name | Is |
|---|---|
| `LearnedTypes` | gives tools the types that earlier answers had, and learns from new answers |
| `learned_types` | the `LearnedTypes` that an adapter's option `learn_types` means |
| `NotAnAnswer` | a text in place of an answer, from which nothing is learned |
| `Shape` | the kinds, field names and counts of some values |
| `LearnedTable`, `LearnedVersion` | the shapes of the versions of many tools |
| `ReviewedType`, `read_reviewed`, `reviewed_text` | files of types that a person has reviewed |

The package `genson` infers JSON Schemas, too. It was not taken: it looks at every part of a value,
so an answer with a million keys takes as long as the tool likes, and a deep one all of the stack.
It does not count, so that a name which was seen once looks like the others. And it has no notion
of keys that are data, which must not get into a prompt.
"""

from __future__ import annotations

from interpstack_learned.learning import VARIABLE, LearnedTypes, NotAnAnswer, learned_types
from interpstack_learned.reviewed import ReviewedType, read_reviewed, reviewed_text
from interpstack_learned.shapes import Shape
from interpstack_learned.stored import forget_types, read_types
from interpstack_learned.table import LearnedTable, LearnedVersion, MalformedTypes, version_of

__all__ = [
    "VARIABLE",
    "LearnedTable",
    "LearnedTypes",
    "LearnedVersion",
    "MalformedTypes",
    "NotAnAnswer",
    "ReviewedType",
    "Shape",
    "forget_types",
    "learned_types",
    "read_reviewed",
    "read_types",
    "reviewed_text",
    "version_of",
]
