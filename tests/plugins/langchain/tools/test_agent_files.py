"""Code that works on the files of a deep agent, through the agent's own file tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import create_file_data
from deepagents.middleware.filesystem import FilesystemMiddleware, FilesystemPermission
from fake_models import FakeModel
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallLimitMiddleware, wrap_tool_call
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from interpstack_files.api import Files
from interpstack_langchain import CodeInterpreterMiddleware

CSV = "".join(f"{number},name {number}\n" for number in range(3001))
CONTENT = {"/data/big.csv": CSV, "/data/notes.txt": "æøå\r\n\nlast", "/secret/key.txt": "s3cret"}
DENIED = [FilesystemPermission(operations=["read", "write"], paths=["/secret/**"], mode="deny")]
ASKED = {"configurable": {"thread_id": "1"}}


@attrs.define
class Chat:
    """A deep agent whose model runs code.

    Attributes:
        agent: The agent.
        model: Says what the messages hold.
    """

    agent: Any
    files: dict[str, Any]

    async def run(self, given: Any = None) -> list[str]:
        """The answers of the evals of one run of the agent."""
        start = {"messages": [("user", "go")], **self.files}
        state = await self.agent.ainvoke(start if given is None else given, ASKED)
        return [message.text for message in state["messages"] if message.type == "tool"]

    async def waiting(self) -> list[Any]:
        """The calls that wait for a decision."""
        asked = (await self.agent.aget_state(ASKED)).interrupts
        return [action for one in asked for action in one.value["action_requests"]]

    async def read(self) -> dict[str, str]:
        """The files in the agent's state."""
        state = (await self.agent.aget_state(ASKED)).values
        return {path: data["content"] for path, data in state.get("files", {}).items()}


def said(codes: Sequence[str]) -> FakeModel:
    calls = [
        AIMessage("", tool_calls=[{"name": "eval", "args": {"code": code}, "id": str(number)}])
        for number, code in enumerate(codes)
    ]
    return FakeModel(messages=iter([*calls, AIMessage("done")]))


def in_state() -> dict[str, Any]:
    return {"files": {path: create_file_data(text) for path, text in CONTENT.items()}}


def chat(
    *codes: str,
    backend: BackendProtocol | None = None,
    interpreter: dict[str, Any] | None = None,
    middleware: Sequence[Any] = (),
    **options: Any,
) -> Chat:
    """An agent that runs some cells, with the content in its state unless it has a backend."""
    own = CodeInterpreterMiddleware(**(interpreter or {}))
    agent = create_deep_agent(
        model=said(codes),
        backend=backend,
        middleware=[*middleware, own],
        checkpointer=InMemorySaver(),
        **options,
    )
    return Chat(agent, in_state() if backend is None else {})


def write_content(root: Path) -> None:
    for path, text in CONTENT.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


@pytest.fixture(params=["state", "filesystem", "store", "composite"])
def make_chat(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Chat]:
    """Makes agents with the content in one of the backends."""
    if request.param == "state":
        return chat
    if request.param == "filesystem":
        write_content(tmp_path)
        backend: BackendProtocol = FilesystemBackend(tmp_path, virtual_mode=True)
        return lambda *codes, **options: chat(*codes, backend=backend, **options)
    store = InMemoryStore()

    def namespace(runtime: Any) -> tuple[str, ...]:
        return ("files",)

    own = StoreBackend(namespace=namespace)
    routed = request.param == "composite"
    for path in CONTENT:
        if routed and not path.startswith("/data/"):
            continue
        key = path.removeprefix("/data") if routed else path
        store.put(("files",), key, dict(create_file_data(CONTENT[path])))
    backend = CompositeBackend(default=StateBackend(), routes={"/data/": own}) if routed else own

    def make(*codes: str, **options: Any) -> Chat:
        made = chat(*codes, backend=backend, store=store, **options)
        made.files = {"files": {"/secret/key.txt": create_file_data("s3cret")}} if routed else {}
        return made

    return make


