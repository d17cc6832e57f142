"""Who may label and how they get in: accounts, passwords, sessions, links, invitations, tokens for programs.

All of it is one SQLite file, people.db, beside the campaign's own. A change of a password, a role or a session is on
the disk before the call returns; leases and times of last use may be lost in a power cut.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import sqlalchemy as sa

from shortlist.types import ShortlistError
from shortlist.web.people.passwords import Passwords, count_failure, forgive, network, wait_left
from shortlist.web.people.people_db import (
    PeopleFile,
    Person,
    Role,
    Session,
    invitations,
    people,
    sessions,
    start_links,
    tokens,
)

HOUR = 3600.0
IDLE, OLDEST = 12 * HOUR, 14 * 24 * HOUR  # how long a session lives without use, and in any case
TOUCH = 60.0  # a session's last use is noted at most this often
START_LINK = 24 * HOUR
LONGEST_INVITATION = 365 * 24  # hours
LONGEST_NAME = 64
NOBODY = {"import", "dataset"}  # whom answers name as their person where a file or the dataset has given them
ALIKE = str.maketrans(
    "АВЕЗКМНОРСТУХІЅЈавекмнорстухіѕјԁһӏԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορτυχıɑɡIl1|0",
    "abe3kmhopctyxlsjabekmhopctyxisjdhlqwabezhlkmnoptyxaikvoptuxiagllllo",
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe0e\ufe0f",  # not seen, though Unicode calls them printable
)
NO_INVITATION = "invitation: used, taken back or expired; ask for a new one"

_PERSON: sa.Select[Any] = sa.select(
    people.c.name, people.c.role, people.c.active, people.c.password.is_not(None).label("has"), people.c.added_at
)


class Refused(ShortlistError):
    """Not signed in. The sentence never tells whether there is such a name."""

    def __init__(self, sentence: str, retry_after: float) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after  # seconds


class People(PeopleFile):
    """The people of the campaign in a folder; people.db is made where there is none. Any thread may call."""

    def __init__(
        self, folder: Path, *, passwords: Passwords | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(folder, clock)
        self._passwords = passwords or Passwords()
        self._guessing = threading.Lock()

    @property
    def cookie(self) -> str:
        """Its name, also another for a copied campaign: a browser sends one port's cookies to all others."""
        return f"shortlist_session_{self._sealed(f'cookie {self.path.absolute()}')[:8]}"

    def _sealed(self, text: str) -> str:
        return hmac.new(self.secret.encode(), text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()

    # --- accounts ----------------------------------------------------------------------------------------------

    def add(self, name: str, role: Role, password: str | None = None) -> Person:
        """A new account; without a password only a start link opens it."""
        name, role = _line(name, "name"), _role(role)
        hashed = None if password is None else self._passwords.hash(password)
        with self._writing() as c:
            return _add(c, name, role, hashed, self._clock())

    def person(self, name: str) -> Person | None:
        row = self._first(_PERSON.where(people.c.folded == _folded(name)))
        return None if row is None else Person(*row)

    def everyone(self) -> list[Person]:
        return [Person(*row) for row in self._all(_PERSON.order_by(people.c.folded))]

    def set_password(self, name: str, password: str) -> None:
        """Ends the person's sessions."""
        hashed = self._passwords.hash(password)
        with self._writing() as c:
            person = _known(c, name)
            c.execute(people.update().where(people.c.name == person.name).values(password=hashed))
            forgive(c, _digest(_folded(name)))
            _end_sessions(c, person.name)

    def set_role(self, name: str, role: Role) -> None:
        """Ends the person's sessions, and takes back invitations made as an owner."""
        role = _role(role)
        with self._writing() as c:
            person = _known(c, name)
            if person.role != role:
                _change(c, person, role=role)

    def set_active(self, name: str, active: bool) -> None:
        """Who is made inactive is signed out, and loses tokens and open invitations for good."""
        with self._writing() as c:
            person = _known(c, name)
            if person.active == active:
                return
            _change(c, person, active=active)
            c.execute(tokens.delete().where(tokens.c.person == person.name))

    # --- signing in --------------------------------------------------------------------------------------------

    def mark(self, name: str) -> str:
        """For a browser that this person has signed in from: whoever guesses elsewhere does not keep it waiting."""
        drawn = secrets.token_urlsafe(16)
        return f"{drawn}.{self._sealed(f'{drawn} {_folded(name)}')}"

    def _has_mark(self, name: str, mark: str) -> bool:
        drawn, _, seal = mark.partition(".")
        return hmac.compare_digest(seal.encode(), self._sealed(f"{drawn} {_folded(name)}").encode())

    def sign_in(self, name: str, password: str, address: str, mark: str = "") -> str:
        """A new session's token, or Refused. Tries from a marked browser are counted for themselves."""
        account, source = _digest(_folded(name)), _digest(network(address))
        if self._has_mark(name, mark):
            account = source = _digest(mark)
        self._refuse_waiting(account, source)  # before the lock: a flood of guesses keeps no other person waiting
        with self._guessing:  # and guesses sent all at once are counted one by one
            self._refuse_waiting(account, source)
            known = self._first(sa.select(people.c.password).where(people.c.folded == _folded(name), people.c.active))
            hashed = known and known.password
            matches = self._passwords.verify(hashed, password)  # as slow where there is no hash
            token = self._admit(name, password, hashed, account, source) if matches and hashed is not None else None
            if token is not None:
                return token
            with self._writing() as c:
                count_failure(c, account, source, self._clock())
                wait = wait_left(c, account, source, self._clock())
        raise Refused("sign in: the name or the password is wrong", wait)

    def _refuse_waiting(self, account: bytes, source: bytes) -> None:
        with self._engine.connect() as c:
            wait = wait_left(c, account, source, self._clock())
        if wait > 0:
            raise Refused(f"sign in: too many wrong tries; wait {math.ceil(wait)} s and try again", wait)

    def _admit(self, name: str, password: str, hashed: str, account: bytes, source: bytes) -> str | None:
        """A session, unless the password was changed or the person shut out while it was verified."""
        new = self._passwords.hash(password) if self._passwords.needs_rehash(hashed) else hashed
        mine = (people.c.folded == _folded(name), people.c.password == hashed, people.c.active)
        with self._writing() as c:
            known = c.execute(people.update().where(*mine).values(password=new).returning(people.c.name)).scalar()
            if known is None:
                return None
            forgive(c, _digest(_folded(name)))
            forgive(c, account, source)
            return _start_session(c, known, self._clock())

    def new_session(self, name: str) -> str:
        """A token for a person who has just proved who they are."""
        with self._writing() as c:
            return _start_session(c, _known(c, name).name, self._clock())

    def start_link(self, name: str) -> str:
        """What signs an owner in once, within a day, without a password: for the machine that the server runs on."""
        token, now = secrets.token_urlsafe(32), self._clock()
        with self._writing() as c:
            person = _active_owner(c, name, "start link")
            c.execute(start_links.delete().where(start_links.c.expires_at <= now))
            new = {"digest": _digest(token), "person": person.name, "expires_at": now + START_LINK}
            c.execute(start_links.insert().values(new))
        return token

    def take_start_link(self, token: str) -> str | None:
        """A new session's token, the first time."""
        now = self._clock()
        mine = (start_links.c.digest == _digest(token), start_links.c.expires_at > now)
        with self._writing() as c:
            name = c.execute(start_links.delete().where(*mine).returning(start_links.c.person)).scalar()
            return None if name is None else _start_session(c, name, now)

    # --- sessions ----------------------------------------------------------------------------------------------

    def session(self, token: str) -> Session | None:
        """Whose session this is, while it lasts; to ask is to use it."""
        now, digest = self._clock(), _digest(token)
        mine = (sessions.c.digest == digest, people.c.active, _alive(now))
        row = self._first(_PERSON.add_columns(sessions.c.used_at).join_from(sessions, people).where(*mine))
        if row is None:
            return None
        *person, used_at = row
        if abs(now - used_at) >= TOUCH:
            used_at = now
            with self._writing(durable=False) as c:
                c.execute(sessions.update().where(sessions.c.digest == digest).values(used_at=now))
        return Session(Person(*person), csrf_of(token), used_at)

    def sign_out(self, token: str) -> None:
        with self._writing() as c:
            c.execute(sessions.delete().where(sessions.c.digest == _digest(token)))

    # --- invitations -------------------------------------------------------------------------------------------

    def invite(self, role: Role, by: str, hours: float = 72) -> str:
        """What lets one newcomer make an account of this role."""
        if not 0 < hours <= LONGEST_INVITATION:
            raise ShortlistError(f"invitation: {hours} hours will not do; take more than 0, up to {LONGEST_INVITATION}")
        token, now = secrets.token_urlsafe(32), self._clock()
        new = {"digest": _digest(token), "role": _role(role), "made_at": now, "expires_at": now + hours * HOUR}
        with self._writing() as c:
            owner = _active_owner(c, by, "invitation")
            c.execute(invitations.insert().values(**new, by=owner.name, revoked=False))
        return token

    def invitation(self, token: str) -> Any:
        """The row of one that can still be accepted, or None."""
        return self._first(_open_invitation(token, self._clock()))

    def invitations(self) -> Sequence[Any]:
        """All that were ever made, newest first."""
        expired = (invitations.c.expires_at <= self._clock()).label("expired")
        return self._all(sa.select(*_told(invitations), expired).order_by(invitations.c.id.desc()))

    def accept(self, token: str, name: str, password: str) -> str:
        """A new account, and its first session's token. The invitation is used up only if both are made."""
        if self.invitation(token) is None:  # before the dear part
            raise ShortlistError(NO_INVITATION)
        name, hashed = _line(name, "name"), self._passwords.hash(password)
        now = self._clock()
        with self._writing() as c:
            invitation = c.execute(_open_invitation(token, now)).first()
            if invitation is None:  # another request was faster
                raise ShortlistError(NO_INVITATION)
            person = _add(c, name, invitation.role, hashed, now)
            mine = invitations.c.id == invitation.id
            c.execute(invitations.update().where(mine).values(used_by=person.name))
            return _start_session(c, person.name, now)

    def revoke_invitation(self, id: int) -> None:
        unused = (invitations.c.id == id, invitations.c.used_by.is_(None))
        with self._writing() as c:
            if not c.execute(invitations.update().where(*unused).values(revoked=True)).rowcount:
                raise ShortlistError(f"invitation {id}: not there, or used already; look at the list again")

    # --- tokens for programs -----------------------------------------------------------------------------------

    def make_token(self, person: str, label: str) -> str:
        """Lets a program act for a person. It is shown here and never again."""
        text = "sl_" + secrets.token_urlsafe(32)
        new = {"digest": _digest(text), "label": _line(label, "label"), "made_at": self._clock()}
        with self._writing() as c:
            owner = _known(c, person)
            if not owner.active:
                raise ShortlistError(f"token: {owner.name} is not active; make the account active first")
            c.execute(tokens.insert().values(**new, person=owner.name))
        return text

    def token(self, text: str) -> str | None:
        """The name of the person it acts for."""
        mine = (tokens.c.digest == _digest(text), people.c.active)
        row = self._first(sa.select(people.c.name).join_from(tokens, people).where(*mine))
        return None if row is None else str(row.name)

    def tokens(self, person: str) -> Sequence[Any]:
        """Oldest first."""
        chosen = sa.select(*_told(tokens)).join_from(tokens, people).where(people.c.folded == _folded(person))
        return self._all(chosen.order_by(tokens.c.id))

    def revoke_token(self, id: int, person: str) -> None:
        """Only one's own."""
        with self._writing() as c:
            mine = (tokens.c.id == id, tokens.c.person == _known(c, person).name)
            if not c.execute(tokens.delete().where(*mine)).rowcount:
                raise ShortlistError(f"token {id}: {person} has no such token; look at the list again")


def _told(table: sa.Table) -> list[sa.Column[Any]]:
    """Everything but what lets a person or a program in."""
    return [column for column in table.c if column.name != "digest"]


def _open_invitation(token: str, now: float) -> sa.Select[Any]:
    unused = (invitations.c.used_by.is_(None), ~invitations.c.revoked, invitations.c.expires_at > now)
    return sa.select(invitations).where(invitations.c.digest == _digest(token), *unused)


def _alive(now: float) -> sa.ColumnElement[bool]:
    return sa.and_(sessions.c.used_at > now - IDLE, sessions.c.started_at > now - OLDEST)


# --- inside a transaction --------------------------------------------------------------------------------------


def _find(c: sa.Connection, name: str) -> Person | None:
    row = c.execute(_PERSON.where(people.c.folded == _folded(name))).first()
    return None if row is None else Person(*row)


def _known(c: sa.Connection, name: str) -> Person:
    person = _find(c, name)
    if person is None:
        raise ShortlistError(f"people: there is no person called {name!r}; look at the list of people")
    return person


def _active_owner(c: sa.Connection, name: str, what: str) -> Person:
    person = _known(c, name)
    if person.role != "owner" or not person.active:
        raise ShortlistError(f"{what}: {person.name} is no active owner; ask one who is")
    return person


def _add(c: sa.Connection, name: str, role: Role, password: str | None, now: float) -> Person:
    if _find(c, name) is not None:
        raise ShortlistError(f"people: {name} is taken; choose another name")
    if _folded(name) in NOBODY:
        raise ShortlistError(f"name: {name!r} stands for labels that no person gave; choose another name")
    for other in c.execute(sa.select(people.c.name)).scalars():
        if _looks(other) == _looks(name):
            raise ShortlistError(f"people: {name} looks like {other}; choose another name")
    new = {"name": name, "folded": _folded(name), "role": role, "password": password, "active": True, "added_at": now}
    c.execute(people.insert().values(new))
    return Person(name, role, True, password is not None, now)


def _change(c: sa.Connection, person: Person, **values: Any) -> None:
    """Another role, or shut out, or back again: nothing that was open under the old state goes on."""
    c.execute(people.update().where(people.c.name == person.name).values(**values))
    owners = sa.select(sa.func.count()).select_from(people).where(people.c.role == "owner", people.c.active)
    if person.role == "owner" and person.active and not c.execute(owners).scalar_one():
        raise ShortlistError(f"people: {person.name} is the only active owner; make another person one first")
    unused = (invitations.c.by == person.name, invitations.c.used_by.is_(None))
    c.execute(invitations.update().where(*unused).values(revoked=True))
    _end_sessions(c, person.name)


def _end_sessions(c: sa.Connection, name: str) -> None:
    c.execute(sessions.delete().where(sessions.c.person == name))
    c.execute(start_links.delete().where(start_links.c.person == name))


def _start_session(c: sa.Connection, name: str, now: float) -> str:
    token = secrets.token_urlsafe(32)
    c.execute(sessions.delete().where(~_alive(now)))
    c.execute(sessions.insert().values(digest=_digest(token), person=name, started_at=now, used_at=now))
    return token


# --- words -----------------------------------------------------------------------------------------------------


def _line(text: str, what: str) -> str:
    """A name or a label as it is stored."""
    line = unicodedata.normalize("NFC", text.strip())
    if not 1 <= len(line) <= LONGEST_NAME or not line.isprintable():
        raise ShortlistError(f"{what}: {text[:80]!r} will not do; take 1 to {LONGEST_NAME} printable characters")
    return line


def _role(role: Role) -> Role:
    if role not in get_args(Role):
        raise ShortlistError(f"role: {role!r} is none; take {' or '.join(get_args(Role))}")
    return role


def _folded(name: str) -> str:
    """The same for Ana, ANA and ａｎａ."""
    whole = name.strip()[: 4 * LONGEST_NAME].encode(errors="backslashreplace").decode()  # no half characters
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", whole).casefold())


def _looks(name: str) -> str:
    """The same for names that people take for one another: with letters of other alphabets, or signs that nobody sees.

    >>> _looks("Ivo 10") == _looks("lv\u043e  1\u039f"), _looks("Jose") == _looks("José")
    (True, False)
    """
    seen = unicodedata.normalize("NFKC", name).translate(ALIKE).casefold().translate(ALIKE)
    return " ".join(seen.split())


def _digest(text: str) -> bytes:
    """Enough for what is drawn at random: 2^256 of them cannot be tried."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def csrf_of(token: str) -> str:
    """Follows from the session's token, and does not tell it."""
    return hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()
