"""The stub that the page is tried with says what the real server says, field by field."""

from __future__ import annotations

from pathlib import Path

from tests.web.page.worlds import animals
from tests.web.serving import served, truth


def test_progress_questions_and_answers_have_the_same_fields(tmp_path: Path) -> None:
    stub = animals()
    with served(tmp_path / "run") as real:
        ana = real.sign_in("ana")
        assert set(ana.get("/api/status")) == set(stub.progress())
        question = ana.questions(1)[0]
        assert set(question) == set(stub.question(1))
        assert set(ana.get("/api/classes")) == {"names", "about"}
        guide, of_stub = ana.get("/api/guide?classes=1,0"), stub.guide([1, 0])
        assert set(guide) == set(of_stub)
        assert [set(one) for one in guide["classes"]] == [set(one) for one in of_stub["classes"]]
        reply = ana.answer(question, truth(question))
        body = {"question": 1, "kind": "label", "path": [11], "stage_seconds": [1.0], "supersedes": None}
        assert set(reply) == set(stub.record({**body, "n": 1, "holding": [], "note": None}))
        gone_back_to = ana.get(f"/api/questions/{question['id']}")
        standing = stub.standing(1)
        assert standing is not None
        assert set(gone_back_to["answer"]) >= set(standing)
