"""Skills from a deepagents backend: the files of a skill, checked before code may import them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deepagents.backends.protocol import BackendProtocol, FileDownloadResponse, GlobResult
from graph_tasks import tool_request

from interpstack_langchain.backend_skills import BackendSkills
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall, running_eval

FILES = {"SKILL.md": b"# Fmt", "index.ts": b"export const f = 1", "lib/deep.js": b"1"}


class Backend(BackendProtocol):
    """A backend with the files of one folder."""

    def __init__(self, files: Any, **glob: Any) -> None:
        self.files = dict(files)
        self.glob_options = glob
        self.sizes = True
        self.folders: list[str] = []
        self.downloaded: list[str] = []

    async def aglob(self, pattern: str, path: str = "/") -> GlobResult:  # type: ignore[override]
        assert pattern == "**/*"
        self.folders.append(path)
        found: list[Any] = []
        for name, content in self.files.items():
            size = {"size": len(content or b"")} if self.sizes else {}
            found.append({"path": name, **size})
        return GlobResult(**{"matches": found, **self.glob_options})

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        self.downloaded += paths
        by_path = {f"{self.folders[-1]}/{name}": content for name, content in self.files.items()}
        return [
            FileDownloadResponse(
                path, by_path[path], None if by_path[path] else "permission_denied"
            )
            for path in paths
        ]


@pytest.fixture
def state() -> Iterator[dict[str, Any]]:
    """The state of the graph that runs the eval."""
    request = tool_request()
    token = running_eval.set(EvalCall(request, SiblingCalls.of(request), None))  # type: ignore[arg-type]
    yield request.state
    running_eval.reset(token)


def skills(backend: Any) -> BackendSkills:
    return BackendSkills(backend, (".ts", ".js"))


@pytest.mark.parametrize("given", [None, object(), {"glob": len}])
def test_anything_but_a_backend_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="skills_backend takes a deepagents backend; got"):
        skills(given)


@pytest.mark.usefixtures("state")
async def test_a_skill_is_its_code_files_and_its_description() -> None:
    backend = Backend({**FILES, "notes.txt": b"", "node_modules/x/index.js": b"", "logo.png": b""})
    assert await skills(backend).files("fmt") == {
        "SKILL.md": "# Fmt",
        "index.ts": "export const f = 1",
        "lib/deep.js": "1",
    }
    assert backend.folders == ["/skills/fmt"]
    assert [path for path in backend.downloaded if path.endswith((".txt", ".png"))] == []


@pytest.mark.usefixtures("state")
async def test_a_folder_without_a_description_is_no_skill() -> None:
    assert await skills(Backend({"index.ts": b"1"})).files("fmt") is None
    assert await skills(Backend({})).files("fmt") is None


async def test_the_agent_s_skills_say_where_a_skill_is(state: Any) -> None:
    state["skills_metadata"] = [
        {"name": "fmt", "path": "/old/fmt/SKILL.md"},
        {"name": "fmt", "path": "/own/./fmt/SKILL.md"},
        {"path": "/nameless/SKILL.md"},
    ]
    backend = Backend(FILES)
    assert await skills(backend).files("fmt")
    assert backend.folders == ["/own/fmt"], "the last one of a name counts"
    assert await skills(backend).files("other") is None
    assert len(backend.folders) == 1, "a skill the agent does not have is not looked for"
    assert await skills(backend).names() == ["fmt", "fmt"]


@pytest.mark.usefixtures("state")
async def test_an_agent_without_skills_has_no_names() -> None:
    assert await skills(Backend(FILES)).names() == []


@pytest.mark.usefixtures("state")
async def test_files_outside_of_the_skill_are_no_files_of_it() -> None:
    outside = {"/skills/other/a.ts": b"1", "../b.ts": b"2", "/skills/fmt-2/c.ts": b"3"}
    backend = Backend({**FILES, **outside})
    found = await skills(backend).files("fmt")
    assert found is not None
    assert sorted(found) == sorted(FILES)


BROKEN = [
    ({"error": "no such folder"}, "no such folder"),
    ({"matches": None}, "the backend listed nothing"),
    ({"truncated": True}, "its directory has more files than the backend lists"),
]


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(("glob", "message"), BROKEN)
async def test_a_list_that_is_not_whole_is_refused(glob: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        await skills(Backend(FILES, **glob)).files("fmt")


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "its file a.ts cannot be read: permission_denied"),
        (b"\xff", "its file a.ts is not UTF-8 text"),
    ],
)
async def test_a_file_that_cannot_be_read_names_itself(content: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        await skills(Backend({"SKILL.md": b"# Fmt", "a.ts": content})).files("fmt")


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("sizes", [True, False])
async def test_a_skill_has_at_most_a_mebibyte(sizes: bool) -> None:
    most = Backend({"SKILL.md": b"#", "a.ts": b"x" * (2**20 - 1)})
    more = Backend({"SKILL.md": b"#", "a.ts": b"x" * 2**20})
    most.sizes = more.sizes = sizes
    assert await skills(most).files("fmt")
    with pytest.raises(ValueError, match="its code has more than 1048576 bytes"):
        await skills(more).files("fmt")
    assert (more.downloaded == []) is sizes, "known sizes are checked before the download"


@pytest.mark.usefixtures("state")
async def test_a_skill_has_at_most_256_code_files() -> None:
    files = {"SKILL.md": b"#", **{f"{n}.ts": b"1" for n in range(256)}}
    assert await skills(Backend(files)).files("fmt")
    with pytest.raises(ValueError, match="it has more than 256 code files"):
        await skills(Backend({**files, "more.ts": b"1"})).files("fmt")
