"""The mutator: what it changes, that a move changes no name, and a killed and a surviving mutant from end to end."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutate import AREAS, Fate, Mutant, Reach, beside, drawn, equivalent, head, mutated, report, sites

ROOT = Path(__file__).parents[1]


def mutants(body: str) -> list[tuple[str, str]]:
    """Kind and changed statement of every mutant of a function with this body."""
    source = "def f():\n" + "".join(f"    {line}\n" for line in body.splitlines())
    found = []
    for place in range(len(list(sites(ast.parse(source))))):
        tree = ast.parse(source)
        site = list(sites(tree))[place]
        found.append((site.kind, site.changed()))
        compile(ast.fix_missing_locations(tree), "mutant", "exec")
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", [("return", "return None"), ("compare", "return a <= b")]),
        ("a = b == c is d", [("compare", "a = b != c is d"), ("compare", "a = b == c is not d")]),
        ("a = b not in c", [("compare", "a = b in c")]),
        ("a = b + c", [("arithmetic", "a = b - c")]),
        ("a = b // c", [("arithmetic", "a = b * c")]),
        ("a -= b", [("arithmetic", "a += b")]),
        ("a = 7", [("number", "a = 8")]),
        ("a = 0.5", [("number", "a = 1.5")]),
        ("a = True", [("truth", "a = False")]),
        ("a = -b", [("sign", "a = b")]),
        ("a = not b", [("not", "a = b")]),
        ("a = b and c or d", [("boolean", "a = (b and c) and d"), ("boolean", "a = (b or c) or d")]),
        ("a = b if c else d", [("if true", "a = b if True else d"), ("if false", "a = b if False else d")]),
        ("a = [b for b in c if b]", [("if true", "a = [b for b in c if True]")]),
        ("a = lambda b: b < c", [("compare", "a = lambda b: b <= c")]),
        ("a(b)", [("call", "pass")]),
        ("if a:\n    pass", [("if true", "if True:"), ("if false", "if False:")]),
        ("while a:\n    break", [("if false", "while False:"), ("loop", "continue")]),
    ],
)
def test_what_is_changed(body: str, expected: list[tuple[str, str]]) -> None:
    assert mutants(body) == expected


@pytest.mark.parametrize(
    "body",
    ["return", "return None", "'''Words.'''", "a = f'{b + 1}'", "a = b / 'name'", "a: int | None = b", "a = None"],
)
def test_what_is_left(body: str) -> None:
    assert [kind for kind, _ in mutants(body) if kind != "return"] == []


def test_code_around_functions_is_left() -> None:
    source = "A = 1 + 2\nclass B:\n    c = 3\n    @d(4)\n    def e(self, f=5) -> int | None: ...\n"
    assert list(sites(ast.parse(source))) == []


def test_a_function_is_named_without_its_module() -> None:
    source = """
class A:
    def b(self):
        def c():
            return 1
if d:
    def e():
        if f:
            g()
"""
    named = {(site.function, site.statement) for site in sites(ast.parse(source))}
    assert named == {("A.b.c", "return 1"), ("e", "if f:"), ("e", "g()")}


def test_a_statement_with_a_body_has_the_lines_of_its_head() -> None:
    source = "def f():\n    if (a\n        and b):\n        return 1\n"
    lines = {site.statement: site.lines for site in sites(ast.parse(source))}
    assert lines == {"if a and b:": range(2, 4), "return 1": range(4, 5)}


def test_the_head_of_a_statement() -> None:
    body = "for a in b:\n    c\nelse:\n    d\nwith e as f:\n    g\nmatch h:\n    case 1: i\n"
    assert [head(part) for part in ast.parse(body).body] == ["for a in b:", "with e as f:", "match h:"]


COSTS = '''
def is_dear(n):
    return n > 2

def price():
    """
    >>> price() > 0
    True
    """
    return 7

def idle():
    return 0.5
'''
TESTS = """
from shortlist.costs import is_dear

