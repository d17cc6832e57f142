from __future__ import annotations

import gc
import json
import multiprocessing
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from shortlist import measures
from shortlist.campaign.storage.store import MOST, Store, refuse_endless
from shortlist.rates import OF_ROUND
from shortlist.types import ShortlistError
from tests.campaign.toys import answers, campaign, data, run, work

DATA = data()


def small(folder: Path) -> Store:
    return Store.create(folder / "campaign.db", ["a", "b"], ["x", "y"], {})


def test_a_new_database_is_one_file(tmp_path: Path) -> None:
    small(tmp_path).close()
    assert [p.name for p in tmp_path.iterdir()] == ["campaign.db"]


def test_leftovers_of_a_killed_start_are_cleared(tmp_path: Path) -> None:
    for name in ("campaign.db.new", "campaign.db.new-wal", "campaign.db.new-shm"):
        (tmp_path / name).write_bytes(b"half")
    with small(tmp_path) as store:
        assert store.keys() == ["a", "b"]
        assert store.class_names() == ["x", "y"]
    assert [p.name for p in tmp_path.iterdir()] == ["campaign.db"]


def test_a_transaction_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    with small(tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            _start_and_fail(store)
        assert store.rounds() == []


def _start_and_fail(store: Store) -> None:
    with store.writing() as w:
        w.start_round(1, "asking")
        w.note(1, "note", str(1 // 0))


def test_numbers_come_back_bit_for_bit(tmp_path: Path) -> None:
    with small(tmp_path) as store:
        with store.writing() as w:
            w.start_round(1, "asking", {"alpha": 0.1 + 0.2, "threshold": 1 / 3, "cuts": [1, [2.5]]})
        (row,) = store.rounds()
        assert (row.alpha, row.threshold) == (0.1 + 0.2, 1 / 3)
        assert row.query == {"alpha": 0.1 + 0.2, "threshold": 1 / 3, "cuts": [1, [2.5]]}


def test_rounds_of_earlier_versions_are_read_as_shares(tmp_path: Path) -> None:
    """They have percent, and no word of it; others in the same database, finished since, have shares."""
    rounds = run(tmp_path, DATA, holdout=5)
    earlier = {name: 100 * value for name, value in asdict(rounds[1]).items() if name in OF_ROUND and value is not None}
    earlier["interval"] = [100 * end for end in rounds[1].interval or ()]
    assert earlier.keys() == {*OF_ROUND, "interval"}
    with closing(sqlite3.connect(tmp_path / "campaign.db")) as c, c:
        (kept,) = c.execute("SELECT result FROM rounds WHERE number = 2").fetchone()
        assert not json.loads(kept).pop("percent")
        old = {name: value for name, value in json.loads(kept).items() if name != "percent"} | earlier
        c.execute("UPDATE rounds SET result = ? WHERE number = 2", [json.dumps(old)])
    before = (tmp_path / "campaign.db").read_bytes()
    found = measures.read(tmp_path).rounds
    assert [found[0], *found[2:]] == [rounds[0], *rounds[2:]]
    assert asdict(replace(found[1], interval=None)) == pytest.approx(asdict(replace(rounds[1], interval=None)))
    assert found[1].interval == pytest.approx(rounds[1].interval)
    assert (tmp_path / "campaign.db").read_bytes() == before


def test_read_only_never_writes(tmp_path: Path) -> None:
    small(tmp_path).close()
    with (
        Store(tmp_path / "campaign.db", read_only=True) as store,
        pytest.raises(
            ShortlistError, match=r"campaign\.db: cannot be written \(attempt to write a readonly database\)"
        ),
        store.writing() as w,
    ):
        w.note(1, "note", "x")


def test_a_store_nobody_closes_closes_itself(tmp_path: Path) -> None:
    store = small(tmp_path)
    with store.writing() as w:
        w.note(1, "note", "x")
    assert (tmp_path / "campaign.db-wal").exists()
    del store
    gc.collect()
    assert [p.name for p in tmp_path.iterdir()] == ["campaign.db"]  # the log is folded in


def test_the_database_is_plain_sqlite(tmp_path: Path) -> None:
    run(tmp_path, rounds=2)
    with sqlite3.connect(tmp_path / "campaign.db") as c:
        assert c.execute("pragma journal_mode").fetchone() == ("wal",)
        assert c.execute("select count(*), sum(misses) >= 0 from answers").fetchone() == (16, 1)
        assert c.execute("select value from meta where key = 'schema_version'").fetchone() == ("2",)
    c.close()


def test_reading_while_another_process_writes(tmp_path: Path) -> None:
    """Every reading finds a whole state: costs and rounds that belong together."""
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=_write, args=(tmp_path,))
    writer.start()
    seen: list[int] = []
    try:
        while writer.is_alive() or not seen:
            if (tmp_path / "campaign.db").exists():
                found = measures.read(tmp_path)
                seen.append(len(found.rounds))
                for done in found.rounds:
                    paid = sum(x.cost for x in found.ledger if x.round <= done.number)
                    assert paid == pytest.approx(done.cost)
                    assert done.asked == 20
            time.sleep(0.005)
    finally:
        writer.join()
    assert writer.exitcode == 0
    assert seen == sorted(seen)
    assert len(measures.read(tmp_path).rounds) == 10


def _write(folder: Path) -> None:
    run(folder, data(200), initial=20, budget=20, rounds=10)


def test_answers_from_many_threads(tmp_path: Path) -> None:
    dataset = data(400)
    with campaign(tmp_path, dataset, initial=400, rounds=1) as going:
        work(going)
        asked = going.open_questions()
        failed: list[Exception] = []

        def person(name: int) -> None:
            try:
                for question in asked[name::8]:
                    going.record(answers([question], dataset.labels))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=person, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(going.store.answers()) == 400
        work(going)
        assert going.finished_rounds()[0].labelled == 400


def test_every_reading_is_a_part_of_what_there_is(tmp_path: Path) -> None:
    """By round, by purpose, up to an answer, after a question: as if one had read everything and chosen."""
    with campaign(tmp_path / "run", data(60), holdout=4, ahead=3, budget=8, rounds=5) as going:
        for _ in range(3):
            work(going)
            going.record(answers(going.open_questions()[:6], data(60).labels))
            going.record(answers(going.ahead(1), data(60).labels))
            work(going)
            going.record(answers(going.open_questions(), data(60).labels))
        work(going)
        store, last = going.store, going.store.last_answer()
        asked, said = {q.id: q for q in store.questions()}, store.answers()
        answered = {a.question for a in said}
        of = {a.id: asked[a.question].round for a in said}
        for first in range(5):
            for final in (None, first, first + 1):
                for through in (None, 5, last - 1, last):
                    found = [h.id for h in store.heard(first, final, through)]
                    assert found == [
                        id
                        for id, r in of.items()
                        if first <= r and (final is None or r <= final) and id <= (through or last)
                    ]
            here = [q for q in asked.values() if q.round == first and q.state == "open"]
            assert sorted(store.asked_items(first)) == sorted(q.item for q in here)
            for purpose in ("calibration", "ahead"):
                mine = [q for q in here if q.purpose == purpose]
                assert sorted(store.asked_items(first, purpose)) == sorted(q.item for q in mine)
                assert store.is_waiting(first, purpose) == any(q.id not in answered for q in mine)
            assert store.is_waiting(first) == any(q.id not in answered for q in here)
            open_ = [q.id for q in asked.values() if q.round >= first and q.state == "open" and q.id not in answered]
            assert [q.id for q in store.open_questions(since=first)] == open_
            for after in open_[:2]:
                rest = [id for id in open_ if id > after]
                assert [q.id for q in store.open_questions(since=first, after=after, limit=3)] == rest[:3]
        people = [a for a in said if asked[a.question].purpose != "holdout"]
        assert store.tally() == (len(said), len(people))
        assert sorted(store.settled(3)) == sorted(a.item for a in people if asked[a.question].round <= 3)
        assert store.settled(3, by_import=True) == []
        assert [a.id for a in store.answers_of("simulated", 4)] == [last, last - 1, last - 2, last - 3]
        assert store.answers_of("nobody", 4) == []


def test_there_are_so_many_stages_and_no_more() -> None:
    refuse_endless(MOST)
    with pytest.raises(ValueError, match="1000001 stages or classes"):
        refuse_endless(MOST + 1)
