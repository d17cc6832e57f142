"""Many small cases in one test: each of them runs, without a start and an end of its own."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]
PARAM = type(pytest.param())
torture = pytest.mark.torture


def half_of(*lists: Iterable[Any]) -> list[Any]:
    """The product of some lists, half of it left to `make torture`.

    Each value is in the half that stays, and with three lists or more each two values are.

    >>> [case.values for case in half_of("ab", "xy", [1, 2]) if not case.marks]
    [('a', 'x', 1), ('a', 'y', 2), ('b', 'x', 2), ('b', 'y', 1)]
    """
    return [
        pytest.param(*(value for _, value in case), marks=[torture] * (sum(place for place, _ in case) % 2))
        for case in itertools.product(*map(enumerate, lists))
    ]


def in_turn(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one test that takes the cases one after the other.

    It ends at the first failure, with a note of the case. The cases share what fixtures made for the test, but
    what one of them patches is undone before the next.

    >>> @in_turn("side", [1, -1])
    ... def test_sides(side: int) -> None:
    ...     assert side > 0, "a side is positive"
    >>> try:
    ...     test_sides()
    ... except AssertionError as failure:
    ...     print(failure, failure.__notes__)
    a side is positive ['in the case side = -1']
    """
    names = (names,) if isinstance(names, str) else names
    rows = [case.values if isinstance(case, PARAM) else (case,) if len(names) == 1 else case for case in cases]

    def around(test: Test) -> Test:
        @functools.wraps(test)
        def each(**fixtures: Any) -> None:
            patches: pytest.MonkeyPatch = fixtures.get("monkeypatch") or pytest.MonkeyPatch()
            for row in rows:
                case = dict(zip(names, row, strict=True))
                try:
                    with patches.context() as patched:
                        own = {"monkeypatch": patched} if "monkeypatch" in fixtures else {}
                        test(**fixtures | own | case)
                except BaseException as failure:
                    said = ", ".join(f"{name} = {value!r:.200}" for name, value in case.items())
                    failure.add_note(f"in the case {said}")
                    raise

        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in names]
        each.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return each

    return around
