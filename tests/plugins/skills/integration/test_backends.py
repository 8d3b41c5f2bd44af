"""Skills from the backends of deepagents, in real graphs."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import (
    CompositeBackend,
    FilesystemBackend,
    StateBackend,
    StoreBackend,
)
from deepagents.backends.protocol import BackendProtocol, FileDownloadResponse, GlobResult
from deepagents.middleware.filesystem import FilesystemMiddleware
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from interpstack_langchain import CodeInterpreterMiddleware

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

FRONT = "---\nname: {}\ndescription: helps\n---\nImport it.\n"
FILES = {
    "/skills/math/SKILL.md": FRONT.format("math"),
    "/skills/math/index.ts": "export { add } from './lib/add.js'; export const empty = '';",
    "/skills/math/lib/add.ts": "export const add = (a: number, b: number): number => a + b;",
    "/skills/math/lib/empty.js": "",
    "/skills/math/notes.txt": "no code",
    "/skills/other/SKILL.md": FRONT.format("other"),
    "/skills/other/index.js": "export { add } from '../math/index.ts';",
    "/secret.js": "export const secret = 1;",
}
CODE = 'import {add} from "@/skills/math"; add(1, 2)'


def script(*codes: str) -> Iterator[AIMessage]:
    for number, code in enumerate(codes):
        call = {"name": "eval", "args": {"code": code}, "id": f"e{number}", "type": "tool_call"}
        yield AIMessage(content="", tool_calls=[call])
    yield AIMessage("done")


Run = Callable[..., Any]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs code in an agent of a kind with a backend; what the evals answered."""
    made: list[CodeInterpreterMiddleware] = []

    async def start(
        backend: BackendProtocol,
        *codes: str,
        deep: bool = True,
        use_async: bool = True,
        sources: tuple[str, ...] = ("/skills/",),
        store: Any = None,
        **given: Any,
    ) -> list[str]:
        middleware = CodeInterpreterMiddleware(skills_backend=backend)
        made.append(middleware)
        model = FakeModel(messages=script(*codes))
        options: Any = {"checkpointer": InMemorySaver(), "store": store}
        if deep:
            options |= {"backend": backend, "skills": list(sources), "middleware": [middleware]}
            agent: Any = create_deep_agent(model, **options)
        else:
            files = FilesystemMiddleware(backend=backend)
            agent = create_agent(model, middleware=[files, middleware], **options)
        config = {"configurable": {"thread_id": "t"}}
        given = {"messages": [HumanMessage("go")], **given}
        if use_async:
            result = await agent.ainvoke(given, config)
        else:
            result = await asyncio.to_thread(agent.invoke, given, config)
        return [m.text for m in result["messages"] if isinstance(m, ToolMessage)]

    yield start
    for middleware in made:
        middleware.stack.close()


def data(content: str, encoding: str = "utf-8") -> dict[str, str]:
    return {"content": content, "encoding": encoding, "created_at": "", "modified_at": ""}


def write(root: Path) -> Path:
    for path, content in FILES.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def in_state(root: Path) -> tuple[BackendProtocol, dict[str, Any]]:
    return StateBackend(), {"files": {path: data(text) for path, text in FILES.items()}}


def in_files(root: Path) -> tuple[BackendProtocol, dict[str, Any]]:
    return FilesystemBackend(root_dir=write(root), virtual_mode=True), {}


def in_store(root: Path) -> tuple[BackendProtocol, dict[str, Any]]:
    store = InMemoryStore()
    for path, text in FILES.items():
        store.put(("files",), path, data(text))
    return StoreBackend(namespace=lambda runtime: ("files",)), {"store": store}


def in_parts(root: Path) -> tuple[BackendProtocol, dict[str, Any]]:
    files = FilesystemBackend(root_dir=write(root) / "skills", virtual_mode=True)
    return CompositeBackend(default=StateBackend(), routes={"/skills/": files}), {}


BACKENDS = [in_state, in_files, in_store, in_parts]


@both
@pytest.mark.parametrize("deep", [True, False], ids=["deep", "plain"])
@pytest.mark.parametrize("make", BACKENDS)
async def test_a_skill_of_several_files(
    run: Run, tmp_path: Path, make: Any, deep: bool, use_async: bool
) -> None:
    backend, given = make(tmp_path)
    answers = await run(backend, CODE, "add(add(1, 2), 4)", deep=deep, use_async=use_async, **given)
    assert answers == ["<result>3</result>", "<result>7</result>"]


@pytest.mark.parametrize(("make", "deep"), [(in_state, False), (in_files, True), (in_parts, False)])
@pytest.mark.parametrize(
    "name", ["other", "nope", "Math", "..", "../secret", "%2e%2e", "math/index.ts", "math/lib"]
)
async def test_what_is_refused(run: Run, tmp_path: Path, make: Any, deep: bool, name: str) -> None:
    backend, given = make(tmp_path)
    refused, fine = await run(backend, f'import "@/skills/{name}"', CODE, deep=deep, **given)
    assert refused.startswith('<error type="SkillNotAvailable">')
    assert str(tmp_path) not in refused
    assert fine == "<result>3</result>"


