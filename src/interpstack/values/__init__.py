"""Values: their forms for guests, as JSON, and in stores.

`to_json` and `from_json` write and read the values of the engine protocol, `read_json` reads a
guest's JSON while other threads go on, `same_json` compares values of JSON, `is_known` and
`known_fields` read inputs that a cell tells in part, and `to_storable` and `from_storable` keep
every text of a record through any store. `TooLarge` is raised for a value above a limit of
`encode`. `dropped` says what validation by pydantic left out of data, and `has_read_keys` where it
may lose keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack.values.codec import ProtocolError, from_json, to_json
    from interpstack.values.encoding import TooLarge
    from interpstack.values.json_equality import same_json
    from interpstack.values.json_text import read_json
    from interpstack.values.known_parts import is_known, known_fields
    from interpstack.values.models import dropped, has_read_keys
    from interpstack.values.stored_texts import from_storable, to_storable
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "ProtocolError": "codec",
            "TooLarge": "encoding",
            "dropped": "models",
            "from_json": "codec",
            "from_storable": "stored_texts",
            "is_known": "known_parts",
            "known_fields": "known_parts",
            "has_read_keys": "models",
            "read_json": "json_text",
            "same_json": "json_equality",
            "to_json": "codec",
            "to_storable": "stored_texts",
        },
    )

__all__ = [
    "ProtocolError",
    "TooLarge",
    "dropped",
    "from_json",
    "from_storable",
    "has_read_keys",
    "is_known",
    "known_fields",
    "read_json",
    "same_json",
    "to_json",
    "to_storable",
]
