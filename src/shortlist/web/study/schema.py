"""The tables of a study's database. Answers are append-only."""

from __future__ import annotations

import sqlalchemy as sa

VERSION = 1
tables = sa.MetaData()
meta = sa.Table(
    "meta", tables, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
classes = sa.Table(
    "classes", tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text, nullable=False)
)
items = sa.Table(
    "items",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),  # in the dataset
    sa.Column("truth", sa.Integer, sa.ForeignKey("classes.id"), nullable=False),
    sa.Column("practice", sa.Boolean, nullable=False),
    sa.Column("picture", sa.LargeBinary, nullable=False),  # PNG
)
shown = sa.Table(
    "shown",
    tables,
    sa.Column("item", sa.Integer, sa.ForeignKey("items.id"), primary_key=True),
    sa.Column("options", sa.Integer, primary_key=True),  # how many
    sa.Column("classes", sa.JSON, nullable=False),  # in the order they are shown
)
people = sa.Table(
    "people",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("cookie", sa.Text, nullable=False, unique=True),  # its SHA-256: who reads this file is nobody else
    sa.Column("name", sa.Text),  # or a code; as they like
    sa.Column("options", sa.Integer, nullable=False),  # their group
    sa.Column("items", sa.JSON, nullable=False),  # in their order
    sa.Column("started", sa.Text, nullable=False),
    sa.Column("finished", sa.Text),
)
answers = sa.Table(
    "answers",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("person", sa.Integer, sa.ForeignKey("people.id"), nullable=False),
    sa.Column("item", sa.Integer, sa.ForeignKey("items.id"), nullable=False),
    sa.Column("chosen", sa.Integer, sa.ForeignKey("classes.id"), nullable=False),
    sa.Column("active_seconds", sa.Float, nullable=False),
    sa.Column("wall_seconds", sa.Float, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.UniqueConstraint("person", "item"),
)
