"""Malformed inputs, by number: files, recipes, cells of a database, requests. python -m tests.fuzz [INPUTS] [FIRST]

Input number i is the same on every machine: all of it is drawn from [SEED, i]. One that failed is kept by its number in
`KEPT`, which every run begins with. Every input has to work or to end in a sentence: no traceback, no status of 500 or
above, no control character on the terminal, nothing left half written, and nothing changed that was there. `make
torture` takes a thousand, `make test` a few of each kind.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from shortlist import measures
from shortlist.campaign.config import to_toml
from shortlist.campaign.formats import FORMATS
from shortlist.campaign.formats.export import export
from shortlist.cli import main as command
from shortlist.recipes.build import settings_in
from shortlist.types import ShortlistError
from tests.campaign.toys import data, run
from tests.cli.command import snapshot
from tests.web.serving import served

SEED = 13
KEPT = (346, 4376)  # a schema version that is a blob; an answer of 2³¹ stages, which took all memory
DATA = data()
Rng: TypeAlias = np.random.Generator
Input: TypeAlias = Callable[[Rng, Path], None]

TOKENS = [
    *(b'"', b"'", b"\n", b"\r", b"\r\n", b"\0", b",", b";", b"\t", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf"),
    *(b"\xed\xa0\x80", b"\x1b[31m", b"\x07", "\u202e".encode(), "\u2028".encode(), "＝1+1".encode(), b"=1+1"),
    *(b"../", b"/", b"%s", b"{}", b"null", b"NaN", b"1e999", b"-1", b"0", b"true", b"9" * 5000, b"-" * 20_000),
    *(b"[" * 3000, b"(" * 300, b"a.b." * 500),
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 0.5, -0.0, float("inf"), float("nan"), 1e308),
    *("", " ", "x", "NaN", "\0", "\x1b[31m", "../../etc", "é" * 300, "x" * 70_000, "\ud800", "=1+1", "1", "-" * 20_000),
    *([], [1], [[]], ["x"], {}, {"name": "x"}, {"name": {}}, {"a": {"b": []}}, [None], [-1, 3], [0.5] * 100),
]  # fmt: skip


# --- what is done to what is well made -----------------------------------------------------------------------------


def broken(rng: Rng, content: bytes) -> bytes:
    """The bytes with up to four pieces of them lost, doubled, replaced, or something put between them."""
    for _ in range(rng.integers(1, 5)):
        at, n = int(rng.integers(len(content) + 1)), int(rng.geometric(0.2))
        token = TOKENS[rng.integers(len(TOKENS))]
        change = rng.integers(6)
        if change == 0:
            content = content[:at]
        elif change == 1:
            content = content[:at] + content[at + n :]
        elif change == 2:
            content = content[:at] + content[at : at + n] * 2 + content[at + n :]
        elif change == 3:
            content = content[:at] + bytes(rng.integers(256, size=n, dtype=np.uint8)) + content[at + n :]
        else:
            content = content[:at] + token + content[at + n * (change == 4) :]
    return content


def odd(rng: Rng) -> Any:
    return VALUES[rng.integers(len(VALUES))]


def with_odd_values(rng: Rng, value: Any) -> Any:
    """The same tables and lists, with one value or more replaced."""
    if rng.random() < 0.1:
        return odd(rng)
    if isinstance(value, dict):
        return {key: with_odd_values(rng, one) for key, one in value.items() if rng.random() > 0.05}
    if isinstance(value, list):
        return [with_odd_values(rng, one) for one in value]
    return odd(rng) if rng.random() < 0.1 else value


# --- the command line ----------------------------------------------------------------------------------------------


def told(*arguments: object) -> None:
    """The command ends in success or in a sentence, and writes nothing that steers a terminal."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    asked = mock.patch.object(sys, "argv", ["shortlist", *map(str, arguments)])
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), asked:
        try:
            command()
        except SystemExit as end:
            code = end.code or 0
    said = out.getvalue() + err.getvalue()
    assert code in (0, 1, 2), code
    assert code == 0 or err.getvalue(), "it failed without a word"
    assert "Traceback" not in said, said
    assert all(sign in "\n\t" or not sign.isascii() or sign.isprintable() for sign in said), ascii(said[:1000])