async def test_code_reads_raw_content_from_each_backend(make_chat: Callable[..., Chat]) -> None:
    answers = await make_chat(
        "(await files.read('/data/big.csv')).length",
        "(await files.readLines('data/big.csv')).length",
        "(await files.readLines('/data/big.csv', {from: 3001})).join()",
        "JSON.stringify(await files.read('/data/notes.txt'))",
        "(await files.readLines('/data/notes.txt')).join('|')",
        "(await files.readBytes('/data/notes.txt')).length",
        "(await files.list('/data')).map((one) => [one.path, one.type, one.size].join()).join()",
        "(await files.list('/')).map((one) => [one.name, one.type].join()).join()",
        "(await files.glob('*.csv')).join() + (await files.glob('big*', '/data')).join()",
        "(await files.stat('/data/big.csv')).size",
        "(await files.stat('/data')).type",
        "await files.read('/data/bik.csv')",
        "await files.read('/data')",
        "await files.stat('/data/nothing')",
    ).run()
    expected = [
        str(len(CSV)),
        "3001",
        "3000,name 3000",
        r'"æøå\r\n\nlast"',
        "æøå||last",
        "13",
        f"/data/big.csv,file,{len(CSV)},/data/notes.txt,file,13",
        "data,folder,secret,folder",
        "/data/big.csv/data/big.csv",
        str(len(CSV)),
        "folder",
    ]
    assert answers[: len(expected)] == [f"<result>{one}</result>" for one in expected]
    assert "no such file or folder; did you mean '/data/big.csv'?" in answers[-3]
    assert "it is a folder; files.list shows what is in it" in answers[-2]
    assert "no such file or folder; '/data' has no 'nothing'; it has 'big.csv', " in answers[-1]


async def test_code_writes_to_each_backend(make_chat: Callable[..., Chat]) -> None:
    answers = await make_chat(
        "await files.write('/data/new.txt', 'one'); await files.read('/data/new.txt')",
        "await files.append('/data/new.txt', ' two one'); await files.read('/data/new.txt')",
        "await files.edit('/data/new.txt', 'one', 'ett')",
        "await files.edit('/data/new.txt', 'one', 'ett', {all: true})",
        "await files.append('/data/log.txt', 'first'); await files.read('/data/log.txt')",
        "await Promise.all([1, 2, 3].map((n) => files.append('/data/log.txt', `${n}`))); "
        "(await files.read('/data/log.txt')).length",
        "await files.delete('/data/new.txt'); await files.read('/data/new.txt')",
        "await files.write('/data/blob', new Uint8Array([255]))",
        interpreter={"files": "read-write"},
    ).run()
    assert answers[0] == "<result>one</result>"
    assert answers[1] == "<result>one two one</result>"
    assert "appears 2 times" in answers[2] or "multiple" in answers[2]
    assert answers[3] == "<result>2</result>"
    assert answers[4] == "<result>first</result>"
    assert answers[5] == "<result>8</result>"
    assert "there is no such file or folder" in answers[6]
    assert "the agent's tool write_file takes text, and these bytes are not UTF-8" in answers[7]


async def test_changes_side_by_side_do_not_undo_each_other(make_chat: Callable[..., Chat]) -> None:
    code = """
    await files.write('/data/letters.txt', [...'abcdefghij'].join('\\n'.repeat(2000)));
    await Promise.all([...'abcdefghij'].map((one) =>
      files.edit('/data/letters.txt', one, one.toUpperCase())));
    (await files.readLines('/data/letters.txt')).join('')
    """
    answers = await make_chat(code, interpreter={"files": "read-write"}).run()
    assert answers == ["<result>ABCDEFGHIJ</result>"]


@pytest.mark.parametrize("root", ["/", "", "./"])
async def test_the_root_is_neither_deleted_nor_a_file(
    make_chat: Callable[..., Chat], root: str
) -> None:
    code = f"""
    const codes = [];
    for (const use of [files.delete, files.read, (path) => files.write(path, 'x'),
                       (path) => files.append(path, 'x'), (path) => files.edit(path, 'x', 'y')]) {{
      codes.push(await use('{root}').then(() => 'done', (error) => error.code));
    }}
    codes.push((await files.read('/data/notes.txt')).length);
    codes.join()
    """
    answers = await make_chat(code, interpreter={"files": "read-write"}).run()
    assert answers == ["<result>EPERM,EISDIR,EISDIR,EISDIR,EISDIR,10</result>"]


