"""Names and URIs under which several servers' tools, prompts and resources are offered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import attrs
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

__all__ = ["Names", "Uris"]

#: Names that are given to one client.
_NAMES: Final = 20_000
#: Links in results that are remembered.
_LINKS: Final = 2000


@attrs.define(eq=False)
class Names:
    """Names of tools, or of prompts. A name that was given once never means anything else.

    Attributes:
        taken: Names that no server can have.
    """

    taken: frozenset[str] = frozenset()
    _given: dict[str, tuple[str, str]] = attrs.field(factory=dict, init=False)
    _names: dict[tuple[str, str], str] = attrs.field(factory=dict, init=False)

    def give(self, server: str, own: str) -> str | None:
        """The name under which something of a server is offered.

        Returns:
            The server's own name for it; with the server's name before it where the own name is
            taken; `None` if that is taken, too.
        """
        key = (server, own)
        if key in self._names:
            return self._names[key]
        for name in (own, f"{server}.{own}"):
            if name not in self.taken and name not in self._given and len(self._given) < _NAMES:
                self._given[name], self._names[key] = key, name
                return name
        return None

    def find(self, name: str) -> tuple[str, str] | None:
        """The server and its own name; `None` if the name was not given."""
        return self._given.get(name)


@attrs.define(eq=False)
class Uris:
    """Resources and templates, as the servers listed them last, and links that they sent."""

    _listed: dict[str, str] = attrs.field(factory=dict, init=False)
    _templates: dict[str, tuple[str, UriTemplate | None]] = attrs.field(factory=dict, init=False)
    _links: OrderedDict[str, str] = attrs.field(factory=OrderedDict, init=False)

    def take(self, resources: Iterable[tuple[str, str]]) -> None:
        """Take the URIs and servers of all resources; the first server of a URI has it."""
        self._listed = dict(reversed(list(resources)))

    def take_templates(self, templates: Iterable[tuple[str, str]]) -> None:
        """Take the texts and servers of all templates; the first server of a text has it."""
        known, self._templates = self._templates, {}
        for text, server in templates:
            parsed = known[text][1] if text in known else _parsed(text)
            self._templates.setdefault(text, (server, parsed))

    def link(self, uri: str, server: str) -> None:
        """Remember a link in a result: servers need not list what they link to."""
        self._links.setdefault(uri, server)
        while len(self._links) > _LINKS:
            self._links.popitem(last=False)

    def find(self, uri: str) -> str | None:
        """The server of a resource or of a template; `None` if no server has it."""
        if uri in self._listed:
            return self._listed[uri]
        if uri in self._templates:
            return self._templates[uri][0]
        fitting = (
            server
            for server, template in self._templates.values()
            if template is not None and _fits(template, uri)
        )
        return self._links.get(uri) or next(fitting, None)


def _parsed(text: Any) -> UriTemplate | None:
    try:
        return UriTemplate.parse(text)
    except InvalidUriTemplate:
        return None


def _fits(template: UriTemplate, uri: str) -> bool:
    try:
        return template.match(uri) is not None
    except ValueError:
        return False
