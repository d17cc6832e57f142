from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist import Arrays, Campaign, CandidateSet, Entropy, Random, Scikit, Seconds, Simulated, measures
from shortlist.campaign.storage.folder import find_campaigns
from shortlist.datasets.builtin.digits import Digits
from shortlist.experiments import report as reports
from shortlist.experiments.report import report, write_report
from shortlist.experiments.tables import money_line
from shortlist.types import ShortlistError
from tests.experiments.conftest import start
from tests.experiments.examples import CQ, CSQ, ENT, RAND, config, finished, record

LOADING = {"src", "srcset", "href", "xlink:href", "action", "formaction", "poster", "background", "data", "ping"}
# Names of formats, not addresses that are asked: they stand in Vega's own code.
HARMLESS = ("http://www.w3.org/", "https://vega.github.io/", "https://github.com/vega/vega-lite/issues/")


class Parsed(HTMLParser):
    """Tags, visible text, and what stands in each script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts.append((self.tags[-1][1], data))
        elif self.inside != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(f" {word} " for word in self.words).split())

    @property
    def headlines(self) -> list[str]:
        return re.findall(
            r"(?:Same labels, .*? conventionally|[\d.]+% accuracy, .*? conventionally|No round is finished yet)",
            self.text,
        )


@pytest.fixture(scope="module")
def page(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report([runs], tmp_path_factory.mktemp("out") / "report.html").read_text("utf-8")


# --- finding and writing ---------------------------------------------------------------------------------------


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures and the script that moves them take half a second a page."""
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec, **_: "<svg></svg>")
    monkeypatch.setattr("shortlist.experiments.report_page.bundle", lambda: "//")  # which keeps what it has made


undrawn = pytest.mark.usefixtures("no_drawing")  # for tests of what a page says


def test_campaigns_are_found_below_a_folder_once_and_in_order(runs: Path) -> None:
    found = find_campaigns([runs, runs / "cq-rand", runs / "cq-rand" / "seed0"])
    assert found == sorted(found)
    assert len(found) == 6


def test_a_folder_with_no_campaign_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=re.escape(f"{tmp_path}: no campaign here or below")):
        find_campaigns([tmp_path])
    with pytest.raises(ShortlistError, match="missing: there is no such folder"):
        find_campaigns([tmp_path / "missing"])


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    (tmp_path / "runs").mkdir()
    with pytest.raises(ShortlistError):
        write_report([tmp_path / "runs"], out)
    assert out.read_text() == "old"
    with pytest.raises(ShortlistError, match="name the file"):
        write_report([tmp_path / "runs"], tmp_path)


def test_a_report_is_moved_into_place(monkeypatch: pytest.MonkeyPatch, runs: Path, tmp_path: Path) -> None:
    monkeypatch.setattr(reports, "report", lambda records: "new")
    out = write_report([runs], tmp_path / "deep" / "report.html")
    assert out.read_text() == "new"
    assert list(out.parent.iterdir()) == [out]


# --- what it says ----------------------------------------------------------------------------------------------


def test_the_money_line_compares_at_equal_accuracy(runs: Path, page: str) -> None:
    """Worked out again on a fine grid of costs."""
    records = [measures.read(folder) for folder in find_campaigns([runs])]
    curves = {}
    for name in ("cq-rand", "csq-rand", "csq-cost-ent"):
        seeds = [
            [(r.cost, r.conventional_cost, r.accuracy) for r in x.rounds] for x in records if name in str(x.folder)
        ]
        curves[name] = np.mean(np.array(seeds, float), axis=0).T
    budget = min(cost[-1] for name, (cost, _, _) in curves.items() if name != "cq-rand")
    reached = {name: np.interp(budget, cost, accuracy) for name, (cost, _, accuracy) in curves.items()}
    best = max(("csq-rand", "csq-cost-ent"), key=lambda name: reached[name])

    def price(name: str, paid: int) -> float:
        costs = np.linspace(curves[name][paid][0], curves[name][paid][-1], 200_000)
        enough = np.interp(costs, curves[name][paid], curves[name][2]) >= reached[best] - 1e-11
        return float(costs[enough.argmax()]) if enough.any() else np.inf

    share = 1 - price(best, 0) / min(price(name, 1) for name in curves)
    line = money_line(records)
    assert line == f"{reached[best]:.1%} accuracy, {share:.0%} cheaper than asking conventionally"
    assert Parsed(page).headlines[0] == line


