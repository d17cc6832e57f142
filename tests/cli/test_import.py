from __future__ import annotations

from pathlib import Path

import pytest

from shortlist.campaign.accounting.ledger import Line
from shortlist.campaign.storage.store import Store
from shortlist.measures import labels, read
from tests.cli.command import Command
from tests.cli.conftest import Ran

FOLDER = Path("runs/small/CSQ+Rand/seed-0")


@pytest.fixture
def campaign(ran: Ran) -> Path:
    ran()
    return FOLDER


def test_labels_from_a_table(shortlist: Command, campaign: Path) -> None:
    known = labels(campaign)
    taken = next(iter(known))
    with Store(campaign / "campaign.db", read_only=True) as store:
        keys = store.keys()
    free = [key for key in keys if key not in known][:3]
    wrong = "1" if known[taken] == "0" else "0"
    rows = [f"{key},3" for key in free] + [f"{taken},{wrong}"]
    Path("more.csv").write_text("\n".join(["key,label", *rows]) + "\n")
    got = shortlist("import", campaign, "more.csv", "--person", "ana")
    assert (got.code, got.out) == (0, f"3 labels imported: {campaign}\n1 keep what people said\n")
    assert Line(3, "import", 3, 0.0) in read(campaign).ledger
    again = shortlist("import", campaign, "more.csv")
    assert again.out == f"0 labels imported: {campaign}\n3 had that label\n1 keep what people said\n"
    assert shortlist("import", campaign, "more.csv", "--overwrite").code == 0
    assert labels(campaign)[taken] == wrong


def test_unknown_rows(shortlist: Command, campaign: Path) -> None:
    Path("more.csv").write_text("key,label\nnobody,3\n")
    got = shortlist("import", campaign, "more.csv")
    assert got.code == 1
    assert got.err.startswith("error: more.csv: row 2: the campaign has no item 'nobody'; nothing was imported")
    got = shortlist("import", campaign, "more.csv", "--skip-unknown")
    assert (got.code, got.out) == (0, f"0 labels imported: {campaign}\n1 are unknown\n")