async def test_a_missing_file_has_one_code(make_chat: Callable[..., Chat]) -> None:
    code = """
    const codes = [];
    for (const use of [files.delete, files.read, files.stat,
                       (path) => files.edit(path, 'x', 'y')]) {
      codes.push(await use('/data/no.txt').then(() => 'done', (error) => error.code));
    }
    codes.join()
    """
    answers = await make_chat(code, interpreter={"files": "read-write"}).run()
    assert answers == ["<result>ENOENT,ENOENT,ENOENT,ENOENT</result>"]


async def test_errors_of_the_system_name_no_path_of_the_host(tmp_path: Path) -> None:
    write_content(tmp_path)
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    codes = ("await files.write('/data', 'x')", "await files.write('/data/notes.txt/x', 'x')")
    folder, file = await chat(*codes, backend=backend, interpreter={"files": "read-write"}).run()
    assert "it is a folder" in folder
    assert 'code: "EISDIR"' in folder
    assert "a part of its path is one" in file
    assert 'code: "ENOTDIR"' in file
    assert str(tmp_path) not in folder + file


async def test_files_are_read_only_unless_the_host_says_otherwise() -> None:
    made = chat("await files.write('/data/new.txt', 'one')", "await files.delete('/data/big.csv')")
    for answer in await made.run():
        assert "nothing was written, since code may only read these files" in answer
    assert set(await made.read()) == set(CONTENT)


async def test_code_sees_nothing_that_the_agent_s_tools_refuse(
    make_chat: Callable[..., Chat],
) -> None:
    answers = await make_chat(
        "await files.read('/secret/key.txt')",
        "await files.read('/data/../secret/key.txt')",
        "await files.readLines('//secret/./key.txt')",
        "await files.readBytes({path: 'secret/key.txt'})",
        "await files.stat('/secret/key.txt')",
        "await files.read('/secret/kye.txt')",
        "(await files.list('/secret')).length",
        "(await files.glob('**/*')).join()",
        "await files.write('/secret/key.txt', 'x')",
        "await files.append('/secret/key.txt', 'x')",
        "await files.edit('/secret/key.txt', 's', 'x')",
        "await files.delete('/secret/key.txt')",
        permissions=DENIED,
        interpreter={"files": "read-write"},
    ).run()
    assert not any("s3cret" in answer for answer in answers)
    assert answers[6] == "<result>0</result>"
    assert answers[7] == "<result>/data/big.csv,/data/notes.txt</result>"
    for number in (0, 2, 3, 8, 9, 10, 11):
        assert "permission denied for" in answers[number], number
    assert "'key.txt'" not in answers[5]


async def test_links_lead_nowhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write_content(root)
    outside.mkdir()
    (outside / "file.txt").write_text("outside")
    (root / "link.txt").symlink_to(outside / "file.txt")
    (root / "inner.txt").symlink_to(root / "secret" / "key.txt")
    answers = await chat(
        "await files.read('/link.txt')",
        "await files.read('/inner.txt')",
        backend=FilesystemBackend(root, virtual_mode=True),
        permissions=DENIED,
    ).run()
    assert not any("outside" in one and "<result>" in one for one in answers)
    assert not any("s3cret" in one for one in answers)


async def test_bytes_that_are_no_text_are_read_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "blob.dat").write_bytes(b"\xff\x00\x01")
    answers = await chat(
        "(await files.readBytes('/blob.dat')).join()",
        "await files.read('/blob.dat')",
        backend=FilesystemBackend(tmp_path, virtual_mode=True),
    ).run()
    assert answers[0] == "<result>255,0,1</result>"
    assert "it is not text in UTF-8; use files.readBytes" in answers[1]


# -- approvals -----------------------------------------------------------------------------

WRITES = "await files.write('/data/new.txt', 'one'); await files.read('/data/new.txt')"


async def test_a_write_inside_a_cell_waits_for_its_approval() -> None:
    made = chat(
        f"const before = (await files.glob('*')).length; {WRITES} + before",
        interpreter={"files": "read-write"},
        interrupt_on={"write_file": True},
    )
    await made.run()
    (asked,) = await made.waiting()
    assert (asked["name"], asked["args"]) == (
        "write_file",
        {"file_path": "/data/new.txt", "content": "one"},
    )
    assert "/data/new.txt" not in await made.read()
    answers = await made.run(Command(resume={"decisions": [{"type": "approve"}]}))
    assert answers == ["<result>one3</result>"]
    assert (await made.read())["/data/new.txt"] == "one"