@both
async def test_a_skill_is_where_the_agent_found_it(
    run: Run, tmp_path: Path, use_async: bool
) -> None:
    for source, value in (("base", 1), ("project", 2)):
        directory = tmp_path / source / "calc"
        directory.mkdir(parents=True)
        (directory / "SKILL.md").write_text(FRONT.format("calc"))
        (directory / "index.js").write_text(f"export const value = {value}")
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    answers = await run(
        backend,
        '(await import("@/skills/calc")).value',
        sources=("/base/", "/project/"),
        use_async=use_async,
    )
    assert answers == ["<result>2</result>"]  # the later source wins, as in the prompt


async def test_a_backend_with_paths_of_the_host(run: Run, tmp_path: Path) -> None:
    root = write(tmp_path)
    backend = FilesystemBackend(root_dir=root, virtual_mode=False)
    assert await run(backend, CODE, sources=(f"{root}/skills/",)) == ["<result>3</result>"]


async def test_links_lead_nowhere(run: Run, tmp_path: Path) -> None:
    root = write(tmp_path / "root")
    (tmp_path / "outside.js").write_text("export const secret = 1")
    (root / "skills/math/far.js").symlink_to(tmp_path / "outside.js")
    (root / "skills/math/index.ts").write_text("export * from './far.js'")
    backend = FilesystemBackend(root_dir=root, virtual_mode=True)
    [answer] = await run(backend, 'await import("@/skills/math")')
    assert answer.startswith('<error type="SkillNotAvailable">')
    assert "secret" not in answer


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("index.ts", data(base64.b64encode(b"export const x = 1").decode(), "base64"), None),
        ("index.ts", data(base64.b64encode(b"\xff\xfe").decode(), "base64"), "not UTF-8 text"),
        (
            "index.ts",
            data("export const x = `" + "\n".join("x" * 9 for _ in range(9000)) + "`"),
            None,
        ),
        ("index.ts", data("//" + "x" * 2**20), "more than 1048576 bytes"),
        ("SKILL.md", data("---\nmodule: gone.js\n---\n"), "'gone.js'"),
    ],
    ids=["base64", "binary", "long", "large", "entry"],
)
async def test_contents(run: Run, path: str, content: dict[str, str], found: str | None) -> None:
    files = {**in_state(Path())[1]["files"], f"/skills/math/{path}": content}
    # Without the skills middleware, which would have its own say about SKILL.md.
    [answer] = await run(
        StateBackend(), 'typeof (await import("@/skills/math")).x', deep=False, files=files
    )
    if found is None:
        assert answer in ("<result>string</result>", "<result>number</result>")
    else:
        assert answer.startswith('<error type="SkillNotAvailable">')
        assert found in answer


async def test_ten_thousand_files(run: Run) -> None:
    files = in_state(Path())[1]["files"]
    many = {f"/skills/math/data/{n}.txt": data("x") for n in range(10_000)}
    assert await run(StateBackend(), CODE, deep=False, files={**files, **many}) == [
        "<result>3</result>"
    ]
    code = {f"/skills/math/lib/{n}.js": data("1") for n in range(10_000)}
    [answer] = await run(StateBackend(), CODE, deep=False, files={**files, **code})
    assert "more than 256 code files" in answer


class Troubled(StateBackend):
    """Fails in one way, then works."""

    def __init__(self, trouble: str) -> None:
        super().__init__()
        self.trouble = trouble

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        found = await super().aglob(pattern, path)
        match self.trouble:
            case "raise":
                self.trouble = ""
                raise ConnectionError("the store is down")
            case "refuse":
                self.trouble = ""
                return GlobResult(error="no access")
            case "truncate":
                self.trouble = ""
                return GlobResult(matches=found.matches, truncated=True)
            case "relative":
                start = len(path or "") + 1
                names = [{"path": str(match["path"])[start:]} for match in found.matches or ()]
                return GlobResult(matches=names)  # type: ignore[arg-type]
            case "outside":
                far = [{"path": "/secret.js"}, {"path": "../other/index.js"}]
                return GlobResult(matches=[*(found.matches or ()), *far])  # type: ignore[list-item]
        return found

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        assert all(path.startswith("/skills/math/") for path in paths)
        if self.trouble == "lose":
            self.trouble = ""
            return [FileDownloadResponse(path=path, error="file_not_found") for path in paths]
        return await super().adownload_files(paths)


@pytest.mark.parametrize(
    ("trouble", "found"),
    [
        ("raise", "the store is down"),
        ("refuse", "no access"),
        ("truncate", "more files than the backend lists"),
        ("lose", "file_not_found"),
        ("relative", None),
        ("outside", None),
    ],
)
async def test_a_backend_in_trouble(run: Run, trouble: str, found: str | None) -> None:
    first, second = await run(Troubled(trouble), CODE, CODE, deep=False, **in_state(Path())[1])
    assert second == "<result>3</result>"
    if found is None:
        assert first == "<result>3</result>"
    else:
        assert first.startswith('<error type="SkillNotAvailable">skill')
        assert found in first


def test_what_is_no_backend() -> None:
    with pytest.raises(TypeError, match="skills_backend takes a deepagents backend"):
        CodeInterpreterMiddleware(skills_backend="/skills")
