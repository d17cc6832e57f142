"""Passwords: what is kept of them (argon2id) and how a guess is checked."""

from __future__ import annotations

import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from shortlist.types import ShortlistError

SHORTEST, LONGEST = 8, 1_000  # characters


class Passwords:
    """Argon2id with these parameters; the defaults are RFC 9106's for machines with little memory.

    >>> passwords = Passwords(time_cost=1, memory_kib=8, parallelism=1)
    >>> kept = passwords.hash("correct horse")
    >>> passwords.verify(kept, "correct horse"), passwords.verify(kept, "correct house")
    (True, False)
    """

    def __init__(self, *, time_cost: int = 3, memory_kib: int = 64 * 1024, parallelism: int = 4) -> None:
        self._argon2 = PasswordHasher(time_cost, memory_kib, parallelism)
        self._nobodys = self._argon2.hash("a password that nobody has")

    def hash(self, password: str) -> str:
        """What is kept of a new password; one that will not do is refused."""
        if len(password) > LONGEST:
            raise ShortlistError(f"password: it has {len(password):,} characters; take at most {LONGEST:,}")
        text = _one_spelling(password)
        if text is None:
            raise ShortlistError("password: it holds half a character; type it anew")
        if len(text) < SHORTEST:
            raise ShortlistError(f"password: it is too short; take at least {SHORTEST} characters")
        return self._argon2.hash(text)

    def verify(self, kept: str | None, password: str) -> bool:
        """Whether the password is the kept one. With none kept the answer is no, and takes as long."""
        text = None if len(password) > LONGEST else _one_spelling(password)
        can_match = bool(kept) and text is not None
        try:
            return self._argon2.verify(kept or self._nobodys, text or "") and can_match
        except (VerificationError, InvalidHashError):
            return False

    def needs_rehash(self, kept: str) -> bool:
        """Whether it was made with other parameters than these."""
        return self._argon2.check_needs_rehash(kept)


def _one_spelling(password: str) -> str | None:
    """The same for every keyboard that types it (é as one sign or as two); None for half a surrogate pair."""
    text = unicodedata.normalize("NFKC", password)
    return None if any("\ud800" <= sign <= "\udfff" for sign in text) else text
