"""The paper's own numbers, to stand beside ours (Gwon et al., TMLR 2025)."""

from __future__ import annotations

from dataclasses import dataclass

ROUNDS = tuple(range(2, 10))
ACCURACY_PER_COST = {  # CIFAR-100, all with candidate sets, rounds 2 to 9, three seeds
    "Ent": (2.36, 1.74, 1.55, 1.43, 1.36, 1.30, 1.26, 1.24),
    "Cost(Ent)": (2.36, 2.09, 1.89, 1.68, 1.56, 1.48, 1.37, 1.30),
    "BADGE": (2.51, 1.94, 1.69, 1.51, 1.40, 1.34, 1.29, 1.27),
    "Cost(BADGE)": (2.64, 2.17, 1.92, 1.75, 1.58, 1.49, 1.37, 1.32),
    "ProbCover": (2.43, 1.72, 1.60, 1.55, 1.47, 1.39, 1.33, 1.30),
    "Cost(ProbCover)": (2.43, 2.10, 1.98, 1.79, 1.66, 1.52, 1.39, 1.32),
    "SAAL": (2.37, 1.83, 1.55, 1.43, 1.37, 1.32, 1.28, 1.25),
    "Cost(SAAL)": (2.36, 2.12, 1.94, 1.74, 1.64, 1.50, 1.38, 1.31),
}


@dataclass(frozen=True)
class Claim:
    """How much cheaper candidate sets came than conventional queries for as many labels.

    In % of the conventional cost, or in points of relative cost, as the paper says it.
    """

    where: str
    paper: float
    recipe: str
    acquisitions: tuple[str, ...]  # the paper does not always say which
    variant: str = ""
    round: int | None = None  # None: the last
    points: bool = False


ANY = ("Rand", "Ent", "Cost(Ent)")
OURS = ("Cost(Ent)",)
CLAIMS = (
    Claim("CIFAR-10", 43, "cifar10", ANY),
    Claim("CIFAR-100", 54, "cifar100", ANY),
    Claim("ImageNet64x64", 48, "imagenet64", ANY),
    Claim("R52, TF-IDF, round 10", 65.6, "text", ("Rand",), round=10, points=True),
    # it does not say where it counts from
    Claim("R52, TF-IDF, round 10 counted from 0", 65.6, "text", ("Rand",), round=11, points=True),
    Claim("CIFAR-100, label noise 0.05, round 9", 33.4, "noise", OURS, "noise=0.05", 9, points=True),
    Claim("CIFAR-100, label noise 0.1, round 9", 27.4, "noise", OURS, "noise=0.1", 9, points=True),
    Claim("CIFAR-100-LT, ratio 6, round 4", 31.1, "imbalance", OURS, "ratio=6", 4, points=True),
    Claim("CIFAR-100-LT, ratio 10, round 4", 29.2, "imbalance", OURS, "ratio=10", 4, points=True),
    Claim("Products-10K, EfficientNet-B3", 27, "products10k", OURS, "efficientnet-b3", points=True),
)
