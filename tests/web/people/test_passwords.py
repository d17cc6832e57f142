from __future__ import annotations

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type

from shortlist.types import ShortlistError
from shortlist.web.people.passwords import LONGEST, SHORTEST, Passwords


@pytest.fixture(scope="module")
def passwords() -> Passwords:
    return Passwords(time_cost=1, memory_kib=8, parallelism=1)


def test_only_the_right_one_matches(passwords: Passwords) -> None:
    kept = passwords.hash("correct horse")
    assert passwords.verify(kept, "correct horse")
    for wrong in ("", "correct horsf", "Correct horse", "correct horse ", "correct hors"):
        assert not passwords.verify(kept, wrong)


def test_what_is_kept_is_salted_argon2id(passwords: Passwords) -> None:
    first, second = passwords.hash("correct horse"), passwords.hash("correct horse")
    assert first != second
    assert first.startswith("$argon2id$")
    assert "horse" not in first


def test_the_defaults_are_strong() -> None:
    found = extract_parameters(Passwords().hash("correct horse"))
    assert found.type is Type.ID
    assert (found.time_cost, found.memory_cost, found.parallelism) == (3, 65_536, 4)
    assert (found.salt_len, found.hash_len) == (16, 32)


@pytest.mark.parametrize("password", ["", "a" * (SHORTEST - 1), "a" * (LONGEST + 1), "a" * 1_000_000])
def test_too_short_or_too_long(passwords: Passwords, password: str) -> None:
    with pytest.raises(ShortlistError, match=r"^password: it .*; take at (least 8|most 1,000)"):
        passwords.hash(password)


@pytest.mark.parametrize("length", [SHORTEST, LONGEST])
def test_the_bounds_themselves_will_do(passwords: Passwords, length: int) -> None:
    assert passwords.verify(passwords.hash("é" * length), "é" * length)


def test_a_longer_guess_is_not_cut_to_fit(passwords: Passwords) -> None:
    kept = passwords.hash("a" * LONGEST)
    assert not passwords.verify(kept, "a" * (LONGEST + 1))


def test_what_is_too_long_for_a_password_matches_nothing(passwords: Passwords) -> None:
    """Whatever is kept: it is not even hashed, so that nobody keeps the server busy with it."""
    long = "x" * (LONGEST + 1)
    assert not passwords.verify(passwords._argon2.hash(long), long)
    assert passwords.verify(passwords._argon2.hash(long[1:]), long[1:])


def test_signs_that_only_look_long_do_not_count_twice(passwords: Passwords) -> None:
    with pytest.raises(ShortlistError, match="too short"):
        passwords.hash("e\u0301" * 4)  # eight code points, four letters


def test_another_keyboard_spells_it_otherwise(passwords: Passwords) -> None:
    kept = passwords.hash("caf\u00e9 au lait")
    assert passwords.verify(kept, "cafe\u0301 au lait")


def test_half_a_character(passwords: Passwords) -> None:
    with pytest.raises(ShortlistError, match="half a character"):
        passwords.hash("password\ud800")
    assert not passwords.verify(passwords.hash("password"), "password\ud800")


def test_nobodys_password_matches_nothing(passwords: Passwords) -> None:
    assert not passwords.verify(None, "a password that nobody has")
    assert not passwords.verify(None, "")


def test_nobodys_password_costs_the_same(passwords: Passwords, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    verify = PasswordHasher.verify

    def watch(self: PasswordHasher, kept: str | bytes, password: str | bytes) -> bool:
        checked.append(str(kept))
        return verify(self, kept, password)

    monkeypatch.setattr(PasswordHasher, "verify", watch)
    kept = passwords.hash("correct horse")
    for somebodys, guess in ((kept, "wrong guess"), (None, "wrong guess"), (None, "a" * 2000), (kept, "\ud800")):
        passwords.verify(somebodys, guess)
    assert len(checked) == 4
    assert all(extract_parameters(one) == extract_parameters(kept) for one in checked)


def test_what_is_kept_is_damaged(passwords: Passwords) -> None:
    assert not passwords.verify("$argon2id$nonsense", "correct horse")
    assert not passwords.verify("", "a password that nobody has")


def test_other_parameters_ask_for_a_new_hash(passwords: Passwords) -> None:
    kept = passwords.hash("correct horse")
    stronger = Passwords(time_cost=2, memory_kib=16, parallelism=1)
    assert not passwords.needs_rehash(kept)
    assert stronger.needs_rehash(kept)
    assert stronger.verify(kept, "correct horse")
    assert not stronger.needs_rehash(stronger.hash("correct horse"))
