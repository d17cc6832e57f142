from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import sqlalchemy as sa

from shortlist.types import ShortlistError
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import HOUR, IDLE, OLDEST, START_LINK, TOUCH, People, Refused
from shortlist.web.people.people_db import Role, Trust

T = TypeVar("T")
QUICK = Passwords(time_cost=1, memory_kib=8, parallelism=1)
HERE, THERE = "192.0.2.1", "198.51.100.7"
DAY = 24 * HOUR
SECRET = "correct horse"


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def people(tmp_path: Path, clock: Clock) -> Iterator[People]:
    with closing(opened(tmp_path, clock)) as people:
        people.add("ana", "owner", SECRET)
        people.add("bo", "annotator", SECRET)
        yield people


def opened(folder: Path, clock: Clock, passwords: Passwords = QUICK) -> People:
    return People(folder, passwords=passwords, clock=clock)


def at_once(calls: list[Callable[[], T]]) -> list[T | ShortlistError]:
    """All in the same moment, each in a thread; what they give or raise."""
    barrier = threading.Barrier(len(calls))

    def start(call: Callable[[], T]) -> T | ShortlistError:
        barrier.wait()
        try:
            return call()
        except ShortlistError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(start, calls))


def refused(people: People, name: str, password: str = "wrong guess", address: str = HERE) -> Refused:
    with pytest.raises(Refused) as caught:
        people.sign_in(name, password, address)
    return caught.value


def is_in(people: People, token: str) -> bool:
    return people.session(token) is not None


# --- the file --------------------------------------------------------------------------------------------------


def test_the_file_is_for_its_owner_only(tmp_path: Path, people: People) -> None:
    assert (tmp_path / "people.db-wal").exists()
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_file_put_back_with_other_rights_is_shut_again(tmp_path: Path, clock: Clock) -> None:
    opened(tmp_path, clock).close()
    (tmp_path / "people.db").chmod(0o644)
    opened(tmp_path, clock).close()
    assert stat.S_IMODE((tmp_path / "people.db").stat().st_mode) == 0o600


def test_everything_is_still_there_after_a_restart(tmp_path: Path, people: People, clock: Clock) -> None:
    session, token = people.sign_in("bo", SECRET, HERE), people.make_token("bo", "script")
    people.save_leases([(1, "bo", clock.now + 60)])
    everyone, csrf = people.everyone(), people.session(session)
    people.close()
    assert [path.name for path in tmp_path.iterdir()] == ["people.db"]
    with closing(opened(tmp_path, clock)) as again:
        assert again.everyone() == everyone
        assert again.session(session) == csrf
        assert again.token(token) == "bo"
        assert again.leases(clock.now) == [(1, "bo", clock.now + 60)]


def test_leftovers_of_a_killed_start_are_cleared(tmp_path: Path, clock: Clock) -> None:
    for name in ("people.db.new", "people.db.new-wal"):
        (tmp_path / name).write_bytes(b"half")
    with closing(opened(tmp_path, clock)) as people:
        assert people.everyone() == []
    assert [path.name for path in tmp_path.iterdir()] == ["people.db"]


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to have a header" * 50])
def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path, clock: Clock, content: bytes) -> None:
    (tmp_path / "people.db").write_bytes(content)
    with pytest.raises(ShortlistError, match=r"people\.db: this database is damaged \(.+\); put back a copy"):
        opened(tmp_path, clock)
    assert (tmp_path / "people.db").read_bytes() == content


def test_a_file_with_a_torn_page_is_refused(tmp_path: Path, people: People, clock: Clock) -> None:
    people.close()
    path = tmp_path / "people.db"
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    path.write_bytes(content)
    with pytest.raises(ShortlistError, match="this database is damaged"):
        opened(tmp_path, clock)


def test_a_table_that_is_gone(tmp_path: Path, people: People, clock: Clock) -> None:
    people.close()
    with sqlite3.connect(tmp_path / "people.db") as c:
        c.execute("DROP TABLE leases")
    c.close()
    with pytest.raises(ShortlistError, match=r"damaged \(no table leases\)"):
        opened(tmp_path, clock)


def test_another_version_is_refused(tmp_path: Path, people: People, clock: Clock) -> None:
    people.close()
    with sqlite3.connect(tmp_path / "people.db") as c:
        c.execute("UPDATE meta SET value = '7' WHERE key = 'schema_version'")
    c.close()
    with pytest.raises(ShortlistError, match="made with schema version 7, this Shortlist reads 1"):
        opened(tmp_path, clock)


