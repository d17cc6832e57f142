"""Who may label and how they get in: accounts, passwords, sessions, links, invitations, tokens for programs.

All of it is one SQLite file, people.db, beside the campaign's own. Whatever was promised (a password changed, a
session ended) is on the disk before the call returns; leases and times of last use may be lost in a power cut.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import sqlalchemy as sa

from shortlist.types import ShortlistError
from shortlist.web.people.controls import Controls
from shortlist.web.people.guesses import count_failure, forgive_account, forgive_address, network, wait_left
from shortlist.web.people.leases import Leases
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.schema import (
    Invitation,
    Person,
    Role,
    Session,
    Token,
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

_PERSON: sa.Select[Any] = sa.select(
    people.c.name, people.c.role, people.c.active, people.c.password.is_not(None).label("has"), people.c.added_at
)
_INVITATION: sa.Select[Any] = sa.select(
    *(invitations.c[name] for name in Invitation.__dataclass_fields__ if name != "expired"),
    (invitations.c.expires_at <= sa.bindparam("now")).label("expired"),
)


class Refused(ShortlistError):
    """Not signed in. The sentence never tells whether there is such a name."""

    def __init__(self, sentence: str, retry_after: float) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after  # seconds


class People(Controls, Leases):
    """The people of the campaign in a folder; people.db is made where there is none. Any thread may call."""

    def __init__(
        self, folder: Path, *, passwords: Passwords | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(folder, clock)
        self._passwords = passwords or Passwords()
        self._guessing = threading.Lock()

    # --- accounts ----------------------------------------------------------------------------------------------

    def add(self, name: str, role: Role, password: str | None = None) -> Person:
        """A new account; without a password only a start link opens it."""
        name, role = _line(name, "name"), _role(role)
        kept = None if password is None else self._passwords.hash(password)
        with self._writing() as c:
            return _add(c, name, role, kept, self._clock())

    def person(self, name: str) -> Person | None:
        with self._reading() as c:
            return _find(c, name)

    def everyone(self) -> list[Person]:
        with self._reading() as c:
            return [Person(*row) for row in c.execute(_PERSON.order_by(people.c.folded))]

    def set_password(self, name: str, password: str) -> None:
        """Ends the person's sessions."""
        kept = self._passwords.hash(password)
        with self._writing() as c:
            person = _known(c, name)
            c.execute(people.update().where(people.c.name == person.name).values(password=kept))
            forgive_account(c, _digest(_folded(name)))
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

    def sign_in(self, name: str, password: str, address: str) -> str:
        """A new session's token, or Refused."""
        account, source = _digest(_folded(name)), _digest(network(address))
        self._refuse_waiting(account, source)  # without a turn: a flood of guesses keeps nobody waiting
        with self._guessing:  # and guesses sent all at once are counted one by one
            self._refuse_waiting(account, source)
            kept = self._kept_password(name)
            matches = self._passwords.verify(kept, password)  # as slow where nothing is kept
            token = self._admit(name, password, kept, source) if matches and kept is not None else None
            if token is not None:
                return token
            with self._writing() as c:
                count_failure(c, account, source, self._clock())
                wait = wait_left(c, account, source, self._clock())
        raise Refused("sign in: the name or the password is wrong", wait)

    def _refuse_waiting(self, account: bytes, source: bytes) -> None:
        with self._reading() as c:
            wait = wait_left(c, account, source, self._clock())
        if wait > 0:
            raise Refused(f"sign in: too many wrong tries; wait {math.ceil(wait)} s and try again", wait)

    def _kept_password(self, name: str) -> str | None:
        with self._reading() as c:
            mine = (people.c.folded == _folded(name), people.c.active)
            return c.execute(sa.select(people.c.password).where(*mine)).scalar()

    def _admit(self, name: str, password: str, kept: str, source: bytes) -> str | None:
        """A session, unless the password was changed or the person shut out while it was verified."""
        new = self._passwords.hash(password) if self._passwords.needs_rehash(kept) else kept
        mine = (people.c.folded == _folded(name), people.c.password == kept, people.c.active)
        with self._writing() as c:
            known = c.execute(people.update().where(*mine).values(password=new).returning(people.c.name)).scalar()
            if known is None:
                return None
            account = _digest(_folded(name))
            forgive_address(c, account, source)
            forgive_account(c, account)
            return _start_session(c, known, self._clock())

    def new_session(self, name: str) -> str:
        """A token for somebody who has just shown who they are."""
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
        with self._reading() as c:
            row = c.execute(_SESSION, {"digest": digest, **_oldest(now)}).first()
        if row is None:
            return None
        *person, started_at, used_at = row
        if abs(now - used_at) >= TOUCH:
            used_at = now
            with self._jotting() as c:
                c.execute(sessions.update().where(sessions.c.digest == digest).values(used_at=now))
        return Session(Person(*person), _csrf(token), started_at, used_at)

    def sign_out(self, token: str) -> None:
        with self._writing() as c:
            c.execute(sessions.delete().where(sessions.c.digest == _digest(token)))

    def sign_out_everywhere(self, name: str) -> None:
        with self._writing() as c:
            _end_sessions(c, _known(c, name).name)

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

    def invitation(self, token: str) -> Invitation | None:
        """One that can still be accepted."""
        found = self._invitations(_INVITATION.where(invitations.c.digest == _digest(token)))
        return found[0] if found and found[0].is_open else None

    def invitations(self) -> list[Invitation]:
        """All that were ever made, newest first."""
        return self._invitations(_INVITATION.order_by(invitations.c.id.desc()))

    def _invitations(self, chosen: sa.Select[Any]) -> list[Invitation]:
        with self._reading() as c:
            return [Invitation(*row) for row in c.execute(chosen, {"now": self._clock()})]

    def accept(self, token: str, name: str, password: str) -> str:
        """A new account, and its first session's token. The invitation is used up only if both are made."""
        if self.invitation(token) is None:  # before the dear part
            raise _no_invitation()
        name, kept = _line(name, "name"), self._passwords.hash(password)
        now = self._clock()
        with self._writing() as c:
            row = c.execute(_INVITATION.where(invitations.c.digest == _digest(token)), {"now": now}).one()
            invitation = Invitation(*row)
            if not invitation.is_open:  # somebody was faster
                raise _no_invitation()
            person = _add(c, name, invitation.role, kept, now)
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
        """Lets a program act for a person. It is told here and never again."""
        text = "sl_" + secrets.token_urlsafe(32)
        new = {"digest": _digest(text), "label": _line(label, "label"), "made_at": self._clock()}
        with self._writing() as c:
            found = _known(c, person)
            if not found.active:
                raise ShortlistError(f"token: {found.name} is not active; make the account active first")
            c.execute(tokens.insert().values(**new, person=found.name))
        return text

    def token(self, text: str) -> str | None:
        """The name of the person it acts for."""
        mine = (tokens.c.digest == _digest(text), people.c.active)
        with self._reading() as c:
            return c.execute(sa.select(people.c.name).join_from(tokens, people).where(*mine)).scalar()

    def tokens(self, person: str) -> list[Token]:
        """Oldest first."""
        chosen = sa.select(*(tokens.c[name] for name in Token.__dataclass_fields__)).join_from(tokens, people)
        mine = chosen.where(people.c.folded == _folded(person)).order_by(tokens.c.id)
        with self._reading() as c:
            return [Token(*row) for row in c.execute(mine)]

    def revoke_token(self, id: int, person: str) -> None:
        """Only one's own."""
        with self._writing() as c:
            mine = (tokens.c.id == id, tokens.c.person == _known(c, person).name)
            if not c.execute(tokens.delete().where(*mine)).rowcount:
                raise ShortlistError(f"token {id}: {person} has no such token; look at the list again")


