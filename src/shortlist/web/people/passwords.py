"""Passwords: what is kept of them (argon2id), how a guess is checked, and how guessing is slowed.

After five wrong tries the wait doubles, for each account and each address. A try counts against the account until its
owner signs in, and against the address until that account is signed in to from there: people of one office who mistype
do not lock each other out, and signing in to an account of one's own forgives only the tries at that account. A browser
that has signed in before has tries of its own, so that nobody can lock a person out from elsewhere. Tries are forgotten
after a day.
"""

from __future__ import annotations

import ipaddress
import unicodedata

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy.dialects.sqlite import insert

from shortlist.types import ShortlistError
from shortlist.web.people.people_db import failures

SHORTEST, LONGEST = 8, 1_000  # characters
FREE_TRIES = 5
LONGEST_WAIT = 15 * 60.0  # seconds
FORGOTTEN_AFTER = 24 * 3600.0  # seconds


class Passwords:
    """Argon2id with these parameters; the defaults are RFC 9106's for machines with little memory.

    >>> passwords = Passwords(time_cost=1, memory_kib=8, parallelism=1)
    >>> hashed = passwords.hash("correct horse")
    >>> passwords.verify(hashed, "correct horse"), passwords.verify(hashed, "correct house")
    (True, False)
    """

    def __init__(self, *, time_cost: int = 3, memory_kib: int = 64 * 1024, parallelism: int = 4) -> None:
        self._argon2 = PasswordHasher(time_cost, memory_kib, parallelism)
        self._unused = self._argon2.hash("a password of no account")

    def hash(self, password: str) -> str:
        """What is kept of a new password; raises where the password will not do."""
        if len(password) > LONGEST:
            raise ShortlistError(f"password: it has {len(password):,} characters; take at most {LONGEST:,}")
        text = _one_spelling(password)
        if text is None:
            raise ShortlistError("password: it holds half a character; type it anew")
        if len(text) < SHORTEST:
            raise ShortlistError(f"password: it is too short; take at least {SHORTEST} characters")
        return self._argon2.hash(text)

    def verify(self, hashed: str | None, password: str) -> bool:
        """Whether the password is the one that was hashed. Without a hash the answer is no, and takes as long."""
        text = None if len(password) > LONGEST else _one_spelling(password)
        can_match = bool(hashed) and text is not None
        try:
            return self._argon2.verify(hashed or self._unused, text or "") and can_match
        except (VerificationError, InvalidHashError):
            return False

    def needs_rehash(self, hashed: str) -> bool:
        """Whether it was made with other parameters than these."""
        return self._argon2.check_needs_rehash(hashed)


def _one_spelling(password: str) -> str | None:
    """The same for every keyboard that types it (é as one sign or as two); None for half a surrogate pair."""
    text = unicodedata.normalize("NFKC", password)
    return None if any("\ud800" <= sign <= "\udfff" for sign in text) else text


# --- guesses ---------------------------------------------------------------------------------------------------


def wait_left(c: sa.Connection, account: bytes, address: bytes, now: float) -> float:
    """Seconds until the next try; 0 means now."""
    of_account, of_address = failures.c.of_account, failures.c.of_address
    return max(
        _left(c, of_account, sa.and_(failures.c.account == account, of_account > 0), now),
        _left(c, of_address, sa.and_(failures.c.address == address, of_address > 0), now),
    )


def _left(c: sa.Connection, count: sa.Column[int], where: sa.ColumnElement[bool], now: float) -> float:
    wrong, last = c.execute(sa.select(sa.func.sum(count), sa.func.max(failures.c.last)).where(where)).one()
    if wrong is None or wrong < FREE_TRIES:
        return 0.0
    wait = min(2.0 ** min(wrong - FREE_TRIES, 20), LONGEST_WAIT)
    return float(min(max(0.0, last + wait - now), wait))  # no more than that, even if the clock was put back


def count_failure(c: sa.Connection, account: bytes, address: bytes, now: float) -> None:
    new = insert(failures).values(account=account, address=address, of_account=1, of_address=1, last=now)
    again = {"of_account": failures.c.of_account + 1, "of_address": failures.c.of_address + 1, "last": now}
    c.execute(failures.delete().where(failures.c.last <= now - FORGOTTEN_AFTER))
    c.execute(new.on_conflict_do_update(index_elements=["account", "address"], set_=again))


def forgive(c: sa.Connection, account: bytes, address: bytes | None = None) -> None:
    """The account's owner has a new password, or has signed in: from there the tries at it were the owner's own."""
    mine = failures.update().where(failures.c.account == account)
    c.execute(mine.values(of_account=0))
    c.execute(mine.where(failures.c.address == address).values(of_address=0))


def network(address: str) -> str:
    """What counts as one address: an IPv6 subscriber has 2^64 of them."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # a socket without a network address
    known = getattr(known, "ipv4_mapped", None) or known
    return str(known if known.version == 4 else ipaddress.ip_network((known, 64), strict=False))
