"""The rows of a matrix of logits, each read once from memory: softmax, entropy, the two largest, a count.

A program holds some whole rows in registers, as many classes wide as the next power of two, and adds up in float32.
A row that holds NaN or +inf, or rules every class out, has an entropy of NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

WIDEST = 1 << 14  # classes: a wider row does not fit into the registers of one program
TILE = 1 << 12  # logits held by one program, if a row is no longer than that
PER_THREAD = 32  # logits held by one thread
DTYPES = (torch.bfloat16, torch.float16, torch.float32)  # float64 logits keep their precision on the plain path


class Summary(NamedTuple):
    entropy: torch.Tensor  # (n,) in nats
    largest: torch.Tensor  # (n,)
    second_largest: torch.Tensor  # (n,)


def reads(logits: torch.Tensor) -> bool:
    return logits.dtype in DTYPES and logits.shape[1] <= WIDEST


def softmax(logits: torch.Tensor) -> torch.Tensor:
    return torch.softmax(logits, dim=1, dtype=torch.float32 if logits.dtype.itemsize < 4 else logits.dtype)


def summary(logits: torch.Tensor) -> Summary:
    out = Summary(*(logits.new_empty(logits.shape[0], dtype=torch.float32) for _ in Summary._fields))
    _launch(_summary, logits, *out)
    return out


def count_at_least(logits: torch.Tensor, threshold: float) -> torch.Tensor:
    counts = logits.new_empty(logits.shape[0], dtype=torch.int64)
    _launch(_count, logits, counts, float(threshold))
    return counts


def _launch(kernel: triton.JITFunction, logits: torch.Tensor, *arguments: torch.Tensor | float) -> None:
    n, n_classes = logits.shape
    if n == 0:
        return
    width = triton.next_power_of_2(n_classes)
    rows = max(1, TILE // width)
    warps = min(16, max(4, rows * width // (32 * PER_THREAD)))
    with torch.cuda.device_of(logits):
        # the classes and the stride are constants, so that the compiler sees which loads may be 16 bytes wide
        kernel[(triton.cdiv(n, rows),)](
            logits, *arguments, n, logits.stride(1), logits.stride(0), n_classes, rows, width, num_warps=warps
        )


@triton.jit
def _summary(
    logits, entropy, largest, second_largest,
    n, column, ROW: tl.constexpr, L: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    row, z = _tile(logits, n, column, ROW, L, ROWS, WIDTH)
    first, second = tl.reduce((z, tl.full(z.shape, float("-inf"), tl.float32)), 1, _two_largest)
    below = z - first[:, None]
    e = tl.exp(below)
    total, weighed = tl.reduce((e, tl.where(e > 0, e * below, 0.0)), 1, _both_sums)  # 0·log 0 = 0
    h = tl.log(total) - weighed / total  # −Σ p log p, where p = e / total
    tl.store(entropy + row, tl.where(h < 0, 0.0, h), mask=row < n)
    tl.store(largest + row, 1.0 / total, mask=row < n)
    tl.store(second_largest + row, tl.exp(second - first) / total, mask=row < n)


@triton.jit
def _count(
    logits, counts, threshold,
    n, column, ROW: tl.constexpr, L: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    row, z = _tile(logits, n, column, ROW, L, ROWS, WIDTH)
    e = tl.exp(z - tl.max(z, axis=1)[:, None])
    reached = (e >= threshold * tl.sum(e, axis=1)[:, None]) & (tl.arange(0, WIDTH) < L)[None, :]
    tl.store(counts + row, tl.sum(reached.to(tl.int32), axis=1).to(tl.int64), mask=row < n)


@triton.jit
def _tile(logits, n, column, ROW: tl.constexpr, L: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """(ROWS,) places of this program's rows, and (ROWS, WIDTH) their logits, −inf beyond the last class."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)  # 64 bits: n·L may not fit into 32
    inside = tl.minimum(row, n - 1)  # a place beyond the last row reads that row, and is not written
    cls = tl.arange(0, WIDTH)
    places = logits + (inside * ROW)[:, None] + (cls.to(tl.int64) * column)[None, :]
    return row, tl.load(places, mask=(cls < L)[None, :], other=float("-inf")).to(tl.float32)


@triton.jit
def _two_largest(first, second, other_first, other_second):
    middle = tl.minimum(first, other_first)
    return tl.maximum(first, other_first), tl.maximum(middle, tl.maximum(second, other_second))


@triton.jit
def _both_sums(one, two, other_one, other_two):
    return one + other_one, two + other_two
