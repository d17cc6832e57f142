"""The tables of a campaign's database. Answers are append-only."""

from __future__ import annotations

import sqlalchemy as sa

SCHEMA_VERSION = 2
tables = sa.MetaData()

# schema_version, config (JSON), draws (the version of the random draws), and "query 2": what the calibration of round 2
# found (JSON), for the query design to read
meta = sa.Table(
    "meta", tables, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
items = sa.Table(
    "items",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("added_in", sa.Integer, nullable=False),  # round
    sa.Column("unreadable", sa.Text),  # why, where the dataset could not read it: it is not asked about
)
classes = sa.Table(
    "classes",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("active_since", sa.Integer, nullable=False),  # round
)
rounds = sa.Table(
    "rounds",
    tables,
    sa.Column("number", sa.Integer, primary_key=True),  # 0: the holdout; 1: the first random set
    sa.Column("state", sa.Text, nullable=False),  # calibrating | asking | done
    sa.Column("alpha", sa.Float),  # what the rest of the round is asked with; until calibrated, the round before's
    sa.Column("threshold", sa.Float),
    sa.Column("trained_through", sa.Integer),  # the last answer the round's model has learnt from
    sa.Column("result", sa.JSON(none_as_null=True)),  # types.Round, and "percent": false, or it has percent
)
questions = sa.Table(
    "questions",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("round", sa.Integer, nullable=False, index=True),
    sa.Column("item", sa.Integer, sa.ForeignKey("items.id"), nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("classes", sa.LargeBinary, nullable=False),  # int32, little-endian, up to the last cut
    sa.Column("cuts", sa.JSON, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),  # how many classes the first stage shows
    sa.Column("n_classes", sa.Integer, nullable=False),
    sa.Column("exhaustive", sa.Boolean, nullable=False),
    sa.Column("rejected", sa.JSON, nullable=False),  # classes ruled out before
    sa.Column("state", sa.Text, nullable=False),  # open | reserved: an ahead question not yet handed out
    sa.Column("wanted", sa.Integer, nullable=False, server_default="1"),  # how many people are to answer
    sa.UniqueConstraint("round", "item"),
)
answers = sa.Table(
    "answers",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("question", sa.Integer, sa.ForeignKey("questions.id"), nullable=False, index=True),
    sa.Column("item", sa.Integer, nullable=False, index=True),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("misses", sa.Integer, nullable=False),  # stages answered with "None of the above"
    sa.Column("label", sa.Integer),  # the class chosen in the stage after them
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("active_seconds", sa.Float),
    sa.Column("wall_seconds", sa.Float),
    sa.Column("supersedes", sa.Integer, sa.ForeignKey("answers.id"), unique=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("stage_seconds", sa.JSON(none_as_null=True)),  # active seconds, stage by stage
    sa.Column("note", sa.Text),
    sa.Column("final", sa.Boolean, nullable=False, server_default=sa.false()),  # decided, whatever others said
)
_FIRST = answers.c.supersedes.is_(None)  # a person answers a question once, then corrects that answer
sa.Index(
    "first_answers", answers.c.question, answers.c.person, unique=True, sqlite_where=_FIRST, postgresql_where=_FIRST
)
events = sa.Table(
    "events",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

_OF_QUESTION = answers.c.question == questions.c.id
HAS_ANSWER = sa.select(answers.c.id).where(_OF_QUESTION).exists()
_PEOPLE = sa.select(sa.func.count(sa.distinct(answers.c.person))).where(_OF_QUESTION).scalar_subquery()
_IS_DECIDED = sa.select(answers.c.id).where(_OF_QUESTION, answers.c.final).exists()
# counting is left to questions that want several answers: all others have one or have none
IS_ANSWERED = sa.and_(HAS_ANSWER, sa.or_(questions.c.wanted == 1, questions.c.wanted <= _PEOPLE, _IS_DECIDED))

LATER = {  # columns, by version
    2: (items.c.unreadable, questions.c.wanted, answers.c.stage_seconds, answers.c.note, answers.c.final)
}