@contextlib.contextmanager
def nothing_overwritten(folder: Path) -> Iterator[None]:
    before = snapshot(folder)
    yield
    after = snapshot(folder)
    changed = [name for name, content in before.items() if after.get(name) != content]
    assert not changed, f"changed: {changed}"
    left = [name for name in after if ".new" in name]
    assert not left, f"left behind: {left}"


ROWS = "".join(f'm{i},"word{i % 7}, hello {i}",{("cat", "dog", "")[i % 3]},{i}.5\n' for i in range(24))
TABLE = f"id,body,topic,n\n{ROWS}".encode()
CLASSES = b"cat\ndog\nfox\n"


def table(rng: Rng, here: Path) -> None:
    ending = ("csv", "csv.gz", "parquet")[rng.integers(3)]
    path = here / f"t.{ending}"
    if ending == "csv":
        path.write_bytes(broken(rng, TABLE))
    elif ending == "csv.gz":
        half = broken(rng, gzip.compress(TABLE, mtime=0)), gzip.compress(broken(rng, TABLE), mtime=0)
        path.write_bytes(half[rng.integers(2)])
    else:
        cells = {"id": [f"m{i}" for i in range(9)], "body": ["hello"] * 9, "topic": ["a", "b", None] * 3}
        pq.write_table(pa.table(cells), path)
        path.write_bytes(broken(rng, path.read_bytes()))
    (here / "classes.txt").write_bytes(broken(rng, CLASSES) if rng.random() < 0.5 else CLASSES)
    options = ["--table", path, "--text", "body", "--label", "topic"]
    options += ["--key", "id"] * (rng.random() < 0.5) + ["--classes", here / "classes.txt"] * (rng.random() < 0.5)
    with nothing_overwritten(here):
        told("init", here / "new", *options)


def features(rng: Rng, here: Path) -> None:
    np.save(here / "x.npy", np.eye(12, 4))
    np.save(here / "y.npy", np.arange(12) % 4)
    np.save(here / "p.npy", np.full((12, 4), 0.25))
    name = ("x.npy", "y.npy", "p.npy")[rng.integers(3)]
    content = (here / name).read_bytes()
    if rng.random() < 0.7:  # the header alone
        content = broken(rng, content[10:128])
        content = b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") * (len(content) < 2**16) + content
    (here / name).write_bytes(broken(rng, content) if rng.random() < 0.3 else content)
    (here / "classes.json").write_bytes(broken(rng, b'["a", "b", "c", "d"]'))
    with nothing_overwritten(here):
        told("init", here / "new", "--features", here / "x.npy", "--classes", here / "classes.json")
        cal = ["--cal-probs", here / "p.npy", "--cal-labels", here / "y.npy"]
        told("sets", "--probs", here / "p.npy", *cal, "-o", here / "sets.jsonl")


def images(rng: Rng, here: Path) -> None:
    for i in range(6):
        path = here / "photos" / f"{i}.{('png', 'gif', 'tiff', 'jpg', 'bmp', 'webp')[i]}"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((9, 12, 3), 40 * i, np.uint8)).save(path)
        if i and rng.random() < 0.7:
            path.write_bytes(broken(rng, path.read_bytes()))
    (here / "classes.txt").write_bytes(CLASSES)
    with nothing_overwritten(here):
        told("init", here / "new", "--images", here / "photos", "--classes", here / "classes.txt")
        assert settings_in(here / "new").dataset.inputs.shape == (6, 32, 32, 3)


