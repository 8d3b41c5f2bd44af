"""Which files a skill is, and which specifiers name one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError, HostOffer, InterpreterStack, Session
from interpstack_skills.api import Skills
from interpstack_testing import FakeEngine


async def error(session: Session, specifier: str = "@/skills/m") -> tuple[str, str]:
    """Name and message of what an import throws."""
    outcome = await session.eval(f"await import({specifier!r})")
    assert outcome.error is not None
    return outcome.error.name, outcome.error.message


@pytest.mark.parametrize(
    ("files", "front", "text"),
    [
        ({"index.js": "export const x = 1"}, "name: m", "1"),
        ({"index.ts": "export const x = 1"}, "name: m", "1"),
        ({"main.mjs": "export const x = 1"}, "name: m", "1"),
        ({"mod.mts": "export const x = 1"}, "name: m", "1"),
        ({"index.js": "export const x = 1", "main.js": "export const x = 2"}, "name: m", "1"),
        ({"index.js": "export const x = 1", "go.js": "export const x = 2"}, "module: go.js", "2"),
        ({"lib/go.js": "export const x = 2"}, "module: ./lib/go.js", "2"),
        ({"lib/go.js": "export const x = 2"}, "module: lib/../lib//go.js", "2"),
        ({"index.js": "export const x = 1"}, "module:", "1"),
        ({"index.js": "export const x = 1"}, "- a list", "1"),
        ({"index.js": "export const x = 1"}, "", "1"),
    ],
)
async def test_entries(
    session: Session, skill: Any, files: dict[str, str], front: str, text: str
) -> None:
    skill("m", files, front=front)
    outcome = await session.eval('(await import("@/skills/m")).x')
    assert (outcome.error, outcome.text) == (None, text)


async def test_front_matter_may_have_a_mark_and_other_line_breaks(
    session: Session, skill: Any
) -> None:
    directory = skill("m", {"go.js": "export const x = 1", "index.js": ""}, front=None)
    (directory / "SKILL.md").write_bytes("\ufeff---\r\nmodule: go.js\r\n---\r\ntext".encode())
    assert (await session.eval('(await import("@/skills/m")).x')).text == "1"


@pytest.mark.parametrize(
    ("files", "front", "found"),
    [
        ({"helper.js": ""}, "name: m", "no code"),
        ({}, "name: m", "no code"),
        ({"lib/index.js": ""}, "name: m", "no code"),
        ({"index.js": ""}, None, "its folder has no SKILL.md"),
        ({"index.js": ""}, "module: nope.js", "'nope.js'"),
        ({"index.js": ""}, "module: ../other/index.js", "'../other/index.js'"),
        ({"index.js": ""}, "module: /etc/passwd", "'/etc/passwd'"),
        ({"index.js": ""}, "module: SKILL.md", "not one of its code files"),
        ({"index.js": "", "a.txt": ""}, "module: a.txt", "not one of its code files"),
        ({"index.js": ""}, "module: INDEX.JS", "'INDEX.JS'"),
        ({"index.js": ""}, "module: [index.js]", "path of a file"),
        ({"index.js": ""}, "module: 5", "path of a file"),
        ({"index.js": ""}, "module: : [", "cannot be read"),
        ({"index.js": ""}, "when: 2024-99-99", "cannot be read"),
        ({"index.js": ""}, "[" * 5000, "cannot be read"),
        ({"index.js": ""}, "!!python/object/apply:os.getcwd []", "cannot be read"),
        ({"index.js": ""}, "a: " + "x" * 20_000, "longer than 20000"),
        ({"index.js": b"\xff\xfe"}, "name: m", "index.js is not UTF-8 text"),
        ({"index.js": "", "lib/bad.ts": b"\xff"}, "name: m", "lib/bad.ts is not UTF-8 text"),
        ({"index.js": "x" * 2**20}, "name: m", "more than 1048576 bytes"),
        ({"index.js": "", "a.js": "x" * 2**19, "b.js": "x" * 2**19}, "name: m", "1048576 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_skills_that_cannot_be_had(
    session: Session, skill: Any, files: Mapping[str, Any], front: str | None, found: str
) -> None:
    skill("other", {"index.js": "export const x = 1"})
    skill("m", files, front=front)
    name, message = await error(session)
    assert name == "ModuleNotFound"
    assert found in message
    assert len(message) < 600
    assert (await session.eval('(await import("@/skills/other")).x')).text == "1"


async def test_a_deep_value_in_the_front_matter_is_not_spelt_out(
    session: Session, skill: Any
) -> None:
    laughs = "a0: &a0 [lol]\n" + "".join(
        f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]\n" for i in range(1, 30)
    )
    skill("m", {"index.js": ""}, front=f"{laughs}module: *a29")
    assert "path of a file" in (await error(session))[1]


async def test_ten_thousand_files(session: Session, skill: Any) -> None:
    directory = skill("m", {"index.js": "export const x = 1"})
    data = directory / "data"
    data.mkdir()
    for number in range(10_000):
        (data / f"{number}.txt").touch()
    assert (await session.eval('(await import("@/skills/m")).x')).text == "1"  # no code files
    code = skill("code", {"index.js": ""}) / "code"
    code.mkdir()
    for number in range(10_000):
        (code / f"{number}.js").touch()
    assert await error(session, "@/skills/code") == (
        "ModuleNotFound",
        "skill 'code' cannot be loaded: it has more than 256 code files",
    )


async def test_as_many_files_as_are_allowed(session: Session, skill: Any) -> None:
    files = {f"lib/{n}.js": f"export const x{n} = 1" for n in range(255)}
    index = "".join(f"export * from './lib/{n}.js';" for n in range(255))
    skill("m", {"index.js": index, **files})
    assert (await session.eval('Object.keys(await import("@/skills/m")).length')).text == "255"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    "specifier",
    [
        "@/skills/../other",
        "@/skills/other/../other",
        "@/skills/./other",
        "@/skills//other",
        "@/skills/other/",
        "@/skills/other/index.js",
        "@/skills/other?x=1",
        "@/skills/other#x",
        "@/skills/Other",
        "@/skills/OTHER",
        "@/skills/%6fther",
        "@/skills/%2e%2e/other",
        "@/skills/..",
        "@/skills/.",
        "@/skills/",
        "@/skills",
        "@/Skills/other",
        "@\\skills\\other",
        "@/skills/other\0",
        "@/skills/other ",
        "@/skills/\u043ether",
        "@/skills/\ud800",
        "@/skills/" + "a" * 100_000,
        "/other",
        "./other",
        "../skills/other",
        "other",
        "",
        "file:///other",
        "https://x.invalid/other.js",
        "data:text/javascript,export const x = 1",
        "node:fs",
        "interpstack:kernel",
        "eval_script",
    ],
    ids=lambda value: ascii(value)[:30],
)
async def test_no_other_specifier_reaches_a_skill(
    session: Session, skill: Any, specifier: str
) -> None:
    skill("other", {"index.js": "export const x = 1"})
    await session.eval('import "@/skills/other"')
    spelt = "".join(f"\\u{ord(char):04x}" for char in specifier)
    outcome = await session.eval(f'await import("{spelt}")')
    assert outcome.error is not None
    assert outcome.error.name == "ModuleNotFound"
    assert len(outcome.error.message) < 2200


async def test_links_are_not_followed(
    session: Session, skill: Any, skills: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: x\n---\n")
    (outside / "index.js").write_text("export const x = 'secret'")
    (skills / "linked").symlink_to(outside)
    assert await error(session, "@/skills/linked") == (
        "ModuleNotFound", "there is no skill 'linked'",
    )  # fmt: skip
    skill("a", {"index.js": "export {x} from './far.js'"})
    (skills / "a" / "far.js").symlink_to(outside / "index.js")
    skill("b", {"index.js": "export {x} from './far/index.js'"})
    (skills / "b" / "far").symlink_to(outside)
    (skills / "c").mkdir()
    (skills / "c" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (skills / "c" / "index.js").write_text("export const x = 1")
    skill("d", {})
    (skills / "d" / "index.js").symlink_to(outside / "index.js")
    skill("e", {"index.js": "export const x = 1"})
    (skills / "e" / "loop").symlink_to(skills / "e")
    for name in "abcd":
        kind, message = await error(session, f"@/skills/{name}")
        assert kind == "ModuleNotFound"
        assert "secret" not in message
    assert (await session.eval('(await import("@/skills/e")).x')).text == "1"


async def test_the_hosts_paths_stay_with_the_host(
    session: Session, skill: Any, monkeypatch: pytest.MonkeyPatch, skills: Path
) -> None:
    skill("m", {"index.js": ""})

    opened = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        if skills in self.parents:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    name, message = await error(session)
    assert message == "skill 'm' cannot be loaded: Permission denied"
    assert name == "ModuleNotFound"


class Source:
    """A backend that is down at first."""

    def __init__(self, failure: BaseException | None) -> None:
        self.failure = failure
        self.asked: list[str] = []

    async def files(self, name: str) -> Mapping[str, str] | None:
        self.asked.append(name)
        if self.failure is not None:
            raise self.failure
        return {"SKILL.md": "", "index.js": f"export const x = '{name}'"}


@pytest.mark.parametrize(
    ("failure", "found"),
    [
        (ConnectionError("the store is down"), "the store is down"),
        (TimeoutError(), "TimeoutError"),
        (NotImplementedError(), "NotImplementedError"),
    ],
)
async def test_a_source_that_is_down(
    stack: InterpreterStack, failure: Exception, found: str
) -> None:
    source = Source(failure)
    async with stack.session() as session:
        session.bind(HostOffer(parts=[Skills(source)]))
        assert await error(session) == (
            "ModuleNotFound", f"skill 'm' cannot be loaded: {found}",
        )  # fmt: skip
        source.failure = None
        assert (await session.eval('(await import("@/skills/m")).x')).text == "m"


async def test_nothing_is_asked_for_before_it_is_imported(stack: InterpreterStack) -> None:
    source = Source(None)
    async with stack.session() as session:
        session.bind(HostOffer(parts=[Skills(source)]))
        await session.eval('const f = () => import("@/skills/a"); "@/skills/b"')
        assert source.asked == []
        await session.eval("await f()")
        assert source.asked == ["a"]


async def test_without_skills_there_is_nothing_to_import(stack: InterpreterStack) -> None:
    async with stack.session() as session:
        assert (await error(session))[0] == "ModuleNotFound"
        assert "@/skills" not in stack.prompt()


def test_skills_are_reported_of_in_the_prompt(stack: InterpreterStack, offer: HostOffer) -> None:
    assert 'await import("@/skills/<name>")' in stack.prompt(offer)


@pytest.mark.parametrize("given", [5, b"x", ["a"]])
def test_bad_options(given: Any) -> None:
    from interpstack_skills.source import as_source

    with pytest.raises(ConfigurationError, match="skills"):
        as_source(given, ())


async def test_a_directory_that_is_not_there_is_reported_without_its_path() -> None:
    from interpstack_skills.source import as_source

    assert as_source("no/such/directory", ()) is not None  # nothing is read yet
    with InterpreterStack(plugins=["skills"]) as stack:
        async with stack.session() as session:
            session.bind(HostOffer(parts=[Skills("/no/such/directory")]))
            outcome = await session.eval('await import("@/skills/a")')
    assert outcome.error is not None
    assert outcome.error.name == "ModuleNotFound"
    assert "skill 'a' cannot be loaded: No such file or directory" in outcome.error.message
    assert "/no/such" not in outcome.error.message


def test_engines_without_modules_are_reported_of_no_skills(offer: HostOffer) -> None:
    with InterpreterStack(FakeEngine(), ["skills"]) as stack:
        assert stack.prompt(offer) == ""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("chart", "there is no skill 'chart'; did you mean 'charts'?"),
        ("CHARTS", "there is no skill 'CHARTS'; did you mean 'charts'?"),
        ("zzz", "there is no skill 'zzz'; there are: charts, tables"),
    ],
)
async def test_an_unknown_name_lists_the_nearest(
    session: Session, skill: Any, skills: Path, name: str, found: str
) -> None:
    skill("charts", {"index.js": ""})
    skill("tables", {"index.js": ""})
    (skills / "no skill").mkdir()
    assert await error(session, f"@/skills/{name}") == ("ModuleNotFound", found)


class _Unnamed:
    """A source as they were before they had names."""

    async def files(self, name: str) -> None:
        return None


class _Misnamed(_Unnamed):
    async def names(self) -> Any:
        return [1, None, "two", "</error>", "x" * 10**6]


@pytest.mark.parametrize(
    ("source", "found"),
    [(_Unnamed(), "there is no skill 'm'"), (_Misnamed(), "there is no skill 'm'; there are: two")],
)
async def test_a_source_may_have_names(stack: InterpreterStack, source: Any, found: str) -> None:
    async with stack.session() as session:
        session.bind(HostOffer(parts=[Skills(source)]))
        assert await error(session) == ("ModuleNotFound", found)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('import "@/skills/other"', "can import only files of its own, as in './helper.js'"),
        ('import "fs"', "'fs': @/skills/m/index.js can import only files of its own, as in './"),
        (
            'import "./gone.js"',
            "'./gone.js': there is no such code file beside '@/skills/m/index.js'",
        ),
        ('import "../other/index.js"', "'../other/index.js': there is no such code file beside '@"),
    ],
)
async def test_a_skill_imports_its_own_files_only(
    session: Session, skill: Any, source: str, found: str
) -> None:
    skill("other", {"index.js": "export const x = 1"})
    skill("m", {"index.js": source})
    name, message = await error(session)
    assert name == "ModuleNotFound"
    assert found in message
