"""Do the tests notice faults? About 500 small ones are put into the code, one at a time: python -m tests.mutate.

A mutant is named by its function, without the module, and by its statement, kind and place in that statement. A
third of the sample each is drawn from the core, the campaign and the web: the mutants whose names have the smallest
hashes. So a function that moves to another file keeps its mutants, and a statement that is rewritten gets others.

First every test runs once under coverage, then each mutant meets the tests that run its line: the fastest first, up
to CAP seconds of them, until one fails. Each run is a fork of a process that has imported everything but Shortlist.
Tests in a browser are left out, and those that run this code in another process, where no mutant would be.
Mutants that change nothing anybody could notice are named in equivalent.toml, beside the reason.

What was found is kept in .mutate/, by a digest of src and tests, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import spec_from_file_location
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from coverage import Coverage

AREAS: dict[str, tuple[str, ...]] = {
    "core": (
        *("types", "costs", "plans", "conformal", "rows", "logits", "probabilities", "measures"),
        *("queries", "acquisition"),
    ),
    "campaign": ("campaign",),
    "web": ("web", "study"),
}
SIZE = 501  # mutants, over all areas
CAP = 20.0  # seconds of tests that one mutant meets
FIRST = 40  # tests in a first run, which is enough for most mutants
SAME_FILE = 0.02  # seconds that a test is put back by for every faster one from its file
OPENING = 0.1  # seconds that one more test file counts
PATIENCE = 15.0  # seconds of computing beyond four times what the tests took
BUSY = 20  # times that, on the clock: the machine may have other things to do
STILL = 30.0  # seconds on the clock in which a run that computes for less than a hundredth of them hangs
EQUIVALENT = "tests/equivalent.toml"  # in the tree: a reason, and the names of the mutants it holds for
FORK_UNSAFE = ("polars", "vl_convert")  # their threads do not survive a fork
ALL_PASSED, NOTHING_RAN, ENDED = 0, 5, -1  # exit codes of pytest, and one for when it did not come to give one


# --- mutants of a source file ---

Change = Callable[[], None]  # in the tree
SWAPS: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
NOT_MUTATED = (*BODIES, "annotation", "decorator_list")


@dataclass(frozen=True)
class Site:
    """A place in a parsed file that can be changed in one way."""

    function: str  # qualified, without the module
    statement: str  # its first line for one with a body
    kind: str
    lines: range  # of the statement, without its body
    change: Change
    node: ast.stmt

    def changed(self) -> str:
        """Change the tree; how the statement reads then."""
        self.change()
        return head(self.node)


def sites(tree: ast.Module) -> Iterator[Site]:
    """Every mutant of the functions in a file, in the order of the source; the code around them is left as it is."""
    for function, statement in _statements(tree.body, ""):
        text, lines = head(statement), _lines(statement)
        for kind, change in _changes(statement):
            yield Site(function, text, kind, lines, change, statement)


def head(statement: ast.stmt) -> str:
    """A statement as one reads it, without what is inside it.

    >>> head(ast.parse("while  n<2 :  n+=1").body[0])
    'while n < 2:'
    """
    bare = copy.copy(statement)
    for field in BODIES:
        if hasattr(bare, field):
            setattr(bare, field, [])
    return ast.unparse(bare).strip()


def _statements(body: Sequence[ast.stmt], function: str, outer: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """The statements inside functions, each with the name of its function."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{outer}{statement.name}"
            yield from _statements(statement.body, name, f"{name}.")
        elif isinstance(statement, ast.ClassDef):
            yield from _statements(statement.body, "", f"{outer}{statement.name}.")
        else:
            if function:
                yield function, statement
            for inner in _bodies(statement):
                yield from _statements(inner, function, outer)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in BODIES:
        for part in (parts := getattr(statement, field, [])):
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield part.body
        if parts and isinstance(parts[0], ast.stmt):
            yield parts


def _lines(statement: ast.stmt) -> range:
    inner = [body[0].lineno for body in _bodies(statement) if body]
    return range(statement.lineno, max(min(inner, default=(statement.end_lineno or 0) + 1), statement.lineno + 1))


