"""Shortlist gets a classification dataset labelled for as little human effort as possible.

Every name below is imported when it is first used, so `import shortlist` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names once more, for type checkers and editors
    from shortlist.acquisition.badge import Badge as Badge
    from shortlist.acquisition.core_set import CoreSet as CoreSet
    from shortlist.acquisition.cost_aware import CostAware as CostAware
    from shortlist.acquisition.entropy import Entropy as Entropy
    from shortlist.acquisition.least_confident import LeastConfident as LeastConfident
    from shortlist.acquisition.margin import Margin as Margin
    from shortlist.acquisition.prob_cover import ProbCover as ProbCover
    from shortlist.acquisition.purity import purity_radius as purity_radius
    from shortlist.acquisition.random import Random as Random
    from shortlist.acquisition.saal import Saal as Saal
    from shortlist.acquisition.typi_clust import TypiClust as TypiClust
    from shortlist.annotators.simulated import Simulated as Simulated
    from shortlist.annotators.simulated import noisy as noisy
    from shortlist.campaign.engine import Campaign as Campaign
    from shortlist.campaign.overlap import Overlap as Overlap
    from shortlist.campaign.stopping import Stopping as Stopping
    from shortlist.conformal import APS as APS
    from shortlist.conformal import LAC as LAC
    from shortlist.conformal import RAPS as RAPS
    from shortlist.costs import Bits as Bits
    from shortlist.costs import Linear as Linear
    from shortlist.costs import Seconds as Seconds
    from shortlist.datasets.arrays import Arrays as Arrays
    from shortlist.datasets.cifar import Cifar10 as Cifar10
    from shortlist.datasets.cifar import Cifar100 as Cifar100
    from shortlist.datasets.digits import Digits as Digits
    from shortlist.datasets.feature_file import FeatureFile as FeatureFile
    from shortlist.datasets.glyphs import Glyphs as Glyphs
    from shortlist.datasets.image_folder import ImageFolder as ImageFolder
    from shortlist.datasets.imagenet64 import Imagenet64 as Imagenet64
    from shortlist.datasets.long_tail import long_tail as long_tail
    from shortlist.datasets.products10k import Products10k as Products10k
    from shortlist.datasets.r52 import R52 as R52
    from shortlist.datasets.table import Table as Table
    from shortlist.logits import Logits as Logits
    from shortlist.models.hub import Hub as Hub
    from shortlist.models.kernel_svm import KernelSVM as KernelSVM
    from shortlist.models.linear_probe import LinearProbe as LinearProbe
    from shortlist.models.network.network import Network as Network
    from shortlist.models.scikit import Scikit as Scikit
    from shortlist.models.simclr import Simclr as Simclr
    from shortlist.plans import Plan as Plan
    from shortlist.queries.candidate_set import CandidateSet as CandidateSet
    from shortlist.queries.conventional import Conventional as Conventional
    from shortlist.queries.one_bit import OneBit as OneBit
    from shortlist.queries.oracle import Oracle as Oracle
    from shortlist.queries.top_k import TopK as TopK
    from shortlist.types import Answer as Answer
    from shortlist.types import Labelled as Labelled
    from shortlist.types import Pool as Pool
    from shortlist.types import Predictions as Predictions
    from shortlist.types import Question as Question
    from shortlist.types import Round as Round
    from shortlist.types import ShortlistError as ShortlistError

__version__ = "0.1.0"

HOMES = {
    "acquisition.badge": ["Badge"],
    "acquisition.core_set": ["CoreSet"],
    "acquisition.cost_aware": ["CostAware"],
    "acquisition.entropy": ["Entropy"],
    "acquisition.least_confident": ["LeastConfident"],
    "acquisition.margin": ["Margin"],
    "acquisition.prob_cover": ["ProbCover"],
    "acquisition.purity": ["purity_radius"],
    "acquisition.random": ["Random"],
    "acquisition.saal": ["Saal"],
    "acquisition.typi_clust": ["TypiClust"],
    "annotators.simulated": ["Simulated", "noisy"],
    "campaign.engine": ["Campaign"],
    "campaign.overlap": ["Overlap"],
    "campaign.stopping": ["Stopping"],
    "conformal": ["APS", "LAC", "RAPS"],
    "costs": ["Bits", "Linear", "Seconds"],
    "datasets.arrays": ["Arrays"],
    "datasets.cifar": ["Cifar10", "Cifar100"],
    "datasets.digits": ["Digits"],
    "datasets.feature_file": ["FeatureFile"],
    "datasets.glyphs": ["Glyphs"],
    "datasets.image_folder": ["ImageFolder"],
    "datasets.imagenet64": ["Imagenet64"],
    "datasets.long_tail": ["long_tail"],
    "datasets.products10k": ["Products10k"],
    "datasets.r52": ["R52"],
    "datasets.table": ["Table"],
    "logits": ["Logits"],
    "models.hub": ["Hub"],
    "models.kernel_svm": ["KernelSVM"],
    "models.linear_probe": ["LinearProbe"],
    "models.network.network": ["Network"],
    "models.scikit": ["Scikit"],
    "models.simclr": ["Simclr"],
    "plans": ["Plan"],
    "queries.candidate_set": ["CandidateSet"],
    "queries.conventional": ["Conventional"],
    "queries.one_bit": ["OneBit"],
    "queries.oracle": ["Oracle"],
    "queries.top_k": ["TopK"],
    "types": ["Answer", "Labelled", "Pool", "Predictions", "Question", "Round", "ShortlistError"],
}
_HOME = {name: f"{__name__}.{module}" for module, names in HOMES.items() for name in names}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