def test_no_such_folder(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(ShortlistError, match=r"people\.db: cannot be opened \(No such file or directory\)"):
        opened(tmp_path / "nowhere", clock)


def test_nothing_that_lets_anybody_in_can_be_read_from_the_file(tmp_path: Path, people: People) -> None:
    session, link = people.sign_in("ana", SECRET, HERE), people.start_link("ana")
    invitation, token = people.invite("annotator", "ana"), people.make_token("ana", "my script")
    refused(people, "typed my password here")
    current = people.session(session)
    assert current is not None
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (SECRET, session, link, invitation, token, token[3:], current.csrf, "typed my password here", HERE):
        assert secret.encode() not in kept
    assert b"my script" in kept  # so the bytes are those of the file


def test_leases_do_not_wait_for_the_disk_and_the_rest_does(people: People) -> None:
    with people._light.connect() as light, people._engine.connect() as full:
        assert light.exec_driver_sql("PRAGMA synchronous").scalar() == 1
        assert full.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert full.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_what_may_be_lost_is_leases_and_times_of_last_use(people: People, clock: Clock) -> None:
    """Nothing else is written without waiting for the disk."""
    waited = list[bool]()
    for engine in (people._light, people._engine):
        sa.event.listen(engine, "commit", lambda _, waits=engine is people._engine: waited.append(waits))

    def waits(work: Callable[[], object]) -> bool:
        waited.clear()
        work()
        assert len(set(waited)) == 1
        return waited[0]

    token = people.new_session("ana")
    clock.now += TOUCH
    lost: list[Callable[[], object]] = [
        lambda: people.save_leases([(1, "ana", clock.now + 9)]),
        lambda: people.leases(clock.now),
        lambda: people.session(token),
    ]
    assert [waits(work) for work in lost] == [False] * len(lost)
    control = people.add_control(1, [2, 3], 2, False)
    kept: list[Callable[[], object]] = [
        lambda: people.add("cy", "annotator", SECRET),
        lambda: people.set_password("cy", "another horse"),
        lambda: people.set_role("cy", "owner"),
        lambda: people.set_active("cy", False),
        lambda: people.new_session("ana"),
        lambda: people.take_start_link(people.start_link("ana")),
        lambda: people.invite("annotator", "ana"),
        lambda: people.make_token("ana", "script"),
        lambda: people.answer_control(control, "ana", 2, "label", [1.0], clock.now),
        lambda: people.sign_out(token),
        lambda: refused(people, "bo"),
        lambda: people.sign_in("bo", SECRET, HERE),
    ]
    assert [waits(work) for work in kept] == [True] * len(kept)


def test_somebody_else_holds_the_file(tmp_path: Path, people: People) -> None:
    people._engine.dispose()
    with people._engine.connect() as c:
        c.exec_driver_sql("PRAGMA busy_timeout=10")
    other = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ShortlistError, match=r"people\.db: cannot be written \(database is locked\)"):
        people.sign_out("any")
    other.execute("ROLLBACK")
    other.close()
    people.sign_out("any")


# --- accounts --------------------------------------------------------------------------------------------------


def test_a_new_account(people: People, clock: Clock) -> None:
    clock.now += 5
    added = people.add("  Zoë Ruiz ", "annotator")
    assert (added.name, added.role, added.active, added.has_password) == ("Zoë Ruiz", "annotator", True, False)
    assert added.added_at == clock.now
    assert people.person("zoë ruiz") == added
    assert [p.name for p in people.everyone()] == ["ana", "bo", "Zoë Ruiz"]
    assert people.person("nobody") is None


@pytest.mark.parametrize("name", ["", "   ", "a" * 65, "a\nb", "a\x00b", "a\u200bb", "\ud800", "a\u202eb"])
def test_names_that_will_not_do(people: People, name: str) -> None:
    with pytest.raises(ShortlistError, match=r"^name: .* will not do; take 1 to 64 printable characters"):
        people.add(name, "annotator")


@pytest.mark.parametrize("name", ["ana", "ANA", " Ana", "ａｎａ"])
def test_a_name_is_taken_in_any_case(people: People, name: str) -> None:
    with pytest.raises(ShortlistError, match="is taken; choose another name"):
        people.add(name, "annotator")


def test_one_name_spelt_in_two_ways(people: People) -> None:
    people.add("Jos\u00e9", "annotator")
    with pytest.raises(ShortlistError, match="is taken"):
        people.add("JOSE\u0301", "annotator")


def test_a_name_of_sql_is_a_name(people: People) -> None:
    people.add("x'; DROP TABLE people; --", "annotator", SECRET)
    assert people.session(people.sign_in("x'; DROP TABLE people; --", SECRET, HERE)) is not None
    assert len(people.everyone()) == 3


def test_a_role_that_there_is_not(people: People) -> None:
    role: Role = "admin"  # type: ignore[assignment]
    for call in (
        lambda: people.add("cy", role),
        lambda: people.set_role("bo", role),
        lambda: people.invite(role, "ana"),
    ):
        with pytest.raises(ShortlistError, match="role: 'admin' is none; take owner or annotator"):
            call()


def test_a_bad_password_makes_no_account(people: People) -> None:
    with pytest.raises(ShortlistError, match="at least 8"):
        people.add("cy", "annotator", "short")
    assert people.person("cy") is None


def test_nobody_of_that_name(people: People) -> None:
    calls: list[Callable[[], object]] = [
        lambda: people.set_password("cy", SECRET),
        lambda: people.set_role("cy", "owner"),
        lambda: people.set_active("cy", False),
        lambda: people.start_link("cy"),
        lambda: people.invite("annotator", "cy"),
        lambda: people.make_token("cy", "x"),
        lambda: people.revoke_token(1, "\ud800"),
    ]
    for call in calls:
        with pytest.raises(ShortlistError, match="there is no person called"):
            call()


