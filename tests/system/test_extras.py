"""Without the extra `report`: campaigns, labels and CSV work, and what needs it says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BARE = """
import json, sys
from importlib.machinery import PathFinder

class Bare:
    @staticmethod
    def find_spec(name, *where):
        return None if name in hidden else PathFinder.find_spec(name, *where)

hidden = {"polars", "altair", "vl_convert", "pyarrow"}

sys.meta_path = [Bare if finder is PathFinder else finder for finder in sys.meta_path]
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from shortlist.cli import main

ended = []
for there, line in json.load(sys.stdin):
    hidden -= {there}
    sys.argv, out, err, code = ["shortlist", *line], StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    ended.append((code, out.getvalue(), err.getvalue()))
import shortlist.web.app
from shortlist.recipes.build import open_campaign
open_campaign("live")
print(json.dumps(ended))
"""
RECIPE = """
initial = 4
budget = 4
rounds = 2
model = "scikit"
query = { name = "candidate_set", n_cal = 2 }
acquisition = "entropy"
dataset = { name = "table", path = "mail.csv", text = "body", label = "topic", key = "id" }
"""
CAMPAIGN = "runs/mail/seed-0"
INIT = ("--text", "body", "--label", "topic")
ENOUGH = [
    ("run", "mail.toml"),
    *(("export", CAMPAIGN, target) for target in ("labels.csv", "labels.jsonl", "labels.json", "labels.doccano.jsonl")),
    ("init", "live", "--table", "mail.csv", *INIT),
]
RESULTS = ("results", "runs", "-o", "results.parquet")
NEEDING = [
    ("export", CAMPAIGN, "labels.parquet"),
    RESULTS,
    ("report", "runs"),
    ("compare", "runs"),
    ("init", "other", "--table", "mail.parquet", *INIT),
]


def test_a_campaign_its_labels_and_its_pages_need_no_report(tmp_path: Path) -> None:
    rows = "".join(f"m{i},hello {i},{'ab'[i % 2]}\n" for i in range(20))
    (tmp_path / "mail.csv").write_text("id,body,topic\n" + rows)
    (tmp_path / "mail.toml").write_text(RECIPE)
    (tmp_path / "mail.parquet").touch()
    lines = [*(("", line) for line in (*ENOUGH, *NEEDING)), ("pyarrow", RESULTS)]
    command = [sys.executable, "-c", BARE]
    done = subprocess.run(command, input=json.dumps(lines), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout)
    for (there, line), (code, out, err) in zip(lines, ended, strict=True):
        if there or line in ENOUGH:
            assert code == 0, (line, out, err)
        else:
            assert (code, out) == (1, ""), (line, err)
            assert "is not installed; run: pip install 'shortlist-al[report]'" in err, line
            assert "Traceback" not in err
    assert not (tmp_path / "runs/mail/report.html").exists()
    assert "Accuracy" in ended[0][1]  # the table is there
    assert ended[0][1].splitlines()[-1] == (
        "no report: polars is not installed; run: pip install 'shortlist-al[report]', then: shortlist report runs/mail"
    )
