"""Several devices of one machine that train one network: a process each, and every batch shared between them.

The process of the campaign is the first of the crew and does what it would do alone; the others do the same with
their part of each batch. torch averages the gradients; mix-up pairs, and batch normalisation sees, the images of one
process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import distributed, multiprocessing, nn

from shortlist.models.network.trainer import Trainer
from shortlist.models.network.training import Training
from shortlist.types import Labelled, Rng, ShortlistError

PATIENCE = timedelta(minutes=10)  # then a crew whose member is gone gives up


class Crew(Trainer):
    """A trainer that calls `size - 1` others to every fit."""

    def __init__(
        self,
        build: Callable[[], nn.Module],
        images: npt.NDArray[np.uint8],
        n_classes: int,
        training: Training,
        device: torch.device,
        size: int,
    ) -> None:
        if device.type == "cuda" and torch.cuda.device_count() < size:
            raise ShortlistError(f"devices: {size} are asked for, and torch finds {torch.cuda.device_count()} GPUs")
        if distributed.is_initialized():
            raise ShortlistError("devices: this process belongs to a process group already; use one device")
        meeting = tempfile.TemporaryDirectory()  # where the processes find each other
        context = multiprocessing.get_context("spawn")
        _check_room(images.nbytes)
        shared = torch.from_numpy(images).share_memory_()  # type: ignore[no-untyped-call]
        self._lines: list[Connection] = []
        members = []
        for rank in range(1, size):
            ours, theirs = context.Pipe()
            given = (rank, size, meeting.name, device.type, theirs, build, shared, n_classes, training)
            members.append(context.Process(target=_serve, args=given, daemon=True))
            members[-1].start()
            self._lines.append(ours)
        self._dismiss = weakref.finalize(self, _dismiss, self._lines, members, meeting)
        _join(0, size, meeting.name, device.type)
        super().__init__(build, shared.numpy(), n_classes, training, _own(device.type, 0), rank=0, world=size)

    def close(self) -> None:
        self._dismiss()

    def fit(self, labelled: Labelled, rng: Rng) -> float:
        state = rng.bit_generator.state
        try:
            for line in self._lines:
                line.send((labelled, state))
        except OSError:
            raise ShortlistError("devices: a process that trains with this one is gone; start again") from None
        return super().fit(labelled, rng)


def _check_room(wanted: int, shared: Path = Path("/dev/shm")) -> None:
    """Processes share the images there, and a page too many kills them without a word."""
    free = shutil.disk_usage(shared).free if shared.is_dir() else wanted
    if free < wanted:
        raise ShortlistError(
            f"devices: the images take {wanted / 1e9:.2f} GB of shared memory, {shared} has {free / 1e9:.2f} GB free; "
            "give it more (a container's --shm-size), or use one device"
        )


def _serve(
    rank: int,
    size: int,
    meeting: str,
    kind: str,
    line: Connection,
    build: Callable[[], nn.Module],
    images: torch.Tensor,
    n_classes: int,
    training: Training,
) -> None:
    """A member of the crew: one fit after the other until it is dismissed."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // size))
    _join(rank, size, meeting, kind)
    member = Trainer(build, images.numpy(), n_classes, training, _own(kind, rank), rank=rank, world=size)
    while (task := _heard(line)) is not None:
        labelled, state = task
        rng = np.random.default_rng()
        rng.bit_generator.state = state
        member.fit(labelled, rng)
    distributed.destroy_process_group()


def _heard(line: Connection) -> tuple[Labelled, Any] | None:
    try:
        task: tuple[Labelled, Any] | None = line.recv()
    except EOFError:  # the campaign's process is gone
        return None
    return task


def _join(rank: int, size: int, meeting: str, kind: str) -> None:
    if kind == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if kind == "cuda" else "gloo",
        init_method=(Path(meeting) / "store").as_uri(),
        rank=rank,
        world_size=size,
        timeout=PATIENCE,
    )


def _own(kind: str, rank: int) -> torch.device:
    return torch.device(kind, rank) if kind == "cuda" else torch.device(kind)


def _dismiss(lines: list[Connection], members: list[Any], meeting: tempfile.TemporaryDirectory[str]) -> None:
    for line in lines:
        try:
            line.send(None)
        except OSError:  # it is gone already
            continue
    if distributed.is_initialized():
        distributed.destroy_process_group()
    for member in members:
        member.join(timeout=5)
        if member.is_alive():
            member.kill()
    meeting.cleanup()