def test_the_last_active_owner_stays(people: People) -> None:
    people.add("cy", "owner")
    people.set_active("cy", False)
    session = people.sign_in("ana", SECRET, HERE)
    for call in (partial(people.set_active, "Ana", False), partial(people.set_role, "ana", "annotator")):
        with pytest.raises(ShortlistError, match="ana is the only active owner; make another person one first"):
            call()
    assert is_in(people, session)
    people.set_active("cy", True)
    people.set_role("ana", "annotator")
    assert [p.name for p in people.everyone() if p.role == "owner"] == ["cy"]


@pytest.mark.parametrize("_", range(5))
def test_two_owners_cannot_remove_each_other(people: People, _: int) -> None:
    people.set_role("bo", "owner")
    told = at_once([lambda: people.set_active("ana", False), lambda: people.set_role("bo", "annotator")])
    assert sum(isinstance(t, ShortlistError) for t in told) == 1
    assert sum(p.role == "owner" and p.active for p in people.everyone()) == 1


def test_one_name_wanted_by_many(people: People) -> None:
    told = at_once([lambda: people.add("cy", "annotator") for _ in range(8)])
    assert sum(isinstance(t, ShortlistError) for t in told) == 7


# --- signing in ------------------------------------------------------------------------------------------------


def test_signing_in(people: People) -> None:
    session = people.session(people.sign_in(" ANA ", SECRET, HERE))
    assert session is not None
    assert (session.person.name, session.person.role) == ("ana", "owner")


def test_every_refusal_reads_the_same(people: People) -> None:
    people.add("cy", "annotator")
    people.add("di", "annotator", SECRET)
    people.set_active("di", False)
    told = [refused(people, "ana"), refused(people, "nobody"), refused(people, "cy"), refused(people, "di", SECRET)]
    assert {str(t) for t in told} == {"sign in: the name or the password is wrong"}
    assert {t.retry_after for t in told} == {0}


@dataclass
class Watched(Passwords):
    seen: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(time_cost=1, memory_kib=8, parallelism=1)

    def verify(self, kept: str | None, password: str) -> bool:
        self.seen.append(kept is not None)
        return super().verify(kept, password)


def test_a_name_that_is_not_there_costs_a_verification_too(tmp_path: Path, clock: Clock) -> None:
    passwords = Watched()
    with closing(opened(tmp_path, clock, passwords)) as people:
        people.add("ana", "owner", SECRET)
        for i, name in enumerate(("ana", "nobody", "", "a" * 5000, "\ud800")):
            refused(people, name, address=f"192.0.2.{i}")
    assert passwords.seen == [True, False, False, False, False]


def waits(people: People, clock: Clock, tries: int, name: str = "bo") -> list[float]:
    """Of so many wrong tries, each made as soon as it may be."""
    told = []
    for _ in range(tries):
        told.append(refused(people, name).retry_after)
        clock.now += told[-1]
    return told


@pytest.mark.parametrize("name", ["bo", "nobody"])
def test_guessing_is_slowed(people: People, clock: Clock, name: str) -> None:
    assert waits(people, clock, 17, name) == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]


def test_who_must_wait_is_not_even_heard(people: People, clock: Clock) -> None:
    waits(people, clock, 7)
    assert refused(people, "bo").retry_after == 8  # the eighth
    clock.now += 3
    for _ in range(3):
        told = refused(people, "bo", SECRET)
        assert told.retry_after == 5
        assert str(told) == "sign in: too many wrong tries; wait 5 s and try again"
    clock.now += 5
    assert is_in(people, people.sign_in("bo", SECRET, HERE))


def test_an_account_is_guarded_from_all_addresses(people: People) -> None:
    for i in range(5):
        refused(people, "bo", address=f"192.0.2.{i}")
    assert refused(people, "BO", SECRET, THERE).retry_after == 1
    assert is_in(people, people.sign_in("ana", SECRET, THERE))


def test_an_address_is_slowed_over_all_accounts(people: People) -> None:
    for i in range(5):
        refused(people, f"guess {i}")
    assert refused(people, "ana", SECRET).retry_after == 1
    assert is_in(people, people.sign_in("ana", SECRET, THERE))


def test_one_subscriber_has_many_addresses(people: People) -> None:
    for i in range(5):
        refused(people, f"guess {i}", address=f"2001:db8:0:7::{i:x}")
    assert refused(people, "ana", SECRET, "2001:db8:0:7:ffff::1").retry_after == 1
    assert is_in(people, people.sign_in("ana", SECRET, "2001:db8:0:8::1"))


def test_one_address_written_in_two_ways(people: People) -> None:
    for i in range(5):
        refused(people, f"guess {i}", address="::ffff:192.0.2.1" if i % 2 else HERE)
    assert refused(people, "ana", SECRET).retry_after == 1