async def test_a_rejected_write_is_an_error_in_the_code() -> None:
    made = chat(WRITES, interpreter={"files": "read-write", "interrupt_on": {"write_file": True}})
    await made.run()
    decision = {"type": "reject", "message": "not that file"}
    (answer,) = await made.run(Command(resume={"decisions": [decision]}))
    assert "a reviewer rejected this call of write_file: not that file" in answer
    assert "/data/new.txt" not in await made.read()


async def test_what_is_appended_is_shown_whole() -> None:
    made = chat(
        "await files.append('/data/notes.txt', '!'); await files.readLines('/data/notes.txt')",
        interpreter={"files": "read-write"},
        interrupt_on={"write_file": True},
    )
    await made.run()
    (asked,) = await made.waiting()
    assert asked["args"] == {"file_path": "/data/notes.txt", "content": "æøå\r\n\nlast!"}
    (answer,) = await made.run(Command(resume={"decisions": [{"type": "approve"}]}))
    assert answer == '<result>["æøå", "", "last!"]</result>'


async def test_a_rule_that_asks_about_reading_asks_about_code_too() -> None:
    rule = FilesystemPermission(operations=["read"], paths=["/secret/**"], mode="interrupt")
    made = chat(
        "(await files.readLines('/data/big.csv')).length",
        "await files.read('/secret/key.txt')",
        "await files.append('/secret/key.txt', 'x')",
        permissions=[rule],
        interpreter={"files": "read-write"},
    )
    assert await made.run() == ["<result>3001</result>"]
    (asked,) = await made.waiting()
    assert (asked["name"], asked["args"]) == ("read_file", {"file_path": "/secret/key.txt"})
    answers = await made.run(Command(resume={"decisions": [{"type": "approve"}]}))
    assert answers[1] == "<result>s3cret</result>"
    assert "append reads the file first, and reading may need an approval here" in answers[2]


async def test_a_resumed_cell_gets_what_it_had_read(tmp_path: Path) -> None:
    write_content(tmp_path)
    made = chat(
        "const key = await files.read('/secret/key.txt'); await files.write('/copy', key); key",
        backend=FilesystemBackend(tmp_path, virtual_mode=True),
        interpreter={"files": "read-write"},
        interrupt_on={"write_file": True},
    )
    await made.run()
    (tmp_path / "secret" / "key.txt").write_text("changed")
    answers = await made.run(Command(resume={"decisions": [{"type": "approve"}]}))
    assert answers == ["<result>s3cret</result>"]
    assert (tmp_path / "copy").read_text() == "s3cret"


# -- other middleware ----------------------------------------------------------------------


async def test_middleware_sees_the_content_and_may_change_it() -> None:
    seen: list[str] = []

    @wrap_tool_call
    async def redact(request: Any, handler: Any) -> Any:
        answer = await handler(request)
        if isinstance(answer, ToolMessage) and request.tool_call["name"] == "read_file":
            seen.append(answer.text)
            return answer.model_copy(update={"content": answer.text.replace("s3cret", "***")})
        return answer

    made = chat(
        "await files.read('/secret/key.txt')",
        "(await files.readBytes('/secret/key.txt')).length",
        middleware=[redact],
    )
    assert await made.run() == ["<result>***</result>", "<result>3</result>"]
    assert seen == ["s3cret", "s3cret"]


async def test_a_path_that_middleware_changes_is_the_one_that_is_read() -> None:
    @wrap_tool_call
    async def rooted(request: Any, handler: Any) -> Any:
        call = request.tool_call
        if call["name"] not in ("read_file", "write_file"):
            return await handler(request)
        args = {**call["args"], "file_path": f"/data{call['args']['file_path']}"}
        return await handler(request.override(tool_call={**call, "args": args}))

    made = chat(
        "await files.read('/secret/key.txt')",
        "await files.append('/notes.txt', '!'); (await files.read('/notes.txt')).at(-1)",
        middleware=[rooted],
        interpreter={"files": "read-write"},
    )
    first, second = await made.run()
    assert "there is no such file" in first
    assert second == "<result>!</result>"
    assert (await made.read())["/data/notes.txt"].endswith("last!")


