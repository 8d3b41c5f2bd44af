"""Tests of interpstack_monty.prompt."""

from __future__ import annotations

import pytest

from interpstack_monty import prompt


def test_the_section_is_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(prompt, "files")
    section = prompt.python_section()
    assert section == section.strip()
    assert "Python" in section
