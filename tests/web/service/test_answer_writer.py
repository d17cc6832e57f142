"""Answers of many people are written together, each is told its own, and what was written is not taken back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from shortlist.types import Answer, ShortlistError
from shortlist.web.service import answer_writer
from shortlist.web.service.answer_writer import AnswerWriter


class Book:
    """Remembers what was written in which transaction; writes the first only when told to."""

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.go = threading.Event()

    def record(self, answers: Sequence[Answer]) -> list[int | ShortlistError]:
        self.go.wait(10)
        self.written.append([a.question for a in answers])
        return [ShortlistError("no") if a.question == 13 else 100 + a.question for a in answers]


def test_what_comes_while_it_writes_goes_into_the_next_transaction() -> None:
    book = Book()
    writer = AnswerWriter(book.record)

    async def many() -> list[int | BaseException]:
        writing = [asyncio.create_task(writer.write(Answer(i, "skip"))) for i in range(20)]
        await asyncio.sleep(0.05)
        book.go.set()
        return await asyncio.gather(*writing, return_exceptions=True)

    told = asyncio.run(many())
    writer.close()
    assert [one for i, one in enumerate(told) if i != 13] == [100 + i for i in range(20) if i != 13]
    assert str(told[13]) == "no"
    assert sorted(i for together in book.written for i in together) == list(range(20))
    assert len(book.written) < 10


def test_other_work_is_done_in_turn() -> None:
    order: list[str] = []

    def record(answers: Sequence[Answer]) -> list[int | ShortlistError]:
        order.extend(f"answer {a.question}" for a in answers)
        return [1] * len(answers)

    writer = AnswerWriter(record)

    async def mixed() -> str:
        first = asyncio.create_task(writer.write(Answer(1, "skip")))
        await asyncio.sleep(0)
        work = asyncio.create_task(writer.do(lambda: order.append("work") or "done"))  # type: ignore[func-returns-value]
        await asyncio.sleep(0)
        last = asyncio.create_task(writer.write(Answer(2, "skip")))
        await asyncio.gather(first, last)
        return await work

    assert asyncio.run(mixed()) == "done"
    writer.close()
    assert order == ["answer 1", "work", "answer 2"]


def test_a_disk_that_fails_is_told_to_everybody_who_waits_and_the_next_are_tried() -> None:
    tries = iter([OSError("disk full"), None, None])

    def record(answers: Sequence[Answer]) -> list[int | ShortlistError]:
        if error := next(tries):
            raise error
        return [7] * len(answers)

    writer = AnswerWriter(record)

    async def twice() -> int:
        with pytest.raises(OSError, match="disk full"):
            await writer.write(Answer(1, "skip"))
        return await writer.write(Answer(1, "skip"))

    assert asyncio.run(twice()) == 7
    writer.close()


def test_closing_writes_what_was_asked_for() -> None:
    book = Book()
    writer = AnswerWriter(book.record)

    async def leave() -> None:
        waiting = asyncio.create_task(writer.write(Answer(3, "skip")))
        await asyncio.sleep(0.01)
        waiting.cancel()

    asyncio.run(leave())
    book.go.set()
    writer.close()
    assert book.written == [[3]]


def test_where_many_answer_it_waits_a_moment_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a transaction of several; after one of a single answer nobody waits."""
    begun = threading.Event()

    class Begun(Book):
        def record(self, answers: Sequence[Answer]) -> list[int | ShortlistError]:
            begun.set()
            return super().record(answers)

    book, waited = Begun(), list[float]()
    writer = AnswerWriter(book.record)

    def more(seconds: float) -> None:
        waited.append(seconds)
        writer.submit(Answer(9, "skip"))  # comes meanwhile

    monkeypatch.setattr(answer_writer, "time", SimpleNamespace(sleep=more))
    first: list[Future[int]] = [writer.submit(Answer(0, "skip"))]
    assert begun.wait(60)
    first += [writer.submit(Answer(i, "skip")) for i in (1, 2)]
    book.go.set()
    assert [future.result(60) for future in first] == [100, 101, 102]
    assert (book.written, waited) == ([[0], [1, 2]], [])
    fourth: Future[int] = writer.submit(Answer(4, "skip"))
    fourth.result(60)
    assert (book.written[-1], waited) == ([4, 9], [answer_writer.GATHERED])
    writer.close()


def test_so_many_in_one_transaction_and_the_rest_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_writer, "TOGETHER", 4)
    monkeypatch.setattr(answer_writer, "GATHERED", 0.0)
    book = Book()
    writer = AnswerWriter(book.record)
    writer.submit(Answer(0, "skip"))
    rest: list[Future[int]] = [writer.submit(Answer(i, "skip")) for i in range(1, 11)]
    book.go.set()
    assert [future.result(60) for future in rest] == [100 + i for i in range(1, 11)]
    writer.close()
    assert max(map(len, book.written)) == 4
    assert [i for together in book.written for i in together] == list(range(11))