RECIPE: dict[str, Any] = {
    "name": "odd",
    "initial": 4,
    "budget": 4,
    "rounds": 2,
    "seeds": [0],
    "dataset": {"name": "table", "path": "t.csv", "text": "body", "label": "topic", "key": "id"},
    "model": {"name": "scikit", "estimator": "LogisticRegression(C=30, max_iter=50)", "batch": 64},
    "query": {"name": "candidate_set", "n_cal": 2, "score": "lac", "cost": {"name": "linear", "slope": 2}},
    "acquisition": {"name": "cost_aware", "inner": {"name": "entropy"}, "d": 0.3},
    "stop": {"cost": 100.0},
    "annotator": {"name": "simulated", "noise": 0.0},
    "features": {"name": "simclr", "epochs": 1},
    "overlap": {"answers": 1, "share": 0.5},
    "variants": {"a": {"budget": 3}},
    "smoke": {"rounds": 1},
}


def recipe(rng: Rng, here: Path) -> None:
    (here / "t.csv").write_bytes(TABLE)
    optional = ("stop", "annotator", "features", "overlap", "variants", "smoke", "seeds")
    asked = {key: value for key, value in RECIPE.items() if key not in optional or rng.random() < 0.3}
    asked["dataset"] = {**asked["dataset"], "path": str(here / "t.csv")}
    if rng.random() < 0.5:
        with contextlib.suppress(ShortlistError, UnicodeEncodeError):  # TOML has no null, and no half of a pair
            values = {key: with_odd_values(rng, value) for key, value in asked.items()}
            (here / "odd.toml").write_text(to_toml(without_null(values)), "utf-8")
    if not (here / "odd.toml").exists():
        (here / "odd.toml").write_bytes(broken(rng, to_toml(asked).encode()))
    with nothing_overwritten(here):
        told("run", here / "odd.toml", "--out", here / "out", "--no-report", *["--smoke"] * (rng.random() < 0.2))


def without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): without_null(one) for key, one in value.items() if one is not None}
    return [without_null(one) for one in value if one is not None] if isinstance(value, list) else value


def settings(rng: Rng, here: Path) -> None:
    """The campaign.toml of people's own campaign."""
    (here / "t.csv").write_bytes(TABLE)
    told("init", here / "own", "--table", here / "t.csv", "--text", "body", "--label", "topic")
    path = here / "own" / "campaign.toml"
    path.write_bytes(broken(rng, path.read_bytes()))
    with nothing_overwritten(here), contextlib.suppress(ShortlistError):
        settings_in(here / "own")


# --- a campaign ----------------------------------------------------------------------------------------------------


def finished(here: Path, made: dict[str, Path] = {}) -> Path:  # noqa: B006 - made once, then copied
    if "run" not in made:
        made["run"] = Path(tempfile.mkdtemp()) / "run"
        run(made["run"], DATA, rounds=2)
    shutil.copytree(made["run"], here / "run")
    return here / "run"


def labels(rng: Rng, here: Path) -> None:
    folder, format = finished(here), list(FORMATS)[rng.integers(len(FORMATS))]
    export(folder, here / "labels", format=format, what="all" if rng.random() < 0.5 else "labels")
    (here / "labels").write_bytes(broken(rng, (here / "labels").read_bytes()))
    before = answered(folder)
    told("import", folder, here / "labels", "--format", format, *["--skip-unknown"] * (rng.random() < 0.5))
    assert answered(folder)[: len(before)] == before


def answered(folder: Path) -> list[Any]:
    with contextlib.closing(sqlite3.connect(folder / "campaign.db")) as c:
        return list(c.execute("SELECT * FROM answers ORDER BY id"))


def cells(rng: Rng, here: Path) -> None:
    """A database of which some cells were changed by hand."""
    folder = finished(here)
    with contextlib.closing(sqlite3.connect(folder / "campaign.db")) as c:
        tables = ["meta", "items", "classes", "rounds", "questions", "answers", "events"]
        name = tables[rng.integers(len(tables))]
        columns = [row[1] for row in c.execute(f"PRAGMA table_info({name})")]
        column, value = columns[rng.integers(len(columns))], odd(rng)
        kept = value if isinstance(value, int | float | bytes | None) else json.dumps(value)
        kept = value.encode("utf-8", "surrogatepass") if isinstance(value, str) and rng.random() < 0.5 else kept
        if isinstance(kept, int) and abs(kept) >= 2**63:
            kept = str(kept)
        with contextlib.suppress(sqlite3.IntegrityError), c:
            c.execute(f"UPDATE {name} SET {column} = ? WHERE rowid % 3 = ?", (kept, int(rng.integers(3))))
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with nothing_overwritten(folder):
        told("export", folder, here / "x.csv", "--all")
        told("export", folder, here / "x.jsonl", "--answers")
        with contextlib.suppress(ShortlistError):
            measures.read(folder)


