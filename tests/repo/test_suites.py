"""The suites that continuous integration runs are drawn as `tests/support/suites.py` says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import suites

IDS = [f"a.py::test_slow[{n}]" for n in range(10)] + ["a.py::test_quick", "b.py::test_quick"]


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "FAMILIES", {"a.py::test_slow": 4})
    monkeypatch.setattr(suites, "VERSIONS", {"a.py": (2, "reasons"), "b.py": (1, "others")})


def test_slow_families_are_sampled_and_all_else_is_there() -> None:
    drawn = suites.drawn(IDS, "sampled", "1")
    assert drawn == [each for each in IDS if each in drawn]
    assert len(drawn) == 3 + 2
    assert drawn[-2:] == IDS[-2:]


def test_repeats_on_other_engines_are_sampled_in_each_file() -> None:
    """Not in the folders of these engines, nor where the name of one is but a part of a word."""
    repeated = [f"{name}.py::test_{n}[v8-sync]" for name in "cd" for n in range(4)]
    own = [f"tests/plugins/v8/test_x.py::test_{n}[v8-sync]" for n in range(4)]
    others = ["c.py::test_0[quickjs-sync]", "c.py::test_1[v8x]", "c.py::test_2"]
    drawn = suites.drawn([*repeated, *own, *others], "sampled", "1")
    assert [sum(each.startswith(f"{name}.py") for each in drawn[:4]) for name in "cd"] == [2, 2]
    assert drawn[4:] == [*own, *others]
    met = {each for n in range(100) for each in suites.drawn(repeated, "sampled", str(n))}
    assert met == set(repeated)
    assert suites.drawn(repeated, "versions", "1") == []


def test_a_version_has_what_its_table_names() -> None:
    drawn = suites.drawn([*IDS, "c.py::test_other"], "versions", "1")
    assert len(drawn) == 6 + 1
    assert drawn[-1] == "b.py::test_quick"


def test_a_version_reads_no_file_that_its_table_does_not_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suites, "VERSIONS", {"a.py::TestX": (1, "one"), "folder/": (1, "others")})
    files = ["a.py", "folder/b.py", "c.py", "a.pyx"]
    assert [file for file in files if suites.may_hold(file, "versions", "1")] == files[:2]
    assert all(suites.may_hold(file, "sampled", "1") for file in files)


def test_a_version_reads_some_of_the_files_of_a_large_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suites, "VERSIONS", {"folder/": (1, "many"), "other/": (1, "few")})
    monkeypatch.setattr(suites, "FILES", {"folder/": 4})
    files = [f"folder/test_{n}.py" for n in range(40)]
    drawn = [[file for file in files if suites.may_hold(file, "versions", seed)] for seed in "123"]
    assert all(2 < len(each) < 20 for each in drawn)
    assert drawn[0] != drawn[1]
    met = {f for f in files for n in range(40) if suites.may_hold(f, "versions", str(n))}
    assert met == set(files)
    assert all(suites.may_hold(f"other/{n}.py", "versions", "1") for n in range(40))
    assert all(suites.may_hold(file, "sampled", "1") for file in files)


def test_a_seed_repeats_a_run_and_seeds_reach_every_case() -> None:
    assert suites.drawn(IDS, "sampled", "7") == suites.drawn(IDS, "sampled", "7")
    met = {each for seed in range(100) for each in suites.drawn(IDS, "sampled", str(seed))}
    assert met == set(IDS)


def test_whoever_tests_the_same_files_draws_the_same_tests(tmp_path: Path) -> None:
    seeds = []
    for name, text in (("one", "a"), ("other", "a"), ("changed", "b")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "file").write_text(text)
        who = ["-c", f"user.name={name}", "-c", f"user.email={name}@example.org"]
        for command in (["init", "-q"], ["add", "file"], [*who, "commit", "-qm", name]):
            subprocess.run(["git", "-C", str(folder), *command], check=True)
        seeds.append(suites.seed_of_commit(folder))
    assert seeds[0] == seeds[1] != seeds[2]
    assert all(0 <= seed < 10**6 for seed in [*seeds, suites.seed_of_commit(tmp_path)])


@pytest.mark.parametrize("prefix", [*suites.FAMILIES, *suites.VERSIONS, *suites.FILES])
def test_tables_name_what_is_there(root: Path, prefix: str) -> None:
    path, _, test = prefix.partition("::")
    assert (root / path).exists(), "tests/support/suites.py names it; did it move?"
    kit = (root / "src/interpstack_testing/conformance").rglob("*.py")
    texts = [file.read_text("utf-8") for file in ([*kit, root / path] if test else [])]
    name = test.rpartition("::")[2]
    assert not test or any(f"def {name}" in text for text in texts)


def test_a_case_on_an_engine_counts_for_whichever_is_drawn_less_often() -> None:
    ids = [f"a.py::test_slow[{engine}-{n}]" for engine in ("node", "v8") for n in range(48)]
    found = suites.drawn(ids, "sampled", "1")
    assert sum("[node-" in each for each in found) == 48 // suites.ENGINES["node"]
    assert sum("[v8-" in each for each in found) == 48 // suites.FAMILIES["a.py::test_slow"]
