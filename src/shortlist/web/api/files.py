"""The API's files: labels out and in, while people go on labelling."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from shortlist.campaign.formats import FORMATS
from shortlist.campaign.formats.export import What, export
from shortlist.campaign.formats.format import by_dataset
from shortlist.campaign.formats.import_ import Imported, import_labels, read_labels
from shortlist.types import ShortlistError
from shortlist.web.api.labelling import service_of
from shortlist.web.security import Owner
from shortlist.web.service.labelling import LabellingService

router = APIRouter(prefix="/api", tags=["files"])
if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = Literal[tuple(FORMATS)]  # the API refuses other names, and its description lists these
READ = 1 << 20  # bytes at a time
SHOWN = 10  # rows that were left out
ANY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


# --- out -------------------------------------------------------------------------------------------------------


@router.get(
    "/export", response_class=StreamingResponse, responses={200: {"description": "the file", "content": {"*/*": {}}}}
)
def taken_out(
    request: Request,
    owner: Owner,
    format: FormatName = "csv",
    all: Annotated[bool, Query(description="also items without a label")] = False,
    answers: Annotated[bool, Query(description="every single answer instead, also those taken back")] = False,
    as_given: Annotated[bool, Query(description="the owner's table again, with the labels behind")] = False,
) -> StreamingResponse:
    """A file of labels and how each came about. The same answers always give the same file."""
    if all + answers + as_given > 1:
        raise HTTPException(400, "export: all, answers or as_given, not two of them")
    campaign = service_of(request).campaign
    dataset: Any = campaign.settings.dataset
    if as_given and not hasattr(dataset, "as_given"):
        raise HTTPException(400, "export: the items of this campaign are no rows of a table")
    what: What = "all" if all else "answers" if answers else "labels"
    ending = FORMATS[format].ending
    with tempfile.TemporaryDirectory() as made:
        target = Path(made) / f"{what}{ending}"
        with _without_folder(made):
            given = dataset.as_given() if as_given else None
            describe = by_dataset(dataset)
            export(campaign.folder.path, target, format=format, what=what, describe=describe, given=given)
        written = target.open("rb")  # it is read to its end though its name is gone
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    name = f'attachment; filename="{what}-{today}{ending}"'
    return StreamingResponse(
        _pieces(written), media_type=FORMATS[format].media_type, headers={"Content-Disposition": name}
    )


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(READ):
            yield piece


# --- in --------------------------------------------------------------------------------------------------------


@router.post("/import", openapi_extra={"requestBody": {"required": True, "content": ANY}})
async def brought_in(
    request: Request,
    owner: Owner,
    format: FormatName,
    overwrite: Annotated[bool, Query(description="also where people have said something else")] = False,
    skip_unknown: Annotated[bool, Query(description="leave out rows about no item or class of the campaign")] = False,
) -> dict[str, Any]:
    """Labels from a file, sent as the body, at no cost to the campaign. The same file twice changes nothing."""
    service = service_of(request)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / f"labels{FORMATS[format].ending}"
        with path.open("wb") as file:
            async for piece in request.stream():
                file.write(piece)
        with _without_folder(made):
            done = await asyncio.to_thread(_imported, service, path, format, overwrite, skip_unknown)
    await service.recount()
    return {**asdict(done), "refused": [line.replace(f"{made}/", "") for line in done.refused[:SHOWN]]}


def _imported(service: LabellingService, path: Path, format: str, overwrite: bool, skip_unknown: bool) -> Imported:
    """A few hundred labels at a time, in turn with people's answers, which wait for no more than that."""
    return import_labels(
        service.campaign.folder.path,
        read_labels(path, format),
        overwrite=overwrite,
        skip_unknown=skip_unknown,
        in_turn=lambda work: service.writer.submit(work).result(),
    )


@contextmanager
def _without_folder(place: str) -> Iterator[None]:
    """Messages have a file's own name, not the folder it lies in on this machine."""
    try:
        yield
    except ShortlistError as error:
        raise ShortlistError(str(error).replace(f"{place}/", "")) from None
