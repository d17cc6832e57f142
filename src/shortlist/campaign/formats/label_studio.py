"""Label Studio: a JSON list of tasks, as it imports and exports them.

A task's `data` has the item (`text`, `image` or only `key`) and the shortlist, as `options` for choices that differ
from task to task. A project with the `labelling_interface` takes them.

A class that was found after "None of the above" stands behind the shortlist, with a hint, since Label Studio shows no
choice that is not an option; the shortlist itself is in `meta.options`. Label Studio knows people by e-mail and refuses
others: who goes by another name is in `meta.person`, and `completed_by` is null. `lead_time` are the active seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.format import FileLabel, Format, Row, Sheet, first_known, only, whole
from shortlist.types import ShortlistError

MOST = 1000  # classes that a task without a shortlist has written out; of more, only the one chosen
_VIEW = """<View>
  <{tag} name="item" value="${field}"/>
  <Choices name="label" toName="item" value="$options" choice="single" required="true"/>
</View>"""


def labelling_interface(content: Mapping[str, Any]) -> str:
    """What to paste into a project's settings, for items with this content."""
    if "image" in content:
        return _VIEW.format(tag="Image", field="image")
    return _VIEW.format(tag="Text", field="text" if "text" in content else "key")


def write(sheet: Sheet, path: Path) -> None:
    """The list is written task by task."""
    everything = _options(sheet.classes) if len(sheet.classes) <= MOST else []
    with path.open("w", newline="\n", encoding="utf-8") as file:
        file.write("[")
        for number, row in enumerate(sheet.rows):
            task = _task(row, sheet.describe(row["key"]), everything)
            file.write((",\n" if number else "\n") + json.dumps(task, ensure_ascii=False))
        file.write("\n]\n")


def _task(row: Row, content: Mapping[str, Any], everything: list[Row]) -> Row:
    whole = everything or ([] if row["label"] is None else _options([row["label"]]))
    options = whole if row["options"] is None else _with_choice(row["options"], row["label"])
    return {
        "data": {"key": row["key"], **content, "options": options},
        "meta": row,
        "annotations": [] if row["label"] is None else [_annotation(row)],
    }


def _options(names: Iterable[str]) -> list[Row]:
    return [{"value": name} for name in names]


def _with_choice(names: Sequence[str], label: str | None) -> list[Row]:
    if label is None or label in names:
        return _options(names)
    return [*_options(names), {"value": label, "hint": "found after None of the above"}]


def _annotation(row: Row) -> Row:
    person = row["person"]
    choice = {"from_name": "label", "to_name": "item", "type": "choices", "value": {"choices": [row["label"]]}}
    return {
        "id": row["answer"],
        "completed_by": {"email": person} if "@" in person else None,
        "result": [{"id": f"answer-{row['answer']}", **choice}],
        "lead_time": row["seconds"],
        "created_at": row["at"],
        "was_cancelled": False,
        "ground_truth": False,  # left out, it would be true
    }


# --- reading ---------------------------------------------------------------------------------------------------


def read(path: Path) -> Iterator[FileLabel]:
    for number, task in enumerate(_tasks(path), start=1):
        at = f"{path}: task {number}"
        data, meta = _table(task, "data"), _table(task, "meta")
        answer = _answer(at, task)
        person = first_known(meta.get("person"), answer.get("person"))
        key = first_known(data.get("key"), meta.get("key"), data.get("image"))
        yield FileLabel(at, key, answer.get("label"), person, answer.get("seconds"))


def _table(task: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = task.get(name)
    return value if isinstance(value, dict) else {}


def _answer(at: str, task: Mapping[str, Any]) -> Row:
    """What the annotations come to: the label, who gave it, in how many seconds; nothing if there are none."""
    answers: list[Row] = []
    for annotation in task.get("annotations") or []:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        label = only(at, _choices(at, annotation))
        if label is not None:
            person = _person(annotation.get("completed_by"))
            answers.append({"label": label, "person": person, "seconds": annotation.get("lead_time")})
    if len({str(answer["label"]) for answer in answers}) > 1:
        labels = ", ".join(repr(answer["label"]) for answer in answers)
        raise ShortlistError(f"{at} has annotations that differ ({labels})")
    return answers[0] if answers else {}


def _choices(at: str, annotation: Mapping[str, Any]) -> list[Any]:
    results = annotation.get("result")
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise ShortlistError(f"{at}: an annotation has no list of results")
    chosen = [_table(result, "value").get("choices") for result in results if result.get("type") == "choices"]
    return [name for names in chosen for name in (names if isinstance(names, list) else [names])]


def _person(completed_by: Any) -> Any:
    """An e-mail, or the number of a member."""
    return completed_by.get("email") if isinstance(completed_by, dict) else completed_by


def _tasks(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON list, decoded one by one: a million at once would not fit in memory."""
    text, decoder, number = path.read_text("utf-8-sig"), json.JSONDecoder(object_pairs_hook=whole), 0
    at = _after_space(text, 0)
    if text[at : at + 1] != "[":
        raise ShortlistError(f"{path}: is no JSON list of tasks")
    at = _after_space(text, at + 1)
    while text[at : at + 1] != "]":
        number += 1
        try:
            task, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise ShortlistError(f"{path}: task {number} is not JSON ({error})") from None
        if not isinstance(task, dict):
            raise ShortlistError(f"{path}: task {number} is no JSON object")
        yield task
        at = _after_space(text, at)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ShortlistError(f"{path}: the list ends after task {number} without a ]; is the file complete?")


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


LABEL_STUDIO = Format(
    "label-studio",
    "Label Studio",
    "Tasks with their options and annotations.",
    ".json",
    "application/json",
    write,
    read,
    shows_items=True,
)