def test_five_is_dear():
    assert is_dear(5)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Small functions, and a test and an example that see little of them."""
    (tmp_path / "src" / "shortlist").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "shortlist" / "__init__.py").touch()
    (tmp_path / "src" / "shortlist" / "costs.py").write_text(COSTS)
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--doctest-modules"\n')
    (tmp_path / "tests" / "test_costs.py").write_text(TESTS)
    return tmp_path


def test_a_move_changes_no_name(tree: Path) -> None:
    before = [mutant.name for mutant in drawn(tree, 12)]
    (tree / "src" / "shortlist" / "queries" / "one").mkdir(parents=True)
    (tree / "src" / "shortlist" / "costs.py").rename(tree / "src" / "shortlist" / "queries" / "one" / "prices.py")
    moved = drawn(tree, 12)
    assert [mutant.name for mutant in moved] == before != []
    assert {mutant.file for mutant in moved} == {"src/shortlist/queries/one/prices.py"}


def test_a_statement_that_is_rewritten_gets_others(tree: Path) -> None:
    every = 3 * 100
    before = {mutant.name for mutant in drawn(tree, every)}
    (tree / "src" / "shortlist" / "costs.py").write_text(COSTS.replace("n > 2", "n > 2.5"))
    after = {mutant.name for mutant in drawn(tree, every)}
    assert all("return n > 2 |" in name for name in before - after)
    assert all("return n > 2.5 |" in name for name in after - before)
    assert before & after


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    few, many = drawn(ROOT, 30), drawn(ROOT, 300)
    assert {mutant.name for mutant in few} < {mutant.name for mutant in many}
    assert {mutant.area for mutant in few} == set(AREAS)


def test_a_mutant_is_found_again_in_its_file(tree: Path) -> None:
    for mutant in drawn(tree, 300):
        changed, after = mutated(tree, mutant)
        assert after != mutant.before
        compile(changed, mutant.file, "exec")


def mutant(name: str, line: int = 1) -> Mutant:
    return Mutant(name, "core", "src/shortlist/costs.py", 0, line, (line,), "price", "number", "a = 1", "a = 2")


def test_the_fastest_tests_come_first_and_a_file_does_not_crowd_out_another() -> None:
    seconds = {"a::1": 0.01, "a::2": 0.01, "b::1": 0.025, "c::1": 15.0, "d::1": 16.0}
    reach = Reach(seconds, {"src/shortlist/costs.py": {1: set(seconds)}}, {"src/shortlist/costs.py": {2: {"a::2"}}})
    assert reach.tests(mutant("one")) == ["a::1", "b::1", "a::2", "c::1"]  # not all of 31 seconds
    assert reach.tests(mutant("two", 2)) == ["a::2"]  # reading the test file runs it
    assert reach.tests(mutant("three", 3)) == []


def test_two_trees_side_by_side() -> None:
    there = [Fate(mutant("stays"), "killed", "t", 1, 1.0), Fate(mutant("gone"), "survived", "", 1, 1.0)]
    here = [Fate(mutant("stays"), "survived", "", 1, 1.0), Fate(mutant("new"), "timeout", "", 1, 1.0)]
    said = beside(here, there)
    assert said.startswith(
        "1 of 2 killed there, 1 of 2 here; 1 mutants are in both: 1 killed only there, 0 only here\n"
    )
    assert "killed there, not here: 1\n  survived" in said
    assert "gone: 1\n" in said
    assert "new: 1\n" in said


def test_a_kill_by_a_test_that_fails_anyway_is_none() -> None:
    said = report([Fate(mutant("one"), "killed", "shaky", 1, 1.0)], 1, {"shaky"}, set(), 2.0)
    assert said.splitlines()[1].split() == ["core", "1", "0", "0", "1", "0", "0", "0.0%"]


def test_what_is_equivalent_is_left_out_of_the_share_and_must_not_be_killed() -> None:
    fates = [Fate(mutant("one"), "killed", "t", 1, 1.0), Fate(mutant("two"), "survived", "", 1, 1.0)]
    said = report(fates, 2, set(), {"two"}, 2.0)
    assert said.splitlines()[1].split() == ["core", "2", "1", "0", "0", "0", "1", "100.0%"]
    assert "one is not equivalent: t" in report(fates, 2, set(), {"one", "two"}, 2.0)


def test_what_is_said_to_be_equivalent_is_in_the_code() -> None:
    every = {mutant.name for mutant in drawn(ROOT, 10**6)}
    assert equivalent(ROOT) - every == set()  # take out what has been rewritten since


def test_another_seed_draws_another_sample() -> None:
    one, two = ({mutant.name for mutant in drawn(ROOT, 30, seed)} for seed in ("", "other"))
    assert len(one) == len(two) == 30
    assert one != two


def test_from_end_to_end(tree: Path) -> None:
    command = [sys.executable, "-m", "tests.mutate", "--root", str(tree), "--jobs", "1", "--size", "300"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    results = (tree / ".mutate" / "results.jsonl").read_text().splitlines()
    fates = {(fate.mutant.before, fate.mutant.after): fate.status for fate in map(Fate.read, results)}
    assert fates == {
        ("return n > 2", "return None"): "killed",
        ("return n > 2", "return n >= 2"): "survived",
        ("return n > 2", "return n > 3"): "survived",
        ("return 7", "return None"): "killed",  # by an example in the file that is changed
        ("return 7", "return 8"): "survived",
        ("return 0.5", "return None"): "not covered",
        ("return 0.5", "return 1.5"): "not covered",
    }
    killers = {"tests/test_costs.py::test_five_is_dear", "src/shortlist/costs.py::shortlist.costs.price"}
    assert {json.loads(line)["killer"] for line in results} == {"", *killers}
    assert (tree / ".mutate" / "report.txt").read_text().splitlines()[1].split() == [
        "core",
        "7",
        "2",
        "0",
        "3",
        "2",
        "0",
        "28.6%",
    ]
    assert "run once" in done.stdout
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "run once" not in again.stdout  # what was found is kept
    assert "7 of 7 mutants in 1 files" in again.stdout


def test_where_no_test_passes_nothing_is_said_of_mutants(tree: Path) -> None:
    (tree / "tests" / "test_costs.py").write_text("import no_such_package\n")
    (tree / "src" / "shortlist" / "costs.py").write_text("def price(n: int) -> int:\n    return n + 7\n")
    command = [sys.executable, "-m", "tests.mutate", "--root", str(tree), "--jobs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"no test passes in {tree}")
