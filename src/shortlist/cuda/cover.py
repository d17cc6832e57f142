"""ProbCover's picks one after another without waiting for the host.

A pick is a few dozen small kernels, and launching them takes many times longer than they do. So some picks are captured
as a CUDA graph that is replayed until there are enough: what they read and write stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

STEPS = 64  # picks of a graph
BLOCK = 128  # neighbours looked at together


def picks(
    worth: Callable[[], torch.Tensor],  # (n,) of every item as things stand, −inf where it was chosen
    open_: torch.Tensor,  # (n,) the items that can be chosen
    degrees: torch.Tensor,  # (n,) int64
    uncovered: torch.Tensor,  # (n,)
    items: torch.Tensor,  # the neighbours of item 0, of item 1 and so on
    offsets: torch.Tensor,  # (n + 1,)
    longest: int,  # list
    n: int,
) -> list[int]:
    """At most n items, each worth most when its turn came, until nothing is left to cover. All four change in place."""
    chosen = torch.full((n + 2 * STEPS,), -1, device=degrees.device)
    count, left = torch.zeros(1, dtype=torch.int64, device=degrees.device), uncovered.sum().reshape(1)

    def step() -> None:
        best = worth().argmax().reshape(1)
        going = left > 0  # once everything is covered, nothing changes any more
        chosen.scatter_(0, count, best)
        open_.scatter_(0, best, open_.gather(0, best) & ~going)
        count.add_(going)
        _cover[(longest,)](best, items, offsets, uncovered.view(torch.uint8), degrees, left, BLOCK)

    with torch.cuda.device_of(degrees):
        play = step if n <= STEPS or not degrees.is_cuda else _captured(step)
        while int(count) < n and int(left):
            play()
    return chosen[: min(n, int(count))].tolist()


def _captured(step: Callable[[], None]) -> Callable[[], None]:
    """Some steps as one graph. A capture runs nothing, and wants a step to have been run before: here it counts."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(STEPS):
            step()
    return graph.replay


@triton.jit
def _cover(best, items, offsets, uncovered, degrees, left, BLOCK: tl.constexpr):
    """One program for each neighbour of the item: if it was uncovered, those near it have one less to cover."""
    item = tl.load(best)
    place = tl.load(offsets + item) + tl.program_id(0)
    if place < tl.load(offsets + item + 1):
        near = tl.load(items + place).to(tl.int64)
        if tl.load(uncovered + near) != 0:
            tl.store(uncovered + near, 0)
            tl.atomic_add(left, tl.full((), -1, tl.int64))
            start, end = tl.load(offsets + near), tl.load(offsets + near + 1)
            while start < end:
                places = start + tl.arange(0, BLOCK)
                those = tl.load(items + places, mask=places < end, other=0).to(tl.int64)
                tl.atomic_add(degrees + those, tl.full((BLOCK,), -1, tl.int64), mask=places < end)
                start += BLOCK
