"""The encoder in the package wordllama: a vector for each token, and a text is the mean of its tokens'. No torch.

Its two files are read as they are. The package's own code would ask the network for what it does not find, and changes
the logging of the whole process when it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from shortlist.models.encoders import Features
from shortlist.system.arrays import blocks
from shortlist.system.digests import digest
from shortlist.system.progress import track
from shortlist.types import Kind, ShortlistError

WEIGHTS, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
TOGETHER = 2048  # texts that are cut into tokens at once, on all cores


@dataclass(frozen=True)
class WordLlama:
    name: str
    vectors: Features  # (V, D) of the tokens
    tokenizer: Any
    digest: str
    kind: Kind = "texts"

    def is_half(self, device: str) -> bool:
        return False

    def encode(self, inputs: Sequence[str], batch: int, device: str, what: str) -> Features:
        """(n, D); zeros for a text without a token. Neither batch nor device makes a difference."""
        means = np.zeros((len(inputs), self.vectors.shape[1]), np.float32)
        for block in track(blocks(len(inputs), TOGETHER), total=ceil(len(inputs) / TOGETHER), what=what):
            means[block] = self._means([_utf8(inputs[i]) for i in range(block.start, block.stop)])
        return means

    def _means(self, texts: list[str]) -> Features:
        tokens = [found.ids for found in self.tokenizer.encode_batch(texts, add_special_tokens=False)]
        lengths = np.array([len(ids) for ids in tokens])
        ids = np.minimum(np.fromiter(chain.from_iterable(tokens), np.int64, lengths.sum()), len(self.vectors) - 1)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        counts = sparse.csr_array((np.ones(len(ids), np.float32), ids, ends), (len(texts), len(self.vectors)))
        means: Features = counts @ self.vectors
        means /= np.maximum(lengths, 1)[:, np.newaxis]
        return means


def load(name: str, folder: Path) -> WordLlama:
    from safetensors import SafetensorError, safe_open
    from tokenizers import Tokenizer

    try:
        with safe_open(folder / WEIGHTS, framework="np") as file:
            vectors = np.ascontiguousarray(file.get_tensor("embedding.weight"), np.float32)
        raw = (folder / TOKENIZER).read_text("utf-8")
    except (OSError, SafetensorError) as error:
        raise ShortlistError(
            f"encoder: {name} cannot be read: {error}; run: pip install --force-reinstall --no-deps wordllama"
        ) from None
    tokenizer = Tokenizer.from_str(raw)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return WordLlama(name, vectors, tokenizer, digest("word_llama", vectors, raw))


def _utf8(text: str) -> str:
    """Without halves of surrogate pairs, which the tokenizer does not take."""
    return text.encode("utf-8", "replace").decode("utf-8")