@undrawn
def test_a_twin_is_named_only_where_its_labels_are_the_same(runs: Path) -> None:
    twins = [measures.read(folder) for name in ("cq-rand", "csq-rand") for folder in find_campaigns([runs / name])]
    said = "CQ+Rand, run with the same seeds, ended with exactly the same labels"
    assert said in Parsed(report(twins)).text
    others = [measures.read(f) for name in ("cq-rand", "csq-cost-ent") for f in find_campaigns([runs / name])]
    assert "exactly the same labels" not in Parsed(report(others)).text


def test_the_page_has_every_part(page: str) -> None:
    text = Parsed(page).text
    for title in (
        "Accuracy against cost",
        "What was paid, round by round",
        "How long the shortlists were",
        "How much risk was worth it",
        "How often the shortlist was enough",
        "Methods side by side",
        "How to read the names",
        "Round by round",
        "Ledger",
        "Campaigns",
        "Settings",
    ):
        assert title in text
    for method in ("CQ+Rand", "CSQ+Rand", "CSQ+Cost(Ent)"):
        assert f"{method}: 3 rounds" in text
        assert f"{method}: seeds 0, 1" in text
    assert 'name = "cost_aware"' in text


def test_the_table_holds_the_numbers_of_the_campaigns(runs: Path, page: str) -> None:
    last = [measures.read(runs / "csq-rand" / f"seed{s}").rounds[-1] for s in (0, 1)]
    mean, std = np.mean([r.relative_cost for r in last]), np.std([r.relative_cost for r in last], ddof=1)
    assert f"{100 * mean:.1f} ± {100 * std:.1f}" in Parsed(page).text


def test_how_far_above_the_floor_it_is(runs: Path, page: str) -> None:
    last = [measures.read(runs / "csq-rand" / f"seed{s}").rounds[-1] for s in (0, 1)]
    times = [r.cost / r.floor for r in last if r.floor]
    text = Parsed(page).text
    assert f"is at {np.mean(times):.1f} × the floor." in text
    assert f"{np.mean(times):.1f} ± {np.std(times, ddof=1):.1f} ×" in text
    assert "Floor, bits" in text


def test_dearer_is_said_as_loudly() -> None:
    dear = [finished(1), finished(2, cost=1.2 * finished(2).conventional_cost)]
    assert money_line([record(rounds=dear)]) == "82.0% accuracy, 20% dearer than asking conventionally"
    even = [finished(1), finished(2, cost=finished(2).conventional_cost)]
    assert money_line([record(rounds=even)]) == "82.0% accuracy, same price as asking conventionally"


@undrawn
def test_a_method_that_has_only_begun_does_not_win() -> None:
    done = record(config(CSQ, ENT), 3)
    begun = record(config(CSQ, RAND), [finished(1, relative_cost=0.001)])
    assert "CSQ+Ent got 300 labels" in Parsed(report([done, begun])).text


@undrawn
def test_conventional_runs_alone_claim_no_saving() -> None:
    full = [finished(n, cost=finished(n).conventional_cost, alpha=None) for n in (1, 2)]
    records = [record(config(CQ, RAND), full)]
    assert money_line(records) == "200 labels for 664 bits, asked conventionally"
    assert "% cheaper" not in Parsed(report(records)).text


@undrawn
def test_each_dataset_has_a_section_of_its_own() -> None:
    parsed = Parsed(report([record(), record(config(dataset={"name": "glyphs"}))]))
    assert sum(tag == "section" for tag, _ in parsed.tags) == 2
    names = [attrs["id"] for attrs, _ in parsed.scripts if "id" in attrs]
    assert len(names) == len(set(names)) == 10


@undrawn
def test_notes_and_the_interval_of_a_single_seed_are_shown() -> None:
    text = Parsed(report([record(notes=["budget asks for 100 items; the pool has 47, all are taken"])])).text
    assert "the pool has 47" in text
    assert "83.0 (81.0–85.0)" in text


# --- whatever state a campaign is in ---------------------------------------------------------------------------


def test_a_campaign_that_was_only_created(tmp_path: Path) -> None:
    start(tmp_path / "new", CandidateSet(n_cal=30), Entropy()).close()
    parsed = Parsed(write_report([tmp_path / "new"], tmp_path / "report.html").read_text("utf-8"))
    assert parsed.headlines == ["No round is finished yet"] * 2  # the title and the heading
    assert "CSQ+Ent, seed 0: created, nothing asked yet" in parsed.text


