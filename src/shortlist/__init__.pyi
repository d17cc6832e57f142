"""The public names, one a line: what type checkers and editors read, and what `__init__.py` imports on first use."""

from shortlist.acquisition.badge import Badge as Badge
from shortlist.acquisition.bald import Bald as Bald
from shortlist.acquisition.core_set import CoreSet as CoreSet
from shortlist.acquisition.cost_aware import CostAware as CostAware
from shortlist.acquisition.entropy import Entropy as Entropy
from shortlist.acquisition.least_confident import LeastConfident as LeastConfident
from shortlist.acquisition.margin import Margin as Margin
from shortlist.acquisition.prob_cover import ProbCover as ProbCover
from shortlist.acquisition.prob_cover import purity_radius as purity_radius
from shortlist.acquisition.random import Random as Random
from shortlist.acquisition.saal import Saal as Saal
from shortlist.acquisition.typi_clust import TypiClust as TypiClust
from shortlist.annotators.simulated import Simulated as Simulated
from shortlist.annotators.simulated import noisy as noisy
from shortlist.campaign.accounting.stopping import Stopping as Stopping
from shortlist.campaign.engine import Campaign as Campaign
from shortlist.campaign.questions.resolution import Overlap as Overlap
from shortlist.campaign.schedule import Doubling as Doubling
from shortlist.campaign.schedule import Fixed as Fixed
from shortlist.conformal import APS as APS
from shortlist.conformal import LAC as LAC
from shortlist.conformal import RAPS as RAPS
from shortlist.costs import Bits as Bits
from shortlist.costs import Linear as Linear
from shortlist.costs import Seconds as Seconds
from shortlist.datasets.arrays import Arrays as Arrays
from shortlist.datasets.builtin.digits import Digits as Digits
from shortlist.datasets.builtin.glyphs import Glyphs as Glyphs
from shortlist.datasets.feature_file import FeatureFile as FeatureFile
from shortlist.datasets.image_folder import ImageFolder as ImageFolder
from shortlist.datasets.official.cifar import Cifar10 as Cifar10
from shortlist.datasets.official.cifar import Cifar100 as Cifar100
from shortlist.datasets.official.cifar import long_tail as long_tail
from shortlist.datasets.official.imagenet64 import Imagenet64 as Imagenet64
from shortlist.datasets.official.products10k import Products10k as Products10k
from shortlist.datasets.table import R52 as R52
from shortlist.datasets.table import Table as Table
from shortlist.logits import Logits as Logits
from shortlist.models.belief.belief import Belief as Belief
from shortlist.models.belief.neighbours import Neighbours as Neighbours
from shortlist.models.encoders.encoder import Encoder as Encoder
from shortlist.models.hub import Hub as Hub
from shortlist.models.kernel_svm import KernelSVM as KernelSVM
from shortlist.models.linear_probe import LinearProbe as LinearProbe
from shortlist.models.network.network import Network as Network
from shortlist.models.scikit import Scikit as Scikit
from shortlist.models.simclr import Simclr as Simclr
from shortlist.plans import Plan as Plan
from shortlist.probabilities import align as align
from shortlist.queries.candidate_set import CandidateSet as CandidateSet
from shortlist.queries.conventional import Conventional as Conventional
from shortlist.queries.nested import Nested as Nested
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

__version__: str
HOMES: dict[str, str]
__all__: list[str]
