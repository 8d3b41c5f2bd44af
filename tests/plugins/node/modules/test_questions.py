"""Questions of kernels about modules."""

from __future__ import annotations

from pathlib import Path

from interpstack_node.modules.finding import ModuleFinder
from interpstack_node.modules.places import Places
from interpstack_node.modules.questions import ModuleQuestions


def test_answers(tmp_path: Path) -> None:
    (tmp_path / "a.mjs").write_text("export {}", "utf-8")
    questions = ModuleQuestions(
        ModuleFinder(Places((), tmp_path.resolve()), files=False, network=False)
    )
    name = (tmp_path.resolve() / "a.mjs").as_uri()
    assert questions.about == {"cwd": str(tmp_path.resolve()), "network": False}
    assert questions.answer(["has", "", "./a.mjs"]) is True
    assert questions.answer(["import", "", "./a.mjs"]) == {
        "name": name,
        "kind": "module",
        "local": True,
    }
    assert questions.answer(["source", "", name]) == {"source": "export {}"}
    assert questions.answer(["require", "", "absent"]) == {
        "code": "ERR_MODULE_NOT_FOUND",
        "message": "Module not found: absent",
    }
