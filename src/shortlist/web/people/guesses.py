"""Guessing passwords is slowed, for each account and each address: after five wrong tries the wait doubles.

A try counts against the account until somebody signs in to it, and against the address until that account is
signed in to from there: people of one office who mistype do not lock each other out, and an account of one's own
wipes out nothing but one's own tries. What is a day old is forgotten.
"""

from __future__ import annotations

import ipaddress

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from shortlist.web.people.schema import failures

FREE_TRIES = 5
LONGEST_WAIT = 15 * 60.0  # seconds
FORGOTTEN_AFTER = 24 * 3600.0  # seconds


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


def forgive_account(c: sa.Connection, account: bytes) -> None:
    """Its owner has shown up."""
    c.execute(failures.update().where(failures.c.account == account).values(of_account=0))


def forgive_address(c: sa.Connection, account: bytes, address: bytes) -> None:
    """The tries at this account from there were its owner's."""
    mine = (failures.c.account == account, failures.c.address == address)
    c.execute(failures.update().where(*mine).values(of_address=0))


def network(address: str) -> str:
    """What counts as one address: an IPv6 subscriber has 2^64 of them."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # of a socket that is no network's
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((known, 64), strict=False))