# --- requests ------------------------------------------------------------------------------------------------------

BODIES: dict[str, Any] = {
    "/api/answers": {"question": 3, "kind": "label", "path": [1], "stage_seconds": [1.5], "n": 3, "holding": [4]},
    "/api/leases/release": {"questions": [1, 2]},
    "/api/decisions": {"item": "item1", "kind": "label", "label": 1},
    "/api/sign-in": {"name": "ana", "password": "a long password"},
    "/api/join": {"name": "eve", "password": "a long password", "token": "x"},
    "/api/me/password": {"old": "wrong", "new": "another long password"},
    "/api/people/bob": {"role": "annotator", "active": True},
    "/api/invitations": {"role": "annotator", "hours": 3},
    "/api/tokens": {"label": "mine"},
}
QUESTIONS = ["/api/questions?n={}&holding={}", "/api/questions/{}", "/api/items/{}", "/api/export?format={}&all={}"]


@contextlib.contextmanager
def requests() -> Iterator[Input]:
    """One server for all of them, that raises what it would have answered with a status of 500."""
    with tempfile.TemporaryDirectory() as place, served(Path(place) / "run") as app:
        olga, folder = app.sign_in("olga", "owner"), app.campaign.folder.path

        def request(rng: Rng, here: Path) -> None:
            before, change = answered(folder), rng.random()
            if change < 0.6:
                path = list(BODIES)[rng.integers(len(BODIES))]
                body = with_odd_values(rng, BODIES[path])
                content = json.dumps(body).encode() if rng.random() < 0.6 else broken(rng, json.dumps(body).encode())
                got = olga.ask("POST", path, content=content, headers={"Content-Type": "application/json"})
            elif change < 0.8:
                format = list(FORMATS)[rng.integers(len(FORMATS))]
                export(folder, here / "labels", format=format, what="all")
                content = broken(rng, (here / "labels").read_bytes())
                got = olga.ask("POST", f"/api/import?format={format}", content=content)
            else:
                asked = QUESTIONS[rng.integers(len(QUESTIONS))].format(odd(rng), odd(rng))
                sent = asked.encode("utf-8", "replace")[:2000].decode("utf-8", "ignore")
                got = olga.ask("GET", "".join(sign for sign in sent if sign.isprintable()))
            assert got.status_code < 500, (got.status_code, got.text)
            assert answered(folder)[: len(before)] == before

        yield request


# --- all of them -----------------------------------------------------------------------------------------------------

FILES: tuple[Input, ...] = (table, features, images, recipe, settings, labels, cells)


def check(number: int, request: Input) -> str:
    """Nothing of what is promised is broken by input `number`; which kind it is."""
    rng = np.random.default_rng([SEED, number])
    kinds = (*FILES, *[request] * 3)
    kind = kinds[number % len(kinds)]
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(place)
        try:
            kind(rng, Path(place))
        finally:
            os.chdir(before)
    return kind.__name__


def main(inputs: int = 1000, first: int = 0) -> int:
    began, done, failed = time.monotonic(), Counter[str](), []
    with requests() as request:
        for number in (*KEPT, *range(first, first + inputs)):
            try:
                done[check(number, request)] += 1
            except Exception:
                failed.append(number)
                print(f"\ninput {number}:\n{traceback.format_exc()}", file=sys.stderr)
            print(f"\rinput {number}", end="", file=sys.stderr)
    kinds, seconds = ", ".join(f"{n} {kind}" for kind, n in sorted(done.items())), time.monotonic() - began
    print(file=sys.stderr)
    print(f"{done.total()} inputs ended well ({kinds}), {len(failed)} did not: {failed}; {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
