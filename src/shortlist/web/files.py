"""The API's files: labels out and in, while people go on labelling."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from shortlist.campaign.formats.content import by_dataset
from shortlist.campaign.formats.export import export
from shortlist.campaign.formats.import_ import Imported, import_labels, read_labels
from shortlist.campaign.formats.names import Format
from shortlist.campaign.formats.rows import What
from shortlist.types import ShortlistError
from shortlist.web.api import live_of
from shortlist.web.guard import Owner
from shortlist.web.live import Live

T = TypeVar("T")
router = APIRouter(prefix="/api", tags=["files"])
ENDINGS: dict[Format, tuple[str, str]] = {  # and media types
    "csv": (".csv", "text/csv; charset=utf-8"),
    "spreadsheet": (".csv", "text/csv; charset=utf-8"),
    "jsonl": (".jsonl", "application/jsonl"),
    "parquet": (".parquet", "application/vnd.apache.parquet"),
    "label-studio": (".json", "application/json"),
    "doccano": (".doccano.jsonl", "application/jsonl"),
}
READ = 1 << 20  # bytes at a time
ANY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


# --- out -------------------------------------------------------------------------------------------------------


@router.get(
    "/export", response_class=StreamingResponse, responses={200: {"description": "the file", "content": {"*/*": {}}}}
)
def taken_out(
    request: Request,
    owner: Owner,
    format: Format = "csv",
    all: Annotated[bool, Query(description="also items without a label")] = False,
    answers: Annotated[bool, Query(description="every single answer instead, also those taken back")] = False,
) -> StreamingResponse:
    """A file of labels and how each came about. The same answers always give the same file."""
    if all and answers:
        raise HTTPException(400, "export: all or answers, not both")
    campaign = live_of(request).campaign
    what: What = "all" if all else "answers" if answers else "labels"
    ending, kind = ENDINGS[format]
    with tempfile.TemporaryDirectory() as made:
        target = Path(made) / f"{what}{ending}"
        with _told_by_name(made):
            describe = by_dataset(campaign.learner.dataset)
            export(campaign.folder.path, target, format=format, what=what, describe=describe)
        written = target.open("rb")  # it is read to its end though its name is gone
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    name = f'attachment; filename="{what}-{today}{ending}"'
    return StreamingResponse(_pieces(written), media_type=kind, headers={"Content-Disposition": name})


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(READ):
            yield piece


# --- in --------------------------------------------------------------------------------------------------------


@router.post("/import", openapi_extra={"requestBody": {"required": True, "content": ANY}})
async def brought_in(
    request: Request,
    owner: Owner,
    format: Format,
    overwrite: Annotated[bool, Query(description="also where people have said something else")] = False,
    skip_unknown: Annotated[bool, Query(description="leave out rows about no item or class of the campaign")] = False,
) -> dict[str, Any]:
    """Labels from a file, sent as the body, at no cost to the campaign. The same file twice changes nothing."""
    live = live_of(request)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / f"labels{ENDINGS[format][0]}"
        with path.open("wb") as file:
            async for piece in request.stream():
                file.write(piece)
        with _told_by_name(made):
            done = await _imported(live, path, format, overwrite, skip_unknown)
    await live.recount()
    return asdict(done)


async def _imported(live: Live, path: Path, format: Format, overwrite: bool, skip_unknown: bool) -> Imported:
    """Off the loop, and a few hundred labels at a time in turn with people's answers: nobody waits for all of them."""
    loop = asyncio.get_running_loop()

    def in_turn(work: Callable[[], T]) -> T:
        return asyncio.run_coroutine_threadsafe(live.scribe.do(work), loop).result()

    def bring_in() -> Imported:
        rows = read_labels(path, format)
        store = live.campaign.store
        return import_labels(store, rows, overwrite=overwrite, skip_unknown=skip_unknown, in_turn=in_turn)

    return await asyncio.to_thread(bring_in)


@contextmanager
def _told_by_name(place: str) -> Iterator[None]:
    """Sentences name a file as whoever sent it does, not by where it lies on this machine."""
    try:
        yield
    except ShortlistError as error:
        raise ShortlistError(str(error).replace(f"{place}/", "")) from None