def test_success_clears_the_accounts_count(people: People, clock: Clock) -> None:
    for _ in range(3):
        assert waits(people, clock, 4) == [0, 0, 0, 0]
        people.sign_in("bo", SECRET, HERE)


def test_an_account_of_ones_own_does_not_clear_the_address(people: People, clock: Clock) -> None:
    for i in range(4):
        refused(people, f"guess {i}")
        people.sign_in("bo", SECRET, HERE)
    assert refused(people, "ana").retry_after == 1
    clock.now += 1
    people.sign_in("bo", SECRET, HERE)
    assert refused(people, "ana").retry_after == 2


def test_an_owner_who_shows_up_elsewhere_does_not_clear_the_guessers_address(people: People) -> None:
    for _ in range(4):
        refused(people, "ana")
    people.sign_in("ana", SECRET, THERE)
    assert refused(people, "bo").retry_after == 1


def test_a_restart_does_not_help(tmp_path: Path, people: People, clock: Clock) -> None:
    waits(people, clock, 9)
    assert refused(people, "bo").retry_after == 32
    people.close()
    with closing(opened(tmp_path, clock)) as again:
        assert refused(again, "bo", SECRET).retry_after == 32
        clock.now += 32
        assert refused(again, "bo").retry_after == 64


def test_a_day_later_it_is_forgotten(people: People, clock: Clock) -> None:
    waits(people, clock, 20)
    clock.now += DAY
    assert waits(people, clock, 5) == [0, 0, 0, 0, 1]


def test_a_clock_put_back_locks_nobody_out(people: People, clock: Clock) -> None:
    waits(people, clock, 6)
    clock.now -= 10 * DAY
    assert refused(people, "bo", SECRET).retry_after == 2


def test_guesses_sent_all_at_once_are_counted_one_by_one(tmp_path: Path, clock: Clock) -> None:
    passwords = Watched()
    with closing(opened(tmp_path, clock, passwords)) as people:
        people.add("ana", "owner", SECRET)
        told = at_once([partial(people.sign_in, "ana", f"guess number {i}", HERE) for i in range(20)])
    assert all(isinstance(t, Refused) for t in told)
    assert len(passwords.seen) == 5


def test_guesses_that_wait_for_their_turn_are_looked_at_again(tmp_path: Path, clock: Clock) -> None:
    passwords, let_past = Watched(), threading.Semaphore(0)

    class Looking(People):
        def _refuse_waiting(self, account: bytes, source: bytes) -> None:
            super()._refuse_waiting(account, source)
            let_past.release()

    with closing(Looking(tmp_path, passwords=passwords, clock=clock)) as people, ThreadPoolExecutor(12) as pool:
        people.add("ana", "owner", SECRET)
        with people._guessing:  # nobody has been refused, for nobody was verified
            told = [pool.submit(refused, people, "ana", f"guess number {i}") for i in range(12)]
            assert all(let_past.acquire(timeout=60) for _ in told)
        assert sum(one.result(60).retry_after == 0 for one in told) == 4
    assert len(passwords.seen) == 5


def test_who_must_wait_is_told_so_while_others_are_verified(people: People, clock: Clock) -> None:
    waits(people, clock, 5)
    refused(people, "bo")
    with ThreadPoolExecutor(1) as pool, people._guessing:
        told = pool.submit(refused, people, "bo")
        assert told.result(timeout=60).retry_after == 2


def test_many_people_signing_in_from_one_office_at_once(people: People) -> None:
    names = [f"person {i}" for i in range(12)]
    for name in names:
        people.add(name, "annotator", SECRET)
    told = at_once([partial(people.sign_in, name, SECRET, HERE) for name in names])
    assert len({t for t in told if isinstance(t, str)}) == 12


def test_a_new_password_lets_in_who_was_locked_out(people: People, clock: Clock) -> None:
    waits(people, clock, 9)
    refused(people, "bo")
    people.set_password("bo", "another horse")
    assert is_in(people, people.sign_in("bo", "another horse", THERE))
    refused(people, "bo", SECRET, THERE)


def test_a_hash_that_is_strong_enough_stays(people: People) -> None:
    before = kept_hash(people)
    people.sign_in("ana", SECRET, HERE)
    assert kept_hash(people) == before


def kept_hash(people: People) -> object:
    with people._engine.connect() as c:
        return c.exec_driver_sql("SELECT password FROM people WHERE name = 'ana'").scalar_one()


def test_a_hash_of_weaker_parameters_is_renewed_at_sign_in(tmp_path: Path, people: People, clock: Clock) -> None:
    people.close()
    stronger = Passwords(time_cost=2, memory_kib=16, parallelism=1)

    def kept() -> str:
        c = sqlite3.connect(tmp_path / "people.db")
        (found,) = c.execute("SELECT password FROM people WHERE name = 'bo'").fetchone()
        c.close()
        return str(found)

    with closing(opened(tmp_path, clock, stronger)) as again:
        refused(again, "bo")
        assert stronger.needs_rehash(kept())
        session = again.sign_in("bo", SECRET, HERE)
        assert not stronger.needs_rehash(kept())
        assert is_in(again, session)
        again.sign_in("bo", SECRET, HERE)


