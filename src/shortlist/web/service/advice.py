"""What an owner is told while lists save nothing: why that is, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shortlist.campaign.engine import Campaign
from shortlist.datasets.arrays import Arrays
from shortlist.measures import Record
from shortlist.models.scikit import Scikit
from shortlist.recipes.encoder_advice import Better, better_than

FEW = 5  # labels of a class, on average: with fewer a model has hardly seen it


def advice(campaign: Campaign, record: Record) -> dict[str, Any] | None:
    """A sentence, and what would help; None where lists pay."""
    says = nothing_saved(campaign, record)
    return None if says is None else {"says": says, "helps": list(helps(campaign, record))}


def nothing_saved(campaign: Campaign, record: Record) -> str | None:
    """Why lists save nothing, if that is so."""
    last = campaign.view.last_round()
    if last is None or last.number < 2:
        return "Lists save nothing yet: all classes are shown until a model has learnt from the first round."
    asked = [campaign.view.lists(n) for n in (last.number, last.number - 1) if n > 1]
    answered = [lists for lists in asked if lists["lists"] + lists["full"]]  # a round may just have begun
    if answered and not answered[0]["lists"]:
        guarded = getattr(campaign.query, "guard", False)
        again = " They come back by themselves as soon as the answers say that they are cheaper." if guarded else ""
        return f"Lists save nothing now: by the answers so far, asking with all classes is as cheap.{again}"
    if len(record.rounds) > 1 and record.saving is not None and record.saving <= 0:
        return "Lists have saved nothing so far: what they spare is lost again where they miss the answer."
    return None


def helps(campaign: Campaign, record: Record) -> Sequence[str]:
    """What makes lists shorter, the most effective first."""
    told, labelled = [], record.rounds[-1].labelled if record.rounds else 0
    if (better := better_encoder(campaign)) is not None:
        how = f" ({better.install})" if better.install else ""
        told.append(
            f"A better encoder, {better.called}{how}: {better.told}. The model of a campaign is fixed: begin another "
            f"one with --model {better.encoder}, and import the labels of this one there."
        )
    if 0 < labelled < FEW * len(record.classes):
        told.append(
            f"More labels: {labelled:,} for {len(record.classes):,} classes are few, and the model learns every round."
        )
    if (codes := sum(is_code(name) for name in record.classes)) > len(record.classes) / 2:
        told.append(
            f"Names that say what a class is: {codes:,} of {len(record.classes):,} are no words (such as "
            f"{next(name for name in record.classes if is_code(name))!r}). People find words faster."
        )
    return told


def better_encoder(campaign: Campaign) -> Better | None:
    """The next better encoder for data of this kind."""
    model: Any = campaign.settings.model
    while (inner := getattr(model, "model", None)) is not None:  # what is around another model reads what that one does
        model = inner
    dataset = campaign.settings.dataset
    if not isinstance(model, Scikit) or not isinstance(dataset, Arrays):  # what others read is not known
        return None
    return better_than(dataset, model.encoder)


def is_code(name: str) -> bool:
    """Whether a name has no word in it. A single sign is called what it is.

    >>> is_code("LABEL_7"), is_code("c12"), is_code("red fox"), is_code("7"), is_code("犬")
    (True, True, False, False, False)
    """
    letters = "".join(sign for sign in name if sign.isalpha())
    return (
        len(name) > 1
        and name.isascii()
        and (len(letters) < 2 or letters.lower() in ("label", "class", "cls", "item", "id"))
    )