def _changes(statement: ast.stmt) -> Iterator[tuple[str, Change]]:
    match statement:
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "call", partial(_become, statement, ast.Pass())
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return", partial(setattr, statement, "value", ast.Constant(None))
        case ast.Break() | ast.Continue():
            yield "loop", partial(_become, statement, SWAPS[type(statement)]())
        case ast.If():
            yield from _conditions(statement, True, False)
        case ast.While():
            yield from _conditions(statement, False)
    yield from _expressions(statement)


def _expressions(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Changes in the expressions of a node. Words are left: no test should need to know them all."""
    match node:
        case ast.JoinedStr():
            return
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                yield "compare", partial(node.ops.__setitem__, place, SWAPS[type(operator)]())
        case ast.BoolOp():
            yield "boolean", partial(setattr, node, "op", SWAPS[type(node.op)]())
        case ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPS and not _is_path(node):
            yield "arithmetic", partial(setattr, node, "op", SWAPS[type(node.op)]())
        case ast.IfExp():
            yield from _conditions(node, True, False)
        case ast.comprehension():
            for place, test in enumerate(node.ifs):
                yield "if true", partial(node.ifs.__setitem__, place, ast.copy_location(ast.Constant(True), test))
    for field, value in ast.iter_fields(node):
        if field in NOT_MUTATED and not isinstance(value, ast.expr):  # the body of a lambda is an expression
            continue
        for place, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and field != "annotation":
                yield from _replacements(child, partial(_put, node, field, place))
                yield from _expressions(child)


def _replacements(node: ast.AST, put: Callable[[ast.expr], None]) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Constant(value=bool() as truth):
            yield "truth", partial(put, ast.Constant(not truth))
        case ast.Constant(value=int() | float() as number):
            yield "number", partial(put, ast.Constant(number + 1))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "not" if isinstance(node.op, ast.Not) else "sign", partial(put, node.operand)


def _conditions(node: ast.If | ast.While | ast.IfExp, *values: bool) -> Iterator[tuple[str, Change]]:
    for value in values:
        yield f"if {value}".lower(), partial(setattr, node, "test", ast.Constant(value))


def _put(node: ast.AST, field: str, place: int, new: ast.expr) -> None:
    if isinstance(old := getattr(node, field), list):
        old[place] = new
    else:
        setattr(node, field, new)


def _become(node: ast.stmt, other: ast.stmt) -> None:
    node.__class__ = other.__class__
    node.__dict__ = {**other.__dict__, "lineno": node.lineno, "col_offset": node.col_offset}


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_path(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether words are joined: `folder / "name"`, `"a" + name`, and `"%d" % n`. Any test would see that change."""
    words = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
    return any(
        isinstance(word, ast.JoinedStr) or (isinstance(word, ast.Constant) and isinstance(word.value, str))
        for word in words
    )


# --- the sample ---


@dataclass(frozen=True)
class Mutant:
    """One change, and where it was found."""

    name: str
    area: str
    file: str  # from the root of the tree
    index: int  # among the sites of the file
    line: int
    lines: tuple[int, ...]
    function: str
    kind: str
    before: str
    after: str


def drawn(root: Path, size: int = SIZE, seed: str = "") -> list[Mutant]:
    """A sample of a tree: from each area the mutants whose names, after the seed, have the smallest digests."""
    each, lot = size // len(AREAS), partial(_lot, seed=seed)
    return [mutant for area in AREAS for mutant in sorted(_mutants(root, area), key=lot)[:each]]


def _mutants(root: Path, area: str) -> Iterator[Mutant]:
    seen: Counter[str] = Counter()
    for path in _files(root, area):
        file, text = path.relative_to(root).as_posix(), path.read_text("utf-8")
        for index, site in enumerate(sites(ast.parse(text))):
            name = f"{site.function} | {site.kind} | {site.statement}"
            seen[name] += 1
            yield Mutant(
                f"{area} | {name} | {seen[name]}",
                *(area, file, index, site.lines.start, tuple(site.lines)),
                *(site.function, site.kind, site.statement, ""),
            )


def _files(root: Path, area: str) -> list[Path]:
    package = root / "src" / "shortlist"
    return sorted(
        path for path in package.rglob("*.py") if path.relative_to(package).with_suffix("").parts[0] in AREAS[area]
    )


def _lot(mutant: Mutant, seed: str = "") -> str:
    return hashlib.sha256(f"{seed}{mutant.name}".encode()).hexdigest()


def mutated(root: Path, mutant: Mutant) -> tuple[ast.Module, str]:
    """The file of a mutant with its change, and the statement as it reads then."""
    tree = ast.parse((root / mutant.file).read_text("utf-8"))
    after = list(sites(tree))[mutant.index].changed()
    return ast.fix_missing_locations(tree), after


# --- a run of tests in a process of its own ---


class Instead(SourceFileLoader):
    """Import one module from a tree that is not what its file says."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.code = compile(tree, str(path), "exec")
        self.taken = False

    def find_spec(self, name: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        self.taken = True
        return self.code


@dataclass
class Run:
    """What pytest saw."""

    code: int
    seconds: dict[str, float]  # of the tests that passed
    failed: list[str]  # tests, and files that could not be read
    lines: dict[str, dict[int, list[int]]]  # file -> line -> places in `seconds`; -1 where reading the test file ran it
    mutated: bool = False  # the mutant was imported


class Watch:
    """A plugin: which tests run, in which order, and what each of them reached."""

    def __init__(self, root: Path, wanted: Sequence[str] | None, coverage: Coverage | None = None) -> None:
        self.root, self.coverage = root, coverage
        self.order = None if wanted is None else {test: place for place, test in enumerate(wanted)}
        self.took: dict[str, float] = {}
        self.failed: list[str] = []
        self.skipped: set[str] = set()
        self.context = ""
        self.fixtures: defaultdict[str, list[str]] = defaultdict(list)  # of a module or more -> tests that ask for it

    def pytest_collection(self) -> None:
        """Examples are looked for as ever, but a failing one is not made simpler: that takes minutes."""
        if "hypothesis" in sys.modules:
            from hypothesis import Phase, settings

            settings.register_profile("mutate", settings.default, phases=(Phase.explicit, Phase.generate))
            settings.load_profile("mutate")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if (order := self.order) is not None:
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])
        for item in items:
            for name in getattr(item, "fixturenames", ()):
                self.fixtures[f"fixture {name}"].append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began = time.process_time()  # not the clock: the machine may be busy
        with self._within(item.nodeid):
            try:
                return (yield)
            finally:
                self.took[item.nodeid] = time.process_time() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """What a fixture for many tests runs belongs to all of them, not to the first."""
        with self._within(f"fixture {fixturedef.argname}" if fixturedef.scope != "function" else self.context):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    @contextmanager
    def _within(self, context: str) -> Iterator[None]:
        outer = self.context
        self._switch(context)
        try:
            yield
        finally:
            self._switch(outer)

    def _switch(self, context: str) -> None:
        self.context = context
        if self.coverage:
            self.coverage.switch_context(context)

    def run(self, code: int) -> Run:
        passed = {test: s for test, s in self.took.items() if test not in {*self.failed, *self.skipped}}
        return Run(code, passed, self.failed, self._lines(passed))

    def _lines(self, passed: Mapping[str, float]) -> dict[str, dict[int, list[int]]]:
        if not self.coverage:
            return {}
        place = {test: place for place, test in enumerate(passed)} | {"": -1}
        data = self.coverage.get_data()
        return {
            Path(file).relative_to(self.root).as_posix(): {
                line: sorted(
                    {place[test] for name in names for test in self.fixtures.get(name, [name]) if test in place}
                )
                for line, names in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }


def ran(
    root: Path,
    place: Path,
    files: Sequence[str],
    wanted: Sequence[str] | None = None,
    *,
    instead: Instead | None = None,
    reached: bool = False,
    first_failure: bool = True,
) -> Run:
    """Run tests in this process, which should end after it."""
    coverage = _coverage(root) if reached else None
    _no_other_processes()
    if instead:
        sys.meta_path.insert(0, instead)
    watch = Watch(root, wanted, coverage)
    # plain: else pytest imports a file that it was given, for its examples, in its own way: from the disk
    options = ["-q", "--tb=line", "--assert=plain", f"--basetemp={place}", *files]
    options += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was imported before the fork
    if coverage:
        coverage.start()
    try:
        code = int(pytest.main(["-x", *options] if first_failure else options, plugins=[watch]))
    except Warning:  # one that nobody could catch, found at the very end
        code = ENDED
    if coverage:
        coverage.stop()
    run = watch.run(code)
    run.mutated = instead is not None and instead.taken
    return run


def _coverage(root: Path) -> Coverage:
    os.environ["COVERAGE_CORE"] = "ctrace"  # the one from Python 3.14 tells of each line only once
    from coverage import Coverage

    package = root / "src" / "shortlist"
    names = [name for area in AREAS.values() for name in area]
    files = [f"{package}/{name}{end}" for name in names for end in (".py", "/*")]
    return Coverage(data_file=None, config_file=False, include=files)


def _no_other_processes() -> None:
    """Tests that run this code in another process are skipped: the mutant is not in it."""
    start = subprocess.Popen.__init__

    def start_others(self: subprocess.Popen[Any], args: Any, *rest: Any, **options: Any) -> None:
        if re.search(r"\b(shortlist|tests|benchmarks)\b", str(args)):
            _skip()
        start(self, args, *rest, **options)

    subprocess.Popen.__init__ = start_others  # type: ignore[method-assign]
    BaseProcess.start = _skip  # type: ignore[method-assign, assignment]


def _skip(*_: object) -> None:
    pytest.skip("runs this code in another process")


def alone(action: Callable[[], Run], place: Path, limit: float) -> Run | None:
    """What an action gives in a fork of this process; None if it computes for longer than the limit, or hangs."""
    place.mkdir(parents=True, exist_ok=True)
    answer = place / "answer.json"
    answer.unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _in_fork(action, place, math.ceil(limit))
    now, waited, mark, computed = time.monotonic(), 0.0, 0.0, 0.0
    try:
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            before, now = now, time.monotonic()
            waited += min(now - before, 1.0)  # not the hours in which somebody has stopped us both
            if waited > BUSY * limit:
                return None
            if waited - mark > STILL:
                last, mark, computed = computed, waited, _computed(child)
                if computed - last < STILL / 100:
                    return None
            time.sleep(0.01)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # whatever else it has started
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
    if os.WIFSIGNALED(ended[1]) and os.WTERMSIG(ended[1]) == signal.SIGXCPU:
        return None
    if not answer.exists():
        return Run(ENDED, {}, [], {})
    return Run(**json.loads(answer.read_text()))


def _computed(process: int) -> float:
    """Seconds of computing so far, where Linux says it; elsewhere nobody is thought to hang before the limit."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return math.nan
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _in_fork(action: Callable[[], Run], place: Path, limit: int) -> None:
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
        with (place / "said.txt").open("w") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            answer = json.dumps(asdict(action()))
        (place / "answer.part").write_text(answer)
        (place / "answer.part").rename(place / "answer.json")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def spread(jobs: int, tasks: Sequence[Any], do: Callable[[Any, Path], None]) -> bool:
    """Do tasks in forks of this process, one in `jobs` each, with a folder of its own; whether all came to an end."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        workers = [_worker(tasks[start::jobs], partial(_do_in, do, Path(folder, str(start)))) for start in range(jobs)]
        try:
            codes = [os.waitpid(worker, 0)[1] for worker in workers]
        except KeyboardInterrupt:  # the workers have heard it too
            for worker in workers:
                with suppress(ChildProcessError):
                    os.waitpid(worker, 0)
            return False
    return not any(codes)


def _do_in(do: Callable[[Any, Path], None], place: Path, task: Any) -> None:
    do(task, place)


def _worker(tasks: Sequence[Any], do: Callable[[Any], None]) -> int:
    sys.stdout.flush()
    worker = os.fork()
    if worker == 0:
        code = 1
        try:
            for task in tasks:
                do(task)
            code = 0
        except KeyboardInterrupt:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return worker


# --- which tests reach a line ---


@dataclass
class Reach:
    """How long each test takes, and the tests that reach each line."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]
    imported: dict[str, dict[int, set[str]]]  # lines that run when a test file is read: all of its tests

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that a mutant meets, in this order: fast ones first, not all from one file, up to CAP seconds."""
        met = self._met(self.lines, mutant) or self._met(self.imported, mutant)
        place: Counter[str] = Counter()
        late = {}
        for test in sorted(met, key=lambda test: (self.seconds[test], test)):
            late[test] = self.seconds[test] + SAME_FILE * place[_file(test)]
            place[_file(test)] += 1
        return list(self._affordable(sorted(met, key=lambda test: (late[test], test))))

    def _met(self, lines: Mapping[str, Mapping[int, set[str]]], mutant: Mutant) -> set[str]:
        of_file = lines.get(mutant.file, {})
        return {test for line in mutant.lines for test in of_file.get(line, ())}

    def _affordable(self, tests: Sequence[str]) -> Iterator[str]:
        files: set[str] = set()
        cost = 0.0
        for test in tests:
            cost += self.seconds[test] + (OPENING if _file(test) not in files else 0.0)
            if files and cost > CAP:
                return
            files.add(_file(test))
            yield test


def reach(root: Path, kept: Path, jobs: int) -> Reach:
    """Run every test once, a process for each test file and one for the examples in docstrings."""
    kept.mkdir(parents=True, exist_ok=True)
    tests = [[path.relative_to(root).as_posix()] for path in sorted((root / "tests").rglob("test_*.py"))]
    parts = [part for part in [*tests, ["src"]] if not _part(kept, part).exists()]
    if parts:
        print(f"{len(parts)} test files run once, to see which lines they reach", flush=True)
    if not spread(jobs, parts, partial(_reach_of, root, kept)):
        raise KeyboardInterrupt
    found = Reach({}, {}, {})
    for part in [*tests, ["src"]]:
        _add(found, json.loads(_part(kept, part).read_text()))
    return found


def _reach_of(root: Path, kept: Path, files: list[str], place: Path) -> None:
    began = time.monotonic()
    action = partial(ran, root, place / "tmp", files, reached=True, first_failure=False)
    run = alone(action, place, 1800.0) or Run(ENDED, {}, [f"{files[0]} hangs, or computes for half an hour"], {})
    wrong = "".join(f"\n    failed, left out: {test}" for test in run.failed)
    print(f"  {time.monotonic() - began:5.1f} s  {len(run.seconds):4} passed  {files[0]}{wrong}", flush=True)
    part = _part(kept, files)
    part.with_suffix(".part").write_text(json.dumps(asdict(run)))
    part.with_suffix(".part").rename(part)


def _part(kept: Path, files: list[str]) -> Path:
    return kept / f"{files[0].replace('/', '.')}.json"


def _add(found: Reach, run: Mapping[str, Any]) -> None:
    tests = list(run["seconds"])
    found.seconds.update(run["seconds"])
    for file, lines in run["lines"].items():
        for line, places in lines.items():
            directly = {tests[place] for place in places if place >= 0}
            found.lines.setdefault(file, {}).setdefault(int(line), set()).update(directly)
            if -1 in places:
                found.imported.setdefault(file, {}).setdefault(int(line), set()).update(tests)


def _file(test: str) -> str:
    return test.split("::")[0]


# --- what becomes of the mutants ---


@dataclass(frozen=True)
class Fate:
    """A mutant and what the tests said of it."""

    mutant: Mutant
    status: str  # killed, timeout, survived or not covered
    killer: str
    tests: int
    seconds: float

    @classmethod
    def read(cls, line: str) -> Fate:
        said = json.loads(line)
        return cls(Mutant(**said.pop("mutant")), **said)


def judged(root: Path, reach: Reach, mutant: Mutant, place: Path) -> Fate:
    """Let a mutant meet its tests, a few in a first run and the others in a second."""
    began = time.monotonic()
    tree, after = mutated(root, mutant)
    mutant = Mutant(**{**asdict(mutant), "after": after})
    tests, instead = reach.tests(mutant), Instead(_module(mutant.file), root / mutant.file, tree)
    for part in filter(None, (tests[:FIRST], tests[FIRST:])):
        files = list(dict.fromkeys(_file(test) for test in part))
        limit = PATIENCE + 4 * sum(reach.seconds[test] for test in part) + OPENING * len(files)
        run = alone(partial(ran, root, place / "tmp", files, part, instead=instead), place, limit)
        if run is None:
            return Fate(mutant, "timeout", "", len(tests), time.monotonic() - began)
        if run.code == ALL_PASSED and not run.mutated:
            raise RuntimeError(f"the tests ran without the mutant: {told(mutant)}")
        if run.code == NOTHING_RAN:  # the mutant has given them other names
            continue
        if not run.failed and run.code != ALL_PASSED:
            as_it_is = alone(partial(ran, root, place / "tmp", files, part), place, limit)
            if as_it_is is None or as_it_is.code != ALL_PASSED:
                continue
        if run.code != ALL_PASSED:
            killer = run.failed[0] if run.failed else "the process ended"
            return Fate(mutant, "killed", killer, len(tests), time.monotonic() - began)
    return Fate(mutant, "survived" if tests else "not covered", "", len(tests), time.monotonic() - began)


def _module(file: str) -> str:
    parts = Path(file).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _judge(root: Path, reach: Reach, results: Path, mutant: Mutant, place: Path) -> None:
    fate = judged(root, reach, mutant, place)
    with results.open("a") as file:
        file.write(json.dumps(asdict(fate)) + "\n")
    print(f"{fate.status:11} {fate.seconds:5.1f} s  {told(fate.mutant)}", flush=True)


def told(mutant: Mutant) -> str:
    """A mutant in two lines: where, and what became of the statement."""
    return f"{mutant.file}:{mutant.line} {mutant.function} ({mutant.kind})\n    {mutant.before}  ->  {mutant.after}"


def false_kills(root: Path, fates: Sequence[Fate], place: Path) -> set[str]:
    """Tests that killed, but fail without a mutant as well when they run together."""
    killers = list(dict.fromkeys(fate.killer for fate in fates if fate.status == "killed"))
    files = list(dict.fromkeys(_file(killer) for killer in killers if (root / _file(killer)).exists()))
    if not files:
        return set()
    action = partial(ran, root, place / "tmp", files, killers, first_failure=False)
    run = alone(action, place, 1800.0)
    return set(killers) if run is None else set(run.failed) & set(killers)


# --- the report ---


def equivalent(root: Path) -> set[str]:
    """Names of the mutants that change nothing anybody could notice."""
    path = root / EQUIVALENT
    reasons = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    return {name for names in reasons.values() for name in names}


def report(fates: Sequence[Fate], sample: int, false: set[str], same: set[str], seconds: float) -> str:
    """The counts by area, then every mutant that was not noticed and should have been."""
    titles = ("mutants", "killed", "timeout", "survived", "not covered", "equivalent")
    lines = [" " * 10 + "".join(f"{title:>{len(title) + 2}}" for title in titles) + "  killed of the others"]
    for area in (*AREAS, "all"):
        counts = Counter(_status(fate, false, same) for fate in fates if area in (fate.mutant.area, "all"))
        counts["mutants"] = counts.total()
        counts["killed"] += counts["timeout"]
        share = counts["killed"] / max(1, counts["mutants"] - counts["equivalent"])
        lines.append(f"{area:10}" + "".join(f"{counts[title]:{len(title) + 2}}" for title in titles) + f"{share:22.1%}")
    files = len({fate.mutant.file for fate in fates})
    lines.append(f"\n{len(fates)} of {sample} mutants in {files} files, {seconds:.0f} s; killed includes timeouts")
    lines += [f"{killer} fails without a mutant too: what it killed counts as survived" for killer in sorted(false)]
    noticed = [fate for fate in fates if fate.mutant.name in same and _status(fate, false, same) != "equivalent"]
    lines += [f"{fate.mutant.name} is not equivalent: {fate.killer or fate.status}" for fate in noticed]
    for status in ("not covered", "survived"):
        lines += ["", f"{status}:"]
        lines += [f"  {told(fate.mutant)}" for fate in fates if _status(fate, false, same) == status]
    return "\n".join(lines) + "\n"


def _status(fate: Fate, false: set[str], same: set[str]) -> str:
    status = "survived" if fate.killer in false and fate.status == "killed" else fate.status
    return "equivalent" if fate.mutant.name in same and status in ("survived", "not covered") else status


def beside(now: Sequence[Fate], before: Sequence[Fate]) -> str:
    """What changed since another tree: fates of the mutants that both have, and those that only one has."""
    here, there = ({fate.mutant.name: fate for fate in fates} for fates in (now, before))
    both = [name for name in there if name in here]
    lost = [name for name in both if _noticed(there[name]) and not _noticed(here[name])]
    won = [name for name in both if _noticed(here[name]) and not _noticed(there[name])]
    killed = f"{sum(map(_noticed, before))} of {len(before)} killed there, {sum(map(_noticed, now))} of {len(now)} here"
    lines = [f"{killed}; {len(both)} mutants are in both: {len(lost)} killed only there, {len(won)} only here"]
    for title, names, of in (
        ("killed there, not here", lost, here),
        ("killed here, not there", won, here),
        ("gone", [name for name in there if name not in here], there),
        ("new", [name for name in here if name not in there], here),
    ):
        lines += ["", f"{title}: {len(names)}", *(f"  {of[name].status:11} {told(of[name].mutant)}" for name in names)]
    return "\n".join(lines) + "\n"


def _noticed(fate: Fate) -> bool:
    return fate.status in ("killed", "timeout")


# --- the command ---


def warm(root: Path) -> None:
    """Import what the code and its tests import from elsewhere, so that forks need not."""
    sys.path[:0] = [str(root / "src"), str(root)]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:  # of the tree that this file lies in
        del sys.modules[name]
    texts = [path.read_text("utf-8") for part in ("src", "tests") for path in sorted((root / part).rglob("*.py"))]
    found = Counter(
        name for text in texts for name in set(re.findall(r"^\s*(?:from|import) ([A-Za-z_][\w.]*)", text, re.MULTILINE))
    )
    ours = ("shortlist", "tests", "__future__", *FORK_UNSAFE)
    plugins = [plugin.module for plugin in entry_points(group="pytest11")]
    for name in [name for name, times in found.items() if times > 1] + plugins:
        if name.split(".")[0] not in ours:
            with suppress(Exception):
                importlib.import_module(name)
    assert "shortlist" not in sys.modules
    gc.collect()
    gc.freeze()


def digest(root: Path) -> str:
    """Of the code and its tests, but not of this file."""
    found = hashlib.sha256()
    for path in sorted(path for part in ("src", "tests") for path in (root / part).rglob("*.py")):
        if path.name not in ("mutate.py", "test_mutate.py"):
            found.update(f"{path.relative_to(root)}\0{path.read_text('utf-8')}\0".encode())
    return found.hexdigest()[:12]


def main(arguments: Sequence[str] | None = None) -> int:
    said = _parser().parse_args(arguments)
    root: Path = said.root.resolve()
    os.chdir(root)
    _settle(root)
    kept = root / ".mutate" / digest(root)
    kept.mkdir(parents=True, exist_ok=True)
    results, began = kept / "results.jsonl", time.monotonic()
    sample = [mutant for mutant in drawn(root, said.size, said.seed) if said.only in f"{mutant.file} {mutant.name}"]
    print(f"{len(sample)} mutants; what is found is kept in {kept}", flush=True)
    warm(root)
    try:
        tests = reach(root, kept / "reach", said.jobs)
    except KeyboardInterrupt:
        return 130
    if not tests.seconds:
        print(f"no test passes in {root}: is what they import installed for {sys.executable}?", file=sys.stderr)
        return 2
    done = {fate.mutant.name for fate in _fates(results)}
    rest = sorted((mutant for mutant in sample if mutant.name not in done), key=_lot)  # some of each area at any time
    ended = spread(said.jobs, rest, partial(_judge, root, tests, results))
    names = {mutant.name for mutant in sample}
    fates = [fate for fate in _fates(results) if fate.mutant.name in names]
    with tempfile.TemporaryDirectory(prefix="mutate-") as place:
        false = false_kills(root, fates, Path(place)) if ended else set()
    text = report(fates, len(sample), false, equivalent(root), time.monotonic() - began)
    if said.against:
        text += "\n" + beside(fates, _fates(said.against))
    (root / ".mutate" / "report.txt").write_text(text)
    (root / ".mutate" / "results.jsonl").write_text("".join(json.dumps(asdict(fate)) + "\n" for fate in fates))
    print(f"\n{text}\nin {root / '.mutate' / 'report.txt'}")
    return 0 if ended else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(), help="the tree; this folder unless said otherwise")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--size", type=int, default=SIZE, help="mutants in the sample")
    parser.add_argument("--seed", default="", help="a word; with another one the sample is another")
    parser.add_argument("--only", default="", help="those of the sample with this in their file or name")
    parser.add_argument("--against", type=Path, help="results.jsonl of another tree, to compare with")
    return parser


def _settle(root: Path) -> None:
    """The same for every run: one thread for BLAS, no browser, and this tree in whatever is started."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    os.environ.update({"SHORTLIST_CHROMIUM": "/nowhere", "PYTHONPATH": str(root / "src")})
    os.environ.pop("SHORTLIST_REQUIRE_BROWSER", None)


def _fates(results: Path) -> list[Fate]:
    lines = results.read_text().splitlines() if results.exists() else []
    return [Fate.read(line) for line in lines if line.endswith("}")]  # the last may have been cut short


if __name__ == "__main__":
    sys.exit(main())
