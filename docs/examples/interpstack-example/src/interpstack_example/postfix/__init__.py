"""The engine `postfix`, from nothing."""

from __future__ import annotations

from interpstack import Engine, GuestLanguage, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine]:
    from interpstack_example.postfix.engine import PostfixEngine

    return PostfixEngine


@hookimpl
def interpstack_register_language() -> GuestLanguage:
    from interpstack_example.postfix.guest_language import POSTFIX

    return POSTFIX