# --- inside a transaction --------------------------------------------------------------------------------------


def _find(c: sa.Connection, name: str) -> Person | None:
    row = c.execute(_PERSON.where(people.c.folded == _folded(name))).first()
    return None if row is None else Person(*row)


def _known(c: sa.Connection, name: str) -> Person:
    person = _find(c, name)
    if person is None:
        raise ShortlistError(f"people: nobody here is called {name!r}; look at the list of people")
    return person


def _active_owner(c: sa.Connection, name: str, what: str) -> Person:
    person = _known(c, name)
    if person.role != "owner" or not person.active:
        raise ShortlistError(f"{what}: {person.name} is no active owner; ask one who is")
    return person


def _add(c: sa.Connection, name: str, role: Role, password: str | None, now: float) -> Person:
    if _find(c, name) is not None:
        raise ShortlistError(f"people: {name} is taken; choose another name")
    new = {"name": name, "folded": _folded(name), "role": role, "password": password, "active": True, "added_at": now}
    c.execute(people.insert().values(new))
    return Person(name, role, True, password is not None, now)


def _change(c: sa.Connection, person: Person, **values: Any) -> None:
    """Another role, or shut out, or back again: nothing that was open under the old state goes on."""
    c.execute(people.update().where(people.c.name == person.name).values(**values))
    owners = sa.select(sa.func.count()).select_from(people).where(people.c.role == "owner", people.c.active)
    if person.role == "owner" and person.active and not c.execute(owners).scalar_one():
        raise ShortlistError(f"people: {person.name} is the only active owner; make somebody else one first")
    given = (invitations.c.by == person.name, invitations.c.used_by.is_(None))
    c.execute(invitations.update().where(*given).values(revoked=True))
    _end_sessions(c, person.name)


def _end_sessions(c: sa.Connection, name: str) -> None:
    c.execute(sessions.delete().where(sessions.c.person == name))
    c.execute(start_links.delete().where(start_links.c.person == name))


def _start_session(c: sa.Connection, name: str, now: float) -> str:
    token = secrets.token_urlsafe(32)
    c.execute(sessions.delete().where(~_ALIVE), _oldest(now))
    c.execute(sessions.insert().values(digest=_digest(token), person=name, started_at=now, used_at=now))
    return token


_ALIVE = sa.and_(sessions.c.used_at > sa.bindparam("unused"), sessions.c.started_at > sa.bindparam("started"))
_SESSION = (
    _PERSON.add_columns(sessions.c.started_at, sessions.c.used_at)
    .join_from(sessions, people)
    .where(sessions.c.digest == sa.bindparam("digest"), people.c.active, _ALIVE)
)


def _oldest(now: float) -> dict[str, float]:
    return {"unused": now - IDLE, "started": now - OLDEST}


# --- words -----------------------------------------------------------------------------------------------------


def _line(text: str, what: str) -> str:
    """A name or a label as it is kept."""
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


def _digest(text: str) -> bytes:
    """Enough for what is drawn at random: nobody can try 2^256 of them."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _csrf(token: str) -> str:
    """Follows from the session's token, and does not tell it."""
    return hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()


def _no_invitation() -> ShortlistError:
    return ShortlistError("invitation: used, taken back or expired; ask for a new one")