@undrawn
def test_a_campaign_under_way_or_killed_is_read_all_the_same(tmp_path: Path) -> None:
    campaign = start(tmp_path / "live", CandidateSet(n_cal=30), Entropy())
    labels = Digits().labels
    while len(campaign.finished_rounds()) < 2:
        if not campaign.advance():
            campaign.record(Simulated(labels).answer(campaign.open_questions()))
    campaign.advance()
    # a copy of the files while they are in use is what a killed process leaves behind: the log not yet folded in
    killed = shutil.copytree(tmp_path / "live", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    assert (killed / "campaign.db-wal").stat().st_size
    for folder in (tmp_path / "live", killed):
        text = Parsed(write_report([folder], tmp_path / "report.html").read_text("utf-8")).text
        assert "1 of 1 campaigns not finished" in text
        assert "seed 0: running or stopped in round 3: 30 open questions" in text
    campaign.close()


@undrawn
def test_no_test_split_another_unit_and_hostile_names(tmp_path: Path) -> None:
    """Nothing that a user can name becomes markup, and what was not measured is not made up."""
    hostile = '</script><script>alert("x")</script>'
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    data = Arrays(rng.normal(size=(200, 4)), labels, classes=[hostile, "<img src=x>", "c"], name=f"<b>{hostile}")
    folder = tmp_path / "<script>alert(1)<"
    settings: dict[str, Any] = {"initial": 50, "budget": 50, "rounds": 5}
    query = CandidateSet(n_cal=20, cost=Seconds())
    campaign = Campaign(folder, dataset=data, model=Scikit(), query=query, acquisition=Random(), **settings)
    list(campaign.run(Simulated(labels)))
    campaign.close()
    parsed = Parsed(write_report([tmp_path], tmp_path / "report.html").read_text("utf-8"))
    assert {tag for tag, _ in parsed.tags}.isdisjoint({"b>", "img", "iframe", "object"})
    assert {attrs.get("type") for tag, attrs in parsed.tags if tag == "script"} == {"module", "application/json"}
    assert hostile in parsed.text  # as text
    assert "<script>alert(1)<" in parsed.text
    assert "accuracy is not known" in parsed.text
    assert "seconds" in parsed.text


@undrawn
def test_a_method_name_cannot_leave_its_data_block() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    parsed = Parsed(report([record(config(query={"name": hostile}))]))
    assert sum(attrs.get("type") != "application/json" for attrs, _ in parsed.scripts) == 1
    assert any(hostile in str(json.loads(words)) for attrs, words in parsed.scripts if "id" in attrs)


# --- self-contained --------------------------------------------------------------------------------------------


def test_nothing_is_loaded(page: str) -> None:
    parsed = Parsed(page)
    assert {tag for tag, _ in parsed.tags}.isdisjoint({"link", "img", "iframe", "object", "embed", "base", "audio"})
    assert not [(tag, attrs) for tag, attrs in parsed.tags if LOADING & set(attrs)]
    assert not re.search(r"@import|url\(", page[: page.index("</style>")])
    addresses = set(re.findall(r"https?://[^\s\"'`)\\<>]+", page))
    assert all(address.startswith(HARMLESS) for address in addresses), addresses


def test_the_policy_allows_one_script_and_no_request(page: str) -> None:
    parsed = Parsed(page)
    (policy,) = (attrs["content"] for tag, attrs in parsed.tags if attrs.get("http-equiv"))
    script = page[page.index('<script type="module">') + len('<script type="module">') : page.rindex("</script>")]
    seal = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{seal}';" in policy
    assert not re.search(r"(^|[;}])\s*import\b[^(.]", script)  # a module that imports would load


def test_every_figure_has_a_still_picture_and_a_live_one(page: str) -> None:
    parsed = Parsed(page)
    names = [attrs["data-spec"] for _, attrs in parsed.tags if "data-spec" in attrs]
    specs = {attrs["id"]: json.loads(words) for attrs, words in parsed.scripts if "id" in attrs}
    assert set(names) == set(specs)
    assert len(names) == 5
    assert sum(attrs.get("class") == "still" for _, attrs in parsed.tags) == 5
    assert all(spec["width"] == "container" for spec in specs.values())


def test_the_same_campaigns_give_the_same_page(runs: Path, page: str, tmp_path: Path) -> None:
    assert write_report([runs], tmp_path / "again.html").read_text("utf-8") == page