async def test_limits_on_calls_of_tools_hold() -> None:
    limit = ToolCallLimitMiddleware(tool_name="read_file", run_limit=1)
    code = "await files.read('/data/notes.txt'); await files.stat('/data/notes.txt'); "
    (answer,) = await chat(
        code + "await files.readLines('/data/notes.txt')", middleware=[limit]
    ).run()
    assert "Tool call limit exceeded" in answer


# -- agents with other files ---------------------------------------------------------------


@pytest.mark.parametrize("files", [False, None])
async def test_the_host_can_leave_files_out(files: Any) -> None:
    made = chat("const files = 5; files", interpreter={"files": files})
    assert await made.run() == ["<result>5</result>"]


async def test_an_agent_without_file_tools_has_no_files() -> None:
    own = CodeInterpreterMiddleware()
    agent = create_agent(said(["typeof files"]), middleware=[own])
    assert await Chat(agent, {}).run() == ["<result>undefined</result>"]


async def test_only_the_tools_that_the_agent_has_are_used() -> None:
    files = FilesystemMiddleware(backend=StateBackend(), tools=["read_file"])
    own = CodeInterpreterMiddleware(files="read-write")
    codes = [
        "await files.read('/data/notes.txt')",
        "await files.list()",
        "await files.write('a', '')",
    ]
    agent = create_agent(said(codes), middleware=[files, own])
    read, listed, written = await Chat(agent, in_state()).run()
    assert "last" in read
    assert "the agent has no tool ls by which code could do this" in listed
    assert "the agent has no tool write_file" in written


async def test_files_of_another_place(tmp_path: Path) -> None:
    write_content(tmp_path)
    files = Files(tmp_path, mode="overlay")
    own = CodeInterpreterMiddleware(files=files)
    code = "await files.edit('/secret/key.txt', 's', 'S'); await files.read('/secret/key.txt')"
    agent = create_agent(said([code]), middleware=[own])
    assert await Chat(agent, {}).run() == ["<result>S3cret</result>"]
    assert files.overlay is not None
    assert files.overlay.changed == ("/secret/key.txt",)
    assert (tmp_path / "secret" / "key.txt").read_text() == "s3cret"


def test_a_synchronous_agent() -> None:
    own = CodeInterpreterMiddleware(files="read-write")
    codes = [
        "(await files.readLines('/data/big.csv')).length",
        WRITES,
        "(await files.list()).length",
    ]
    agent = create_deep_agent(model=said(codes), middleware=[own])
    messages = agent.invoke({"messages": [("user", "go")], **in_state()})["messages"]
    answers = [message.text for message in messages if message.type == "tool"]
    assert answers == ["<result>3001</result>", "<result>one</result>", "<result>2</result>"]


async def test_python_reads_the_files_of_an_agent() -> None:
    answers = await chat(
        "len(await files.read_lines('/data/big.csv'))",
        "await files.append('/data/notes.txt', '!')\n(await files.read('/data/notes.txt'))[-1]",
        interpreter={"files": "read-write", "engine": "monty"},
    ).run()
    assert answers == ["<result>3001</result>", "<result>!</result>"]


async def test_the_prompt_names_the_functions_and_stays_short() -> None:
    prompts: list[str] = []

    class Listening(FakeModel):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            prompts.append(messages[0].text)
            return super()._generate(messages, *args, **kwargs)

    for files in (False, "read-only", "read-write"):
        own = CodeInterpreterMiddleware(files=files)  # type: ignore[arg-type]
        model = Listening(messages=iter([AIMessage("done")]))
        await create_deep_agent(model=model, middleware=[own]).ainvoke(
            {"messages": [("user", "go")]}
        )
    without, reading, writing = prompts
    assert "await files.read(path)" in reading
    assert "edit, delete" in writing
    assert 0 < len(reading) - len(without) < len(writing) - len(without) <= 250


async def test_many_reads_at_once() -> None:
    code = "(await Promise.all(Array(50).fill('/data/notes.txt').map(files.read))).length"
    (answer,) = await asyncio.wait_for(chat(code).run(), 60)
    assert answer == "<result>50</result>"
