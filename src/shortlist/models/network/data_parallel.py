"""Several devices of one machine that train one network: a process each, and every batch shared between them.

The process of the campaign is the first of the group and does what it would do alone; the others do the same with
their part of each batch. torch averages the gradients; mix-up pairs, and batch normalisation sees, the images of one
process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
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

PATIENCE = timedelta(minutes=10)  # then a group that has lost a process gives up


class DataParallelTrainer(Trainer):
    """A trainer that shares every fit with `size - 1` other processes."""

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
        rendezvous = tempfile.TemporaryDirectory()  # where the processes find each other
        context = multiprocessing.get_context("spawn")
        _check_room(images.nbytes)
        shared = torch.from_numpy(images).share_memory_()  # type: ignore[no-untyped-call]
        self._pipes: list[Connection] = []
        processes = []
        for rank in range(1, size):
            ours, theirs = context.Pipe()
            group = (rank, size, rendezvous.name, device.type)
            arguments = (theirs, group, build, shared, n_classes, training)
            processes.append(context.Process(target=_serve, args=arguments, daemon=True))
            processes[-1].start()
            self._pipes.append(ours)
        self._dismiss = weakref.finalize(self, _dismiss, self._pipes, processes, rendezvous)
        _join(0, size, rendezvous.name, device.type)
        super().__init__(build, shared.numpy(), n_classes, training, _own(device.type, 0), rank=0, world=size)

    def close(self) -> None:
        self._dismiss()

    def fit(self, labelled: Labelled, rng: Rng) -> float:
        state = rng.bit_generator.state
        try:
            for pipe in self._pipes:
                pipe.send((labelled, state))
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
    pipe: Connection,
    group: tuple[int, int, str, str],
    build: Callable[[], nn.Module],
    images: torch.Tensor,
    n_classes: int,
    training: Training,
) -> None:
    """A process of the group: one fit after the other until it is dismissed."""
    rank, size, _, kind = group
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // size))
    _join(*group)
    trainer = Trainer(build, images.numpy(), n_classes, training, _own(kind, rank), rank=rank, world=size)
    with suppress(EOFError):  # the campaign's process is gone
        for labelled, state in iter(pipe.recv, None):
            rng = np.random.default_rng()
            rng.bit_generator.state = state
            trainer.fit(labelled, rng)
    distributed.destroy_process_group()


def _join(rank: int, size: int, rendezvous: str, kind: str) -> None:
    if kind == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if kind == "cuda" else "gloo",
        init_method=(Path(rendezvous) / "store").as_uri(),
        rank=rank,
        world_size=size,
        timeout=PATIENCE,
    )


def _own(kind: str, rank: int) -> torch.device:
    return torch.device(kind, rank) if kind == "cuda" else torch.device(kind)


def _dismiss(pipes: list[Connection], processes: list[Any], rendezvous: tempfile.TemporaryDirectory[str]) -> None:
    for pipe in pipes:
        with suppress(OSError):  # it is gone already
            pipe.send(None)
    if distributed.is_initialized():
        distributed.destroy_process_group()
    for process in processes:
        process.join(timeout=5)
        if process.is_alive():
            process.kill()
    rendezvous.cleanup()