@dataclass
class Meanwhile(Watched):
    """Something happens while a password is being verified."""

    then: Callable[[], None] = print

    def verify(self, kept: str | None, password: str) -> bool:
        found = super().verify(kept, password)
        self.then()
        return found


@pytest.mark.parametrize("what", ["password", "active"])
def test_shut_out_while_the_password_was_verified(tmp_path: Path, clock: Clock, what: str) -> None:
    passwords = Meanwhile()
    with closing(opened(tmp_path, clock, passwords)) as people:
        people.add("bo", "annotator", SECRET)
        if what == "password":
            passwords.then = lambda: people.set_password("bo", "another horse")
        else:
            passwords.then = lambda: people.set_active("bo", False)
        refused(people, "bo", SECRET)


# --- sessions --------------------------------------------------------------------------------------------------


def test_every_session_is_new(people: People) -> None:
    tokens = [people.sign_in("ana", SECRET, HERE) for _ in range(3)]
    sessions = [people.session(token) for token in tokens]
    assert len(set(tokens)) == 3
    assert len({s.csrf for s in sessions if s is not None}) == 3
    assert all(len(token) == 43 for token in tokens)  # 256 bits


def test_csrf_stays_the_same_through_a_session(people: People, clock: Clock) -> None:
    token = people.sign_in("ana", SECRET, HERE)
    before = people.session(token)
    clock.now += HOUR
    after = people.session(token)
    assert before is not None
    assert after is not None
    assert before.csrf == after.csrf
    assert token not in before.csrf


@pytest.mark.parametrize("token", ["", "nonsense", "\ud800", "' OR 1=1 --", "a" * 100_000])
def test_no_session(people: People, token: str) -> None:
    people.sign_in("ana", SECRET, HERE)
    assert people.session(token) is None
    assert people.token(token) is None
    assert people.invitation(token) is None
    assert people.take_start_link(token) is None
    people.sign_out(token)


def test_a_session_ends_after_twelve_hours_without_use(people: People, clock: Clock) -> None:
    token, other = people.sign_in("ana", SECRET, HERE), people.sign_in("ana", SECRET, HERE)
    clock.now += IDLE - 1
    assert is_in(people, token)
    clock.now += 1
    assert not is_in(people, other)
    clock.now += IDLE - 2
    assert is_in(people, token)


def test_a_session_ends_after_fourteen_days_in_any_case(people: People, clock: Clock) -> None:
    token = people.sign_in("ana", SECRET, HERE)
    end = clock.now + OLDEST
    while clock.now + 11 * HOUR < end:
        clock.now += 11 * HOUR
        assert is_in(people, token)
    clock.now = end - 1
    assert is_in(people, token)
    clock.now = end
    assert not is_in(people, token)


def test_last_use_is_noted_once_a_minute(people: People, clock: Clock) -> None:
    token, start = people.sign_in("ana", SECRET, HERE), clock.now

    def used() -> float:
        session = people.session(token)
        assert session is not None
        return session.used_at - start

    clock.now = start + TOUCH - 1
    assert used() == 0
    clock.now = start + TOUCH
    assert used() == TOUCH
    clock.now = start + TOUCH + 30
    assert used() == TOUCH


def test_expired_sessions_are_cleared_away(tmp_path: Path, people: People, clock: Clock) -> None:
    for _ in range(3):
        people.sign_in("ana", SECRET, HERE)
    clock.now += IDLE
    people.sign_in("bo", SECRET, HERE)
    c = sqlite3.connect(tmp_path / "people.db")
    assert c.execute("SELECT person FROM sessions").fetchall() == [("bo",)]
    c.close()


def test_signing_out_ends_one_session(people: People) -> None:
    one, two = people.sign_in("ana", SECRET, HERE), people.sign_in("ana", SECRET, THERE)
    people.sign_out(one)
    assert not is_in(people, one)
    assert is_in(people, two)


