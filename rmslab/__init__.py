"""rmslab: the kit that the lessons of 猫吃鱼 · RMSNorm import.

Needs torch, numpy, matplotlib, IPython and ipywidgets, nothing else.
"""

__version__ = "0.1.0"

from rmslab import experiments, figures
from rmslab.engine import check
from rmslab.environment import banner, device
from rmslab.ordering import ordering
from rmslab.prediction import predicted
from rmslab.progress import progress
from rmslab.restart import recheck
from rmslab.trace import trace

__all__ = [
    "banner", "check", "device", "experiments", "figures", "ordering", "predicted", "progress", "recheck",
    "trace",
]  # fmt: skip