ENDINGS: dict[str, Callable[[People], None]] = {
    "password": lambda people: people.set_password("BO", SECRET),
    "role": lambda people: people.set_role("BO", "owner"),
    "inactive": lambda people: people.set_active("BO", False),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_ends_all_of_a_persons_sessions(people: People, ending: str) -> None:
    mine, others = [people.sign_in("bo", SECRET, HERE) for _ in range(2)], people.sign_in("ana", SECRET, HERE)
    ENDINGS[ending](people)
    assert [is_in(people, token) for token in mine] == [False, False]
    assert is_in(people, others)


def test_nothing_changed_ends_nothing(people: People) -> None:
    token = people.sign_in("bo", SECRET, HERE)
    people.set_role("bo", "annotator")
    people.set_active("bo", True)
    assert is_in(people, token)


def test_who_comes_back_has_to_sign_in_again(people: People) -> None:
    session, token = people.sign_in("bo", SECRET, HERE), people.make_token("bo", "script")
    people.set_active("bo", False)
    refused(people, "bo", SECRET)
    people.set_active("bo", True)
    assert not is_in(people, session)
    assert people.token(token) is None
    assert is_in(people, people.sign_in("bo", SECRET, HERE))


# --- start links -----------------------------------------------------------------------------------------------


def test_a_start_link_works_once(people: People) -> None:
    link = people.start_link("ana")
    token = people.take_start_link(link)
    assert token is not None
    session = people.session(token)
    assert session is not None
    assert session.person.name == "ana"
    assert people.take_start_link(link) is None


def test_a_start_link_for_an_owner_without_a_password(tmp_path: Path, clock: Clock) -> None:
    with closing(opened(tmp_path, clock)) as people:
        people.add("me", "owner")
        token = people.take_start_link(people.start_link("me"))
        assert token is not None
        assert is_in(people, token)


def test_a_start_link_expires(people: People, clock: Clock) -> None:
    first, second = people.start_link("ana"), people.start_link("ana")
    clock.now += START_LINK - 1
    assert people.take_start_link(first) is not None
    clock.now += 1
    assert people.take_start_link(second) is None


def test_start_links_are_for_active_owners(people: People) -> None:
    with pytest.raises(ShortlistError, match="start link: bo is no active owner"):
        people.start_link("bo")


@pytest.mark.parametrize("change", ["role", "active", "password"])
def test_a_start_link_goes_with_what_it_opened(people: People, change: str) -> None:
    people.set_role("bo", "owner")
    link = people.start_link("bo")
    if change == "role":
        people.set_role("bo", "annotator")
    elif change == "active":
        people.set_active("bo", False)
    else:
        people.set_password("bo", "another horse")
    assert people.take_start_link(link) is None


def test_two_take_one_start_link(people: People) -> None:
    link = people.start_link("ana")
    told = at_once([lambda: people.take_start_link(link) for _ in range(6)])
    assert sum(t is not None for t in told) == 1


# --- invitations -----------------------------------------------------------------------------------------------


def test_an_invitation_is_accepted_once(people: People, clock: Clock) -> None:
    token = people.invite("annotator", "ana")
    invitation = people.invitation(token)
    assert invitation is not None
    assert (invitation.role, invitation.by, invitation.expires_at) == ("annotator", "ana", clock.now + 72 * HOUR)
    session = people.session(people.accept(token, "cy", SECRET))
    assert session is not None
    assert (session.person.name, session.person.role) == ("cy", "annotator")
    assert is_in(people, people.sign_in("cy", SECRET, HERE))
    assert people.invitation(token) is None
    with pytest.raises(ShortlistError, match="invitation: used, taken back or expired; ask for a new one"):
        people.accept(token, "di", SECRET)
    assert people.person("di") is None
    assert [i.used_by for i in people.invitations()] == ["cy"]


@pytest.mark.parametrize("_", range(5))
def test_two_accept_the_same_invitation(people: People, _: int) -> None:
    token = people.invite("annotator", "ana")
    told = at_once([partial(people.accept, token, f"newcomer {i}", SECRET) for i in range(4)])
    assert sum(isinstance(t, str) for t in told) == 1
    assert len(people.everyone()) == 3
    (invitation,) = people.invitations()
    assert invitation.used_by == people.everyone()[-1].name


def test_an_invitation_expires(people: People, clock: Clock) -> None:
    token = people.invite("annotator", "ana", hours=1)
    clock.now += HOUR
    assert people.invitation(token) is None
    with pytest.raises(ShortlistError, match="expired"):
        people.accept(token, "cy", SECRET)
    assert [i.expired for i in people.invitations()] == [True]


def test_an_invitation_is_taken_back(people: People) -> None:
    token, other = people.invite("annotator", "ana"), people.invite("owner", "ana")
    newest, oldest = people.invitations()
    assert (newest.role, oldest.role) == ("owner", "annotator")
    people.revoke_invitation(oldest.id)
    assert people.invitation(token) is None
    with pytest.raises(ShortlistError, match="taken back"):
        people.accept(token, "cy", SECRET)
    assert people.invitation(other) is not None


def test_a_used_invitation_cannot_be_taken_back(people: People) -> None:
    people.accept(people.invite("annotator", "ana"), "cy", SECRET)
    for id in (people.invitations()[0].id, 99):
        with pytest.raises(ShortlistError, match=f"invitation {id}: not there, or used already"):
            people.revoke_invitation(id)


@pytest.mark.parametrize(("name", "password"), [("ana", SECRET), ("", SECRET), ("cy", "short")])
def test_what_goes_wrong_does_not_use_it_up(people: People, name: str, password: str) -> None:
    token = people.invite("annotator", "ana")
    with pytest.raises(ShortlistError, match=r"is taken|will not do|too short"):
        people.accept(token, name, password)
    assert is_in(people, people.accept(token, "cy", SECRET))


def test_only_active_owners_invite(people: People) -> None:
    with pytest.raises(ShortlistError, match="invitation: bo is no active owner"):
        people.invite("annotator", "bo")


@pytest.mark.parametrize("hours", [0, -1, float("nan"), float("inf"), 9000])
def test_hours_that_will_not_do(people: People, hours: float) -> None:
    with pytest.raises(ShortlistError, match="hours will not do"):
        people.invite("annotator", "ana", hours)


@pytest.mark.parametrize("change", ["role", "active"])
def test_who_is_no_owner_any_more_leaves_no_way_back_in(people: People, change: str) -> None:
    people.set_role("bo", "owner")
    token, mine = people.invite("owner", "bo"), people.invite("annotator", "ana")
    if change == "role":
        people.set_role("bo", "annotator")
    else:
        people.set_active("bo", False)
    assert people.invitation(token) is None
    assert people.invitation(mine) is not None


# --- tokens for programs ---------------------------------------------------------------------------------------


def test_a_token_acts_for_its_person(people: People, clock: Clock) -> None:
    text = people.make_token("BO", " nightly export ")
    assert text.startswith("sl_")
    assert people.token(text) == "bo"
    assert people.token(text[:-1]) is None
    assert people.token(text[3:]) is None
    assert people.session(text) is None
    (token,) = people.tokens("Bo")
    assert (token.person, token.label, token.made_at) == ("bo", "nightly export", clock.now)
    assert people.tokens("ana") == []


def test_a_session_is_no_token(people: People) -> None:
    assert people.token(people.sign_in("ana", SECRET, HERE)) is None


def test_a_token_is_taken_back_by_its_person_only(people: People) -> None:
    text = people.make_token("bo", "script")
    (token,) = people.tokens("bo")
    with pytest.raises(ShortlistError, match=f"token {token.id}: ana has no such token"):
        people.revoke_token(token.id, "ana")
    assert people.token(text) == "bo"
    people.revoke_token(token.id, "bo")
    assert people.token(text) is None
    with pytest.raises(ShortlistError, match="has no such token"):
        people.revoke_token(token.id, "bo")


def test_no_token_for_who_is_not_active(people: People) -> None:
    text = people.make_token("bo", "script")
    people.set_active("bo", False)
    assert people.token(text) is None
    with pytest.raises(ShortlistError, match="token: bo is not active"):
        people.make_token("bo", "script")


def test_a_label_that_will_not_do(people: People) -> None:
    with pytest.raises(ShortlistError, match="label: '' will not do"):
        people.make_token("bo", "")


# --- leases ----------------------------------------------------------------------------------------------------


def test_leases_are_kept_prolonged_and_ended(people: People) -> None:
    people.save_leases([(3, "bo", 100.0), (1, "ana", 100.0), (1, "bo", 90.0)])
    people.save_leases([(1, "ana", 200.0)])
    people.save_leases([])
    assert people.leases(50) == [(1, "ana", 200.0), (1, "bo", 90.0), (3, "bo", 100.0)]
    people.save_leases([(3, "bo", 0.0), (1, "bo", 0.0), (77, "bo", 0.0)])
    assert people.leases(50) == [(1, "ana", 200.0)]


def test_leases_expire(people: People) -> None:
    people.save_leases([(1, "ana", 100.0), (2, "ana", 101.0)])
    assert people.leases(100) == [(2, "ana", 101.0)]
    assert people.leases(0) == [(2, "ana", 101.0)]  # it was cleared away


def test_many_threads_keep_leases(people: People) -> None:
    def work(person: int) -> None:
        for i in range(20):
            people.save_leases([(100 * person + i, f"person {person}", 1e9)])
            people.save_leases([(100 * person + i - 1, f"person {person}", -1.0)])

    assert at_once([partial(work, p) for p in range(8)]) == [None] * 8
    assert people.leases(0) == [(100 * p + 19, f"person {p}", 1e9) for p in range(8)]


# --- control questions -----------------------------------------------------------------------------------------


def test_a_control_question_comes_back_as_it_was(people: People) -> None:
    id = people.add_control(412, [3, 8, 1], 8, wrong=False)
    assert people.control(id) == (id, 412, [3, 8, 1], 8, False)
    assert people.control(id + 1) is None


@pytest.mark.parametrize(("truth", "wrong", "must"), [(3, True, "lack"), (4, False, "hold")])
def test_a_list_that_does_not_fit(people: People, truth: int, wrong: bool, must: str) -> None:
    with pytest.raises(ShortlistError, match=f"its list must {must} the truth, class {truth}"):
        people.add_control(412, [3, 8, 1], truth, wrong)


def test_items_of_control_questions_that_a_person_has_answered(people: People) -> None:
    one, two = (people.add_control(item, [1, 2], 2, wrong=False) for item in (10, 11))
    people.answer_control(one, "ana", 2, "label", [1.0], 5.0)
    people.answer_control(two, "ana", None, "skip", [1.0], 6.0)
    people.answer_control(two, "bo", 1, "label", [1.0], 7.0)
    assert [people.control_items(person) for person in ("ana", "bo", "cy")] == [{10, 11}, {11}, set()]


def test_a_control_question_is_answered_once(people: People) -> None:
    id = people.add_control(10, [1, 2], 2, wrong=False)
    told = at_once([partial(people.answer_control, id, "ana", s, "label", [0.5], 1.0) for s in (1, 2, 3)])
    assert told.count(None) == 1
    assert all("answered by ana before; go on" in str(t) for t in told if t is not None)
    kept = people.control_answer(id, "ana")
    assert kept is not None
    assert told[(kept.said or 0) - 1] is None
    with pytest.raises(ShortlistError, match="control question 99: not there"):
        people.answer_control(99, "ana", 1, "label", [0.5], 1.0)


@pytest.mark.parametrize(("said", "kind"), [(None, "label"), (3, "none"), (3, "skip"), (None, "maybe")])
def test_an_answer_that_is_none(people: People, said: int | None, kind: str) -> None:
    id = people.add_control(10, [1, 2], 2, wrong=False)
    with pytest.raises(ShortlistError, match=f"an answer '{kind}' with class {said} is none"):
        people.answer_control(id, "ana", said, kind, [0.5], 1.0)  # type: ignore[arg-type]


def test_what_a_person_has_answered(people: People) -> None:
    one, two = people.add_control(10, [1, 2], 2, wrong=False), people.add_control(11, [1, 2], 5, wrong=True)
    people.answer_control(two, "ana", 5, "label", [1.25, 3.5], 20.0)
    people.answer_control(one, "ana", None, "none", [2.0], 30.0)
    assert people.control_answer(two, "ana") == (two, "ana", 5, "label", [1.25, 3.5], 20.0)
    assert people.control_answer(one, "ana") == (one, "ana", None, "none", [2.0], 30.0)
    assert people.control_answer(one, "bo") is None


def test_trust(people: People) -> None:
    wrong = [people.add_control(i, [1, 2], 5, wrong=True) for i in range(4)]
    right = [people.add_control(i, [1, 2], 2, wrong=False) for i in range(3)]
    people.answer_control(wrong[0], "ana", 1, "label", [1.0], 0.0)  # took what the list offered
    people.answer_control(wrong[1], "ana", 5, "label", [1.0, 2.0], 0.0)  # found the truth elsewhere
    people.answer_control(wrong[2], "ana", 9, "label", [1.0, 2.0], 0.0)  # wrong, but not the list's doing
    people.answer_control(wrong[3], "ana", None, "none", [1.0, 2.0], 0.0)
    people.answer_control(right[0], "ana", 2, "label", [1.0], 0.0)
    people.answer_control(right[1], "ana", 1, "label", [1.0], 0.0)
    people.answer_control(right[2], "ana", None, "none", [1.0, 1.0], 0.0)
    people.answer_control(wrong[0], "bo", 2, "label", [1.0], 0.0)
    people.answer_control(wrong[1], "bo", None, "skip", [1.0], 0.0)
    people.answer_control(right[0], "bo", None, "unreadable", [1.0], 0.0)
    assert people.trust() == {"ana": Trust(4, 1, 3, 1), "bo": Trust(1, 1, 0, 0)}


# --- many threads ----------------------------------------------------------------------------------------------


def test_reading_and_writing_from_many_threads(people: People, clock: Clock) -> None:
    tokens = [people.sign_in("ana", SECRET, HERE) for _ in range(4)]

    def work(token: str) -> int:
        for i in range(15):
            clock.now += TOUCH  # every look is noted
            assert people.session(token) is not None
            people.save_leases([(i, "ana", clock.now + 60)])
            people.make_token("bo", f"token {i}")
        return 1

    assert at_once([partial(work, t) for t in tokens]) == [1] * 4
    assert len(people.tokens("bo")) == 60


# --- names that mislead ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["import", "Import", "dataset", "ＤＡＴＡＳＥＴ"])
def test_nobody_is_called_as_labels_are_that_no_person_gave(tmp_path: Path, name: str) -> None:
    with closing(People(tmp_path, passwords=Passwords(time_cost=1, memory_kib=8, parallelism=1))) as people:
        with pytest.raises(ShortlistError, match="stands for labels that no person gave; choose another name"):
            people.add(name, "annotator")
        assert people.everyone() == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("ana", "\u0430na"),
        ("Ivan", "lvan"),
        ("lia 10", "Iia 1O"),
        ("pay", "\u0440\u0430\u0443"),
        ("ana", "an\u034fa"),
        ("a b", "a  b"),
    ],
)
def test_nobody_looks_like_another(tmp_path: Path, name: str, other: str) -> None:
    with closing(People(tmp_path, passwords=Passwords(time_cost=1, memory_kib=8, parallelism=1))) as people:
        people.add(name, "annotator")
        with pytest.raises(ShortlistError, match=f"looks like {name}; choose another name"):
            people.add(other, "annotator")
        for like in ("Анна", "José", "Jose", "Σοφία", "anna"):
            people.add(like, "annotator")


def test_a_lease_that_ends_now_is_over(people: People) -> None:
    people.save_leases([(1, "ana", 100.0), (2, "ana", 100.5)])
    assert people.leases(100.0) == [(2, "ana", 100.5)]
    assert people.leases(0.0) == [(2, "ana", 100.5)]  # the other is gone for good
