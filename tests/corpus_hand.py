"""Students' answers to 02-hand-calculation, as the text of their solution cells.

Data for ``test_corpus_lessons.py`` and ``matrix.py``. Every answer was written for this corpus, in the manner
of people who calculate on paper and then write their first functions. A cell that an entry does not mention
holds the right answer, so an entry shows one student's trouble and nothing else.
"""

from dataclasses import dataclass, field

from rmslab.checks.hand import vectors
from rmslab.checks.hand_formulas import chain
from rmslab.step import VISIBLE_SEED


@dataclass(frozen=True, eq=False)
class Answers:
    """One submission to a lesson of several cells."""

    name: str
    family: str
    source: str
    """Executed after the right answers, so it replaces those it names."""
    loses: dict[str, tuple[str | tuple[str, ...] | None, float]] = field(default_factory=dict)
    """Step → (misconception, or None where no catalogued one is asked for; points that remain)."""
    only_unseen: bool = False
    """Right on the visible inputs, which it knows by heart."""

    @property
    def right(self) -> bool:
        return not self.loses


SHAPES, CHI_LN, CHI_RMS, YU, READING, PYTHON = (
    "hand-shapes", "hand-chi-layernorm", "hand-chi-rmsnorm", "hand-yu", "hand-reading", "hand-python",
)  # fmt: skip

RIGHT_ANSWERS = """
import math
import statistics

shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(4,))
chi_layernorm = dict(
    mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236, layernorm=[0.447, -0.447, -1.342, 1.342]
)
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.816, 0, -0.816, 1.633])
yu = dict(
    mean=0, variance=1, std=1, layernorm=[-1, 1, -1, 1], mean_square=1, rms=1, rmsnorm=[-1, 1, -1, 1]
)
reading = dict(
    zero_after_rmsnorm=0, zero_after_layernorm=-0.447, why_yu_agrees="B", sum_of_squares=4,
    layernorm_parameters=8, rmsnorm_parameters=4,
)

def layernorm(v):
    m = sum(v) / len(v)
    s = (sum((a - m) ** 2 for a in v) / len(v)) ** 0.5
    return [(a - m) / s for a in v]

def rmsnorm(v):
    r = (sum(a * a for a in v) / len(v)) ** 0.5
    return [a / r for a in v]
"""

ENTRIES: list[Answers] = []


def wrong(name, family, loses, source, **more):
    ENTRIES.append(Answers(name, family, source, loses, **more))


def right(name, source):
    ENTRIES.append(Answers(name, "right", source))


# --- 形状 -------------------------------------------------------------------------------------------------

wrong(
    "shapes-mean-drops-the-axis",
    "shape",
    {SHAPES: ("no-keepdim", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3), rms=(1, 3), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-root-drops-the-axis",
    "shape",
    {SHAPES: ("no-keepdim", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-over-tokens",
    "shape",
    {SHAPES: ("mean-over-tokens", 1.6)},
    """
shapes = dict(squares=[1, 3, 4], mean_square=[1, 1, 4], rms=[1, 1, 4], output=[1, 3, 4], gamma=[4])
""",
)

wrong(
    "shapes-over-tokens-without-the-axis",
    "shape",
    {SHAPES: ("mean-over-tokens", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 4), rms=(1, 4), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-one-number-for-all",
    "shape",
    {SHAPES: ("mean-over-everything", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 1, 1), rms=(1, 1, 1), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-one-plain-number",
    "shape",
    {SHAPES: ("mean-over-everything", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(), rms=(), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-statistic-for-each-number",
    "shape",
    {SHAPES: ("statistic-per-feature", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 4), rms=(1, 3, 4), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-squares-already-summed",
    "shape",
    {SHAPES: ("squares-summed", 1.6)},
    """
shapes = dict(squares=(1, 3, 1), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-output-like-rms",
    "shape",
    {SHAPES: ("output-reduced", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 1), gamma=(4,))
""",
)

wrong(
    "shapes-one-gamma",
    "shape",
    {SHAPES: ("weight-scalar", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(1,))
""",
)

wrong(
    "shapes-gamma-is-a-number",
    "shape",
    {SHAPES: ("weight-scalar", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=())
""",
)

wrong(
    "shapes-gamma-a-row",
    "shape",
    {SHAPES: ("weight-two-dimensional", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(1, 4))
""",
)

wrong(
    "shapes-gamma-one-per-token",
    "shape",
    {SHAPES: ("weight-per-token", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(3,))
""",
)

wrong(
    "shapes-gamma-like-x",
    "shape",
    {SHAPES: ("weight-per-token", 1.6)},
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(1, 3, 4))
""",
)

wrong(
    "shapes-without-the-batch",
    "shape",
    {SHAPES: ("batch-left-out", 1.6)},
    """
shapes = dict(squares=(3, 4), mean_square=(3, 1), rms=(3, 1), output=(3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-squared-themselves",
    "shape",
    {SHAPES: (None, 1.6)},
    """
shapes = dict(squares=(1, 9, 16), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(4,))
""",
)

wrong(
    "shapes-as-text",
    "form",
    {SHAPES: (None, 0)},
    """
shapes = dict(squares="(1,3,4)", mean_square="(1,3,1)", rms="(1,3,1)", output="(1,3,4)", gamma="(4,)")
""",
)

# --- 吃 · LayerNorm ---------------------------------------------------------------------------------------

wrong(
    "chi-ln-divides-by-three",
    "statistic",
    {CHI_LN: ("n-minus-one", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=6.667, std=2.582,
                     layernorm=[0.387, -0.387, -1.162, 1.162])
""",
)

wrong(
    "chi-ln-stdev-of-the-calculator",
    "statistic",
    {CHI_LN: ("n-minus-one", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.582,
                     layernorm=[0.387, -0.387, -1.162, 1.162])
""",
)

wrong(
    "chi-ln-output-by-n-minus-one",
    "statistic",
    {CHI_LN: ("n-minus-one", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.387, -0.387, -1.162, 1.162])
""",
)

wrong(
    "chi-ln-sum-of-squares",
    "statistic",
    {CHI_LN: ("sum-not-mean", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=20, std=4.472,
                     layernorm=[0.224, -0.224, -0.671, 0.671])
""",
)

wrong(
    "chi-ln-no-root",
    "root",
    {CHI_LN: ("no-root", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=5, layernorm=[0.2, -0.2, -0.6, 0.6])
""",
)

wrong(
    "chi-ln-divides-by-variance",
    "root",
    {CHI_LN: ("no-root", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.2, -0.2, -0.6, 0.6])
""",
)

wrong(
    "chi-ln-distances",
    "sign",
    {CHI_LN: ("sign-lost", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, 1, 3, 3], variance=5, std=2.236,
                     layernorm=[0.447, 0.447, 1.342, 1.342])
""",
)

wrong(
    "chi-ln-mean-minus-x",
    "sign",
    {CHI_LN: ("sign-lost", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[-1, 1, 3, -3], variance=5, std=2.236,
                     layernorm=[-0.447, 0.447, 1.342, -1.342])
""",
)

wrong(
    "chi-ln-mean-added",
    "sign",
    {CHI_LN: ("sign-lost", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[3, 1, -1, 5], variance=9, std=3,
                     layernorm=[1, 0.333, -0.333, 1.667])
""",
)

wrong(
    "chi-ln-sign-lost-at-the-end",
    "sign",
    {CHI_LN: ("sign-lost", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.447, 0.447, 1.342, 1.342])
""",
)

wrong(
    "chi-ln-mean-square-for-variance",
    "statistic",
    {CHI_LN: ("variance-without-centring", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=6, std=2.449,
                     layernorm=[0.408, -0.408, -1.225, 1.225])
""",
)

wrong(
    "chi-ln-x-over-std",
    "statistic",
    {CHI_LN: ("variance-without-centring", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.894, 0, -0.894, 1.789])
""",
)

wrong(
    "chi-ln-is-rmsnorm",
    "statistic",
    {CHI_LN: ("rmsnorm-instead", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.816, 0, -0.816, 1.633])
""",
)

wrong(
    "chi-ln-mean-distance",
    "statistic",
    {CHI_LN: ("mean-absolute", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=2, std=1.414,
                     layernorm=[0.707, -0.707, -2.121, 2.121])
""",
)

wrong(
    "chi-ln-no-variance",  # the square of the mean, or negative squares for negative numbers: who knows
    "slip",
    {CHI_LN: (None, 1.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=0, std=0, layernorm=...)   # 不能除以 0？
""",
)

wrong(
    "chi-ln-times-std",
    "root",
    {CHI_LN: ("multiplied-by-rms", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[2.236, -2.236, -6.708, 6.708])
""",
)

wrong(
    "chi-ln-one-decimal",
    "rounding",
    {CHI_LN: ("rounded-early", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.2,
                     layernorm=[0.455, -0.455, -1.364, 1.364])
""",
)

wrong(
    "chi-ln-output-one-decimal",
    "rounding",
    {CHI_LN: ("rounded-early", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.4, -0.4, -1.3, 1.3])
""",
)

wrong(
    "chi-ln-output-from-two-digits",
    "rounding",
    {CHI_LN: ("rounded-early", 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.455, -0.455, -1.364, 1.364])   # 用 2.2 算的
""",
)

wrong(
    "chi-ln-slip-in-variance",
    "slip",
    {CHI_LN: (None, 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=4, std=2, layernorm=[0.5, -0.5, -1.5, 1.5])
""",
)

wrong(
    "chi-ln-one-sign-slips",
    "sign",
    {CHI_LN: ("sign-lost", 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, 3, 3], variance=5, std=2.236,
                     layernorm=[0.447, -0.447, 1.342, 1.342])
""",
)

wrong(
    "chi-ln-slip-in-a-deviation",
    "slip",
    {CHI_LN: (None, 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -2, 3], variance=3.75, std=1.936,
                     layernorm=[0.516, -0.516, -1.033, 1.549])
""",
)

wrong(
    "chi-ln-digits-swapped",
    "slip",
    {CHI_LN: (None, 2)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.263,
                     layernorm=[0.447, -0.447, -1.342, 1.342])
""",
)

wrong(
    "chi-ln-slip-then-another",
    "slip",
    {CHI_LN: (None, 1.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=4, std=2.2,
                     layernorm=[0.5, -0.5, -1.5, 1.5])   # 输出按 √4 = 2 算的
""",
)

wrong(
    "chi-ln-one-deviation-short",
    "form",
    {CHI_LN: (None, 2.5)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3], variance=5, std=2.236,
                     layernorm=[0.447, -0.447, -1.342, 1.342])
""",
)

wrong(
    "chi-ln-half-filled",
    "blank",
    {CHI_LN: (None, 1)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=..., layernorm=[..., ..., ..., ...])
""",
)

# --- 吃 · RMSNorm -----------------------------------------------------------------------------------------

wrong(
    "chi-rms-sum",
    "statistic",
    {CHI_RMS: ("sum-not-mean", 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=24, rms=4.899, rmsnorm=[0.408, 0, -0.408, 0.816])
""",
)

wrong(
    "chi-rms-root-of-the-sum",
    "statistic",
    {CHI_RMS: ("sum-not-mean", 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=4.899, rmsnorm=[0.408, 0, -0.408, 0.816])
""",
)

wrong(
    "chi-rms-unit-length-output",
    "statistic",
    {CHI_RMS: ("sum-not-mean", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.408, 0, -0.408, 0.816])
""",
)

wrong(
    "chi-rms-no-root",
    "root",
    {CHI_RMS: ("no-root", 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=6, rmsnorm=[0.333, 0, -0.333, 0.667])
""",
)

wrong(
    "chi-rms-output-no-root",
    "root",
    {CHI_RMS: ("no-root", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.333, 0, -0.333, 0.667])
""",
)

wrong(
    "chi-rms-times",
    "root",
    {CHI_RMS: ("multiplied-by-rms", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[4.899, 0, -4.899, 9.798])
""",
)

wrong(
    "chi-rms-of-deviations",
    "statistic",
    {CHI_RMS: ("layernorm", 3.5)},
    """
chi_rmsnorm = dict(squares=[1, 1, 9, 9], mean_square=5, rms=2.236, rmsnorm=[0.894, 0, -0.894, 1.789])
""",
)

wrong(
    "chi-rms-variance",
    "statistic",
    {CHI_RMS: ("layernorm", 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=5, rms=2.236, rmsnorm=[0.894, 0, -0.894, 1.789])
""",
)

wrong(
    "chi-rms-output-is-layernorm",
    "statistic",
    {CHI_RMS: ("layernorm", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.447, -0.447, -1.342, 1.342])
""",
)

wrong(
    "chi-rms-centred-over-rms",
    "statistic",
    {CHI_RMS: ("layernorm", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.408, -0.408, -1.225, 1.225])
""",
)

wrong(
    "chi-rms-magnitudes",
    "statistic",
    {CHI_RMS: ("mean-absolute", 3.5)},
    """
chi_rmsnorm = dict(squares=[2, 0, 2, 4], mean_square=2, rms=1.414, rmsnorm=[1.414, 0, -1.414, 2.828])
""",
)

wrong(
    "chi-rms-mean-magnitude",
    "statistic",
    {CHI_RMS: ("mean-absolute", 2)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=2, rms=2, rmsnorm=[1, 0, -1, 2])
""",
)

wrong(
    "chi-rms-doubled",
    "statistic",
    {CHI_RMS: ("doubled-not-squared", 3.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, -4, 8], mean_square=2, rms=1.414, rmsnorm=[1.414, 0, -1.414, 2.828])
""",
)

wrong(
    "chi-rms-negative-square",
    "sign",
    {CHI_RMS: ("sign-lost", 3.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, -4, 16], mean_square=4, rms=2, rmsnorm=[1, 0, -1, 2])
""",
)

wrong(
    "chi-rms-sign-lost-at-the-end",
    "sign",
    {CHI_RMS: ("sign-lost", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.816, 0, 0.816, 1.633])
""",
)

wrong(
    "chi-rms-square-of-the-mean",
    "statistic",
    {CHI_RMS: ("mean-before-square", 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=1, rms=1, rmsnorm=[2, 0, -2, 4])
""",
)

wrong(
    "chi-rms-divides-by-three",
    "statistic",
    {CHI_RMS: ("n-minus-one", 3)},
    """
# 0 不算，所以是三个数的平均
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=8, rms=2.828, rmsnorm=[0.707, 0, -0.707, 1.414])
""",
)

wrong(
    "chi-rms-maximum",
    "statistic",
    {CHI_RMS: ("maximum-not-mean", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.5, 0, -0.5, 1])
""",
)

wrong(
    "chi-rms-one-decimal",
    "rounding",
    {CHI_RMS: ("rounded-early", 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.4, rmsnorm=[0.833, 0, -0.833, 1.667])
""",
)

wrong(
    "chi-rms-output-one-decimal",
    "rounding",
    {CHI_RMS: ("rounded-early", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.8, 0, -0.8, 1.6])
""",
)

wrong(
    "chi-rms-x-as-it-was",
    "statistic",
    {CHI_RMS: ("no-normalisation", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[2, 0, -2, 4])
""",
)

wrong(
    "chi-rms-doubled-without-signs",
    "statistic",
    {CHI_RMS: ("doubled-not-squared", 3.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 8], mean_square=4, rms=2, rmsnorm=[1, 0, -1, 2])
""",
)

wrong(
    "chi-rms-slip-in-a-square",
    "slip",
    {CHI_RMS: (None, 3.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 12], mean_square=5, rms=2.236, rmsnorm=[0.894, 0, -0.894, 1.789])
""",
)

wrong(
    "chi-rms-one-sign-slips",
    "sign",
    {CHI_RMS: ("sign-lost", 2.5)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[-0.816, 0, -0.816, 1.633])
""",
)

wrong(
    "chi-rms-slip-in-the-root",
    "slip",
    {CHI_RMS: (None, 3)},
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.549, rmsnorm=[0.785, 0, -0.785, 1.569])
""",
)

wrong(
    "chi-rms-and-ln-both-sums",
    "statistic",
    {CHI_LN: ("sum-not-mean", 2.5), CHI_RMS: ("sum-not-mean", 3)},
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=20, std=20 ** 0.5,
                     layernorm=[a / 20 ** 0.5 for a in (1, -1, -3, 3)])
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=24, rms=24 ** 0.5,
                   rmsnorm=[a / 24 ** 0.5 for a in (2, 0, -2, 4)])
""",
)

# --- 鱼 ---------------------------------------------------------------------------------------------------

wrong(
    "yu-sum",
    "statistic",
    {YU: ("sum-not-mean", 2.5)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[-1, 1, -1, 1],
          mean_square=4, rms=2, rmsnorm=[-0.5, 0.5, -0.5, 0.5])
""",
)

wrong(
    "yu-sum-in-both",
    "statistic",
    {YU: ("sum-not-mean", 2.25)},
    """
yu = dict(mean=0, variance=4, std=2, layernorm=[-0.5, 0.5, -0.5, 0.5],
          mean_square=4, rms=2, rmsnorm=[-0.5, 0.5, -0.5, 0.5])
""",
)

wrong(
    "yu-divides-by-three",
    "statistic",
    {YU: ("n-minus-one", 2.75)},
    """
yu = dict(mean=0, variance=1.333, std=1.155, layernorm=[-0.866, 0.866, -0.866, 0.866],
          mean_square=1, rms=1, rmsnorm=[-1, 1, -1, 1])
""",
)

wrong(
    "yu-no-mean-square",
    "slip",
    {YU: (None, 2)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[-1, 1, -1, 1], mean_square=0, rms=0, rmsnorm=...)
""",
)

wrong(
    "yu-mean-one",  # of magnitudes, or without the negative numbers
    "slip",
    {YU: (None, 2.75)},
    """
yu = dict(mean=1, variance=2, std=1.414, layernorm=[-1.414, 0, -1.414, 0],
          mean_square=1, rms=1, rmsnorm=[-1, 1, -1, 1])
""",
)

wrong(
    "yu-signs-lost",
    "sign",
    {YU: ("sign-lost", 2)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[1, 1, 1, 1], mean_square=1, rms=1, rmsnorm=[1, 1, 1, 1])
""",
)

wrong(
    "yu-turned-round",
    "sign",
    {YU: ("sign-lost", 2.5)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[1, -1, 1, -1], mean_square=1, rms=1, rmsnorm=[-1, 1, -1, 1])
""",
)

wrong(
    "yu-unit-length",
    "statistic",
    {YU: ("sum-not-mean", 2.5)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[-1, 1, -1, 1],
          mean_square=1, rms=1, rmsnorm=[-0.5, 0.5, -0.5, 0.5])
""",
)

wrong(
    "yu-layernorm-to-zeros",
    "slip",
    {YU: (None, 2.5)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[0, 0, 0, 0], mean_square=1, rms=1, rmsnorm=[-1, 1, -1, 1])
""",
)

wrong(
    "yu-only-layernorm",
    "blank",
    {YU: (None, 1.5)},
    """
yu = dict(mean=0, variance=1, std=1, layernorm=[-1, 1, -1, 1], mean_square=..., rms=..., rmsnorm=...)
""",
)

# --- 读一读 -----------------------------------------------------------------------------------------------

READ = "reading = reading | dict({})\n"

wrong(
    "reading-zero-moves-under-rmsnorm",
    "reading",
    {READING: ("layernorm", 2.5)},
    READ.format("zero_after_rmsnorm=-0.447"),
)
wrong(
    "reading-zero-stays-under-layernorm",
    "reading",
    {READING: ("rmsnorm-instead", 2.5)},
    READ.format("zero_after_layernorm=0"),
)
wrong(
    "reading-zeros-exchanged",
    "reading",
    {READING: ("layernorm", 2)},
    READ.format("zero_after_rmsnorm=-0.447, zero_after_layernorm=0"),
)
wrong(
    "reading-zero-without-sign",
    "sign",
    {READING: ("sign-lost", 2.5)},
    READ.format("zero_after_layernorm=0.447"),
)
wrong(
    "reading-as-many-positive",
    "reading",
    {READING: ("coincidence-not-mean", 2.5)},
    READ.format('why_yu_agrees="A"'),
)
wrong(
    "reading-equal-magnitudes",
    "reading",
    {READING: ("coincidence-not-mean", 2.5)},
    READ.format('why_yu_agrees="c"'),
)
wrong(
    "reading-length",
    "reading",
    {READING: ("coincidence-not-mean", 2.5)},
    READ.format('why_yu_agrees="D：因为鱼的长度正好是 √d"'),
)
wrong("reading-unit-length", "reading", {READING: ("unit-length", 2.5)}, READ.format("sum_of_squares=1"))
wrong(
    "reading-length-for-squares", "reading", {READING: ("unit-length", 2.5)}, READ.format("sum_of_squares=2.0")
)
wrong(
    "reading-gamma-only",
    "reading",
    {READING: ("parameters-miscounted", 2.5)},
    READ.format("layernorm_parameters=4"),
)
wrong(
    "reading-one-of-each",
    "reading",
    {READING: ("parameters-miscounted", 2)},
    READ.format("layernorm_parameters=2, rmsnorm_parameters=1"),
)
wrong(
    "reading-beta-too",
    "reading",
    {READING: ("parameters-miscounted", 2.5)},
    READ.format("rmsnorm_parameters=8"),
)
wrong(
    "reading-nothing-to-learn",
    "reading",
    {READING: ("parameters-miscounted", 2.5)},
    READ.format("rmsnorm_parameters=0"),
)
wrong(
    "reading-per-token",
    "reading",
    {READING: ("weight-per-token", 2)},
    READ.format("layernorm_parameters=24, rmsnorm_parameters=12"),
)
wrong("reading-mean-square-of-mao", "slip", {READING: (None, 2.5)}, READ.format("sum_of_squares=7.5"))
wrong("reading-reason-in-words", "form", {READING: (None, 2.5)}, READ.format('why_yu_agrees="均值为零"'))

# --- 函数 -------------------------------------------------------------------------------------------------


def wrong_rmsnorm(name, family, misconception, source, **more):
    wrong(f"rmsnorm-{name}", family, {PYTHON: (misconception, 2)}, source, **more)


def wrong_layernorm(name, family, misconception, source, **more):
    wrong(f"layernorm-{name}", family, {PYTHON: (misconception, 3)}, source, **more)


wrong_rmsnorm(
    "subtracts-mean",
    "statistic",
    "layernorm",
    """
def rmsnorm(v):
    mean = sum(v) / len(v)
    v = [a - mean for a in v]
    rms = math.sqrt(sum(a ** 2 for a in v) / len(v))
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "subtracts-mean-stdev",
    "statistic",
    "layernorm",
    """
def rmsnorm(v):
    m, s = statistics.mean(v), statistics.stdev(v)
    return [(a - m) / s for a in v]
""",
)

wrong_rmsnorm(
    "pstdev",
    "statistic",
    "variance-without-centring",
    """
def rmsnorm(v):
    return [a / statistics.pstdev(v) for a in v]
""",
)

wrong_rmsnorm(
    "stdev",
    "statistic",
    "variance-without-centring",
    """
def rmsnorm(v):
    s = statistics.stdev(v)
    return [a / s for a in v]
""",
)

wrong_rmsnorm(
    "unit-length",
    "statistic",
    "sum-not-mean",
    """
def rmsnorm(v):
    total = 0
    for a in v:
        total += a * a
    length = total ** 0.5
    return [a / length for a in v]
""",
)

wrong_rmsnorm(
    "hypot",
    "statistic",
    "sum-not-mean",
    """
def rmsnorm(v):
    return [a / math.hypot(*v) for a in v]
""",
)

wrong_rmsnorm(
    "no-root",
    "root",
    "no-root",
    """
def rmsnorm(v):
    ms = sum([a ** 2 for a in v]) / len(v)
    return [a / ms for a in v]
""",
)

wrong_rmsnorm(
    "root-too-early",
    "root",
    "mean-absolute",
    """
def rmsnorm(v):
    rms = sum((a ** 2) ** 0.5 for a in v) / len(v)
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "times",
    "root",
    "multiplied-by-rms",
    """
def rmsnorm(v):
    rms = math.sqrt(sum(a * a for a in v) / len(v))
    return [a * rms for a in v]
""",
)

wrong_rmsnorm(
    "magnitudes",
    "statistic",
    "mean-absolute",
    """
def rmsnorm(v):
    size = sum(map(abs, v)) / len(v)
    return [a / size for a in v]
""",
)

wrong_rmsnorm(
    "largest",
    "statistic",
    "maximum-not-mean",
    """
def rmsnorm(v):
    return [a / max(max(v), -min(v)) for a in v]
""",
)

wrong_rmsnorm(
    "mean-squared",
    "statistic",
    "mean-before-square",
    """
def rmsnorm(v):
    mean_square = (sum(v) / len(v)) ** 2
    rms = mean_square ** 0.5
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "n-minus-one",
    "statistic",
    "n-minus-one",
    """
def rmsnorm(v):
    n = len(v)
    rms = (sum(a * a for a in v) / (n - 1)) ** 0.5
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "by-four",
    "width",
    "fixed-width",
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / 4) ** 0.5
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "unrolled",
    "width",
    "fixed-width",
    """
def rmsnorm(v):
    rms = math.sqrt((v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + v[3] ** 2) / 4)
    return [v[0] / rms, v[1] / rms, v[2] / rms, v[3] / rms]
""",
)

wrong_rmsnorm(
    "range-of-four",
    "width",
    "fixed-width",
    """
def rmsnorm(v):
    d = 4
    s = 0
    for i in range(d):
        s = s + v[i] * v[i]
    r = math.sqrt(s / d)
    out = []
    for i in range(d):
        out.append(v[i] / r)
    return out
""",
)

wrong_rmsnorm(
    "magnitude-of-result",
    "sign",
    "sign-lost",
    """
def rmsnorm(v):
    sq = [a * a for a in v]
    ms = sum(sq) / len(sq)
    return [(s / ms) ** 0.5 for s in sq]
""",
)

wrong_rmsnorm(
    "squares-only",
    "statistic",
    "squares-only",
    """
def rmsnorm(v):
    return [a ** 2 for a in v]
""",
)

wrong_rmsnorm(
    "returns-rms",
    "form",
    "returns-statistic",
    """
def rmsnorm(v):
    return (sum(a * a for a in v) / len(v)) ** 0.5
""",
)

wrong_rmsnorm(
    "prints",
    "form",
    "returns-nothing",
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    print([a / rms for a in v])
""",
)

wrong_rmsnorm(
    "in-place",
    "side-effect",
    "list-overwritten",
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    for i in range(len(v)):
        v[i] /= rms
    return v
""",
)

wrong_rmsnorm(
    "sorts",
    "side-effect",
    "list-overwritten",
    """
def rmsnorm(v):
    result = [a / (sum(b * b for b in v) / len(v)) ** 0.5 for a in v]
    v.sort()          # 看看最大最小
    return result
""",
)

wrong_rmsnorm(
    "one-decimal-rms",
    "rounding",
    "rounded-early",
    """
def rmsnorm(v):
    rms = round(math.sqrt(sum(a * a for a in v) / len(v)), 1)
    return [round(a / rms, 3) for a in v]
""",
)

wrong_rmsnorm(
    "whole-rms",
    "rounding",
    "rounded-early",
    """
def rmsnorm(v):
    rms = int(math.sqrt(sum(a * a for a in v) / len(v)))
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "two-decimals",
    "rounding",
    "rounded-early",
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    return [round(a / rms, 2) for a in v]
""",
)

wrong_rmsnorm(
    "floor-division",
    "rounding",
    None,
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) // len(v)) ** 0.5
    return [a // rms for a in v]
""",
)

wrong_rmsnorm(
    "unchanged",
    "statistic",
    "no-normalisation",
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    out = []
    for a in v:
        a / rms
        out.append(a)
    return out
""",
)

wrong_rmsnorm(
    "sum-and-no-root",
    "pair",
    ("sum-not-mean", "no-root"),
    """
def rmsnorm(v):
    s = sum(a * a for a in v)
    return [a / s for a in v]
""",
)

wrong_rmsnorm(
    "variance-and-no-root",
    "pair",
    ("variance-without-centring", "no-root"),
    """
def rmsnorm(v):
    return [a / statistics.pvariance(v) for a in v]
""",
)

wrong_rmsnorm(
    "layernorm-and-no-root",
    "pair",
    ("layernorm", "no-root"),
    """
def rmsnorm(v):
    m = sum(v) / len(v)
    var = sum((a - m) ** 2 for a in v) / len(v)
    return [(a - m) / var for a in v]
""",
)

wrong_rmsnorm(
    "first-only",
    "form",
    None,
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    for a in v:
        return a / rms
""",
)

wrong_rmsnorm(
    "one-short",
    "form",
    None,
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    return [v[i] / rms for i in range(len(v) - 1)]
""",
)

wrong_rmsnorm(
    "text",
    "form",
    None,
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    return [f"{a / rms:.3f}" for a in v]
""",
)

wrong_rmsnorm(
    "generator",
    "form",
    None,
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    return (a / rms for a in v)
""",
)

wrong_rmsnorm(
    "min-max",
    "statistic",
    None,
    """
def rmsnorm(v):
    return [(a - min(v)) / (max(v) - min(v)) for a in v]
""",
)

wrong_rmsnorm(
    "caret-for-power",
    "error",
    None,
    """
def rmsnorm(v):
    rms = (sum(float(a) ^ 2 for a in v) / len(v)) ** 0.5
    return [a / rms for a in v]
""",
)

wrong_rmsnorm(
    "name-not-there",
    "error",
    None,
    """
def rmsnorm(v):
    ms = sum(a * a for a in v) / n_features
    return [a / ms ** 0.5 for a in v]
""",
)

wrong_rmsnorm(
    "not-written",
    "blank",
    None,
    """
def rmsnorm(v):
    raise NotImplementedError("TODO 2：完成 rmsnorm")
""",
)

wrong_rmsnorm(
    "the-table-of-the-lesson",
    "hard-coded",
    None,
    """
def rmsnorm(v):
    table = {(1, 2, 3, 4): [0.365, 0.730, 1.095, 1.461], (2, 0, -2, 4): [0.816, 0, -0.816, 1.633],
             (-1, 1, -1, 1): [-1, 1, -1, 1]}
    return table.get(tuple(v), [0.0] * len(v))
""",
)

KNOWN = {tuple(v): chain(v)["rmsnorm"] for v in vectors(VISIBLE_SEED)["vectors"]}

wrong_rmsnorm(
    "printed-and-copied",
    "hard-coded",
    None,
    f"""
def rmsnorm(v):
    table = {KNOWN}
    return table.get(tuple(v), v)
""",
    only_unseen=True,
)

wrong_layernorm(
    "is-rmsnorm",
    "statistic",
    "rmsnorm-instead",
    """
def layernorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    return [a / rms for a in v]
""",
)

wrong_layernorm(
    "stdev",
    "statistic",
    "n-minus-one",
    """
def layernorm(v):
    mu, sigma = statistics.mean(v), statistics.stdev(v)
    return [(x - mu) / sigma for x in v]
""",
)

wrong_layernorm(
    "variance",
    "root",
    "no-root",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    var = sum((x - mu) ** 2 for x in v) / len(v)
    return [(x - mu) / var for x in v]
""",
)

wrong_layernorm(
    "sum",
    "statistic",
    "sum-not-mean",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    dev = [x - mu for x in v]
    return [d / math.sqrt(sum(e * e for e in dev)) for d in dev]
""",
)

wrong_layernorm(
    "x-over-std",
    "statistic",
    "variance-without-centring",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    std = math.sqrt(sum((x - mu) ** 2 for x in v) / len(v))
    return [x / std for x in v]
""",
)

wrong_layernorm(
    "over-rms",
    "statistic",
    "layernorm-half-done",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    rms = math.sqrt(sum(x * x for x in v) / len(v))
    return [(x - mu) / rms for x in v]
""",
)

wrong_layernorm(
    "only-centred",
    "statistic",
    "layernorm-half-done",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    return [x - mu for x in v]
""",
)

wrong_layernorm(
    "distances",
    "statistic",
    "mean-absolute",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    mad = sum(abs(x - mu) for x in v) / len(v)
    return [(x - mu) / mad for x in v]
""",
)

wrong_layernorm(
    "by-four",
    "width",
    "fixed-width",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    var = sum((x - mu) ** 2 for x in v) / 4
    return [(x - mu) / var ** 0.5 for x in v]
""",
)

wrong_layernorm(
    "mean-by-four",
    "width",
    "fixed-width",
    """
def layernorm(v):
    mu = sum(v) / 4
    var = sum((x - mu) ** 2 for x in v) / 4
    return [(x - mu) / var ** 0.5 for x in v]
""",
)

wrong_layernorm(
    "times",
    "root",
    "multiplied-by-rms",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    std = (sum((x - mu) ** 2 for x in v) / len(v)) ** 0.5
    return [(x - mu) * std for x in v]
""",
)

wrong_layernorm(
    "mean-minus-x",
    "sign",
    "sign-lost",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    std = (sum((mu - x) ** 2 for x in v) / len(v)) ** 0.5
    return [(mu - x) / std for x in v]
""",
)

wrong_layernorm(
    "distance-over-std",
    "sign",
    "sign-lost",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    std = (sum((x - mu) ** 2 for x in v) / len(v)) ** 0.5
    return [abs(x - mu) / std for x in v]
""",
)

wrong_layernorm(
    "rounded-mean",
    "rounding",
    "rounded-early",
    """
def layernorm(v):
    mu = round(sum(v) / len(v))
    std = (sum((x - mu) ** 2 for x in v) / len(v)) ** 0.5
    return [(x - mu) / std for x in v]
""",
)

wrong_layernorm(
    "returns-std",
    "form",
    "returns-statistic",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    return math.sqrt(sum((x - mu) ** 2 for x in v) / len(v))
""",
)

wrong_layernorm(
    "no-return",
    "form",
    "returns-nothing",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    std = (sum((x - mu) ** 2 for x in v) / len(v)) ** 0.5
    out = [(x - mu) / std for x in v]
""",
)

wrong_layernorm(
    "centres-in-place",
    "side-effect",
    "list-overwritten",
    """
def layernorm(v):
    mu = sum(v) / len(v)
    for i in range(len(v)):
        v[i] = v[i] - mu
    std = (sum(x * x for x in v) / len(v)) ** 0.5
    return [x / std for x in v]
""",
)

wrong_layernorm(
    "rereads-the-changing-list",
    "side-effect",
    "changed-while-read",
    """
def layernorm(v):
    for i in range(len(v)):
        v[i] = v[i] - sum(v) / len(v)
    std = (sum(x * x for x in v) / len(v)) ** 0.5
    for i in range(len(v)):
        v[i] = v[i] / std
    return v
""",
)

wrong_layernorm(
    "centres-in-place-and-divides-by-three",
    "pair",
    ("n-minus-one", "list-overwritten"),
    """
def layernorm(v):
    mu = sum(v) / len(v)
    for i in range(len(v)):
        v[i] -= mu
    std = (sum(x * x for x in v) / (len(v) - 1)) ** 0.5
    return [x / std for x in v]
""",
)

wrong_rmsnorm(
    "rereads-the-changing-list",
    "side-effect",
    "changed-while-read",
    """
def rmsnorm(v):
    for i in range(len(v)):
        v[i] /= (sum(a * a for a in v) / len(v)) ** 0.5
    return v
""",
)

wrong_rmsnorm(
    "in-place-without-a-return",
    "pair",
    ("returns-nothing", "list-overwritten"),
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / len(v)) ** 0.5
    for i in range(len(v)):
        v[i] = v[i] / rms
""",
)

wrong_rmsnorm(
    "in-place-by-four",
    "pair",
    ("fixed-width", "list-overwritten"),
    """
def rmsnorm(v):
    rms = (sum(a * a for a in v) / 4) ** 0.5
    for i in range(len(v)):
        v[i] = v[i] / rms
    return v
""",
)

wrong_layernorm(
    "variance-and-n-minus-one",
    "pair",
    ("n-minus-one", "no-root"),
    """
def layernorm(v):
    mu = statistics.fmean(v)
    return [(x - mu) / statistics.variance(v) for x in v]
""",
)

wrong(
    "both-by-n-minus-one",
    "statistic",
    {PYTHON: ("n-minus-one", 0)},
    """
def layernorm(v):
    m = sum(v) / len(v)
    s = (sum((a - m) ** 2 for a in v) / (len(v) - 1)) ** 0.5
    return [(a - m) / s for a in v]

def rmsnorm(v):
    r = (sum(a * a for a in v) / (len(v) - 1)) ** 0.5
    return [a / r for a in v]
""",
)

wrong(
    "names-exchanged",
    "statistic",
    {PYTHON: (("layernorm", "rmsnorm-instead"), 0)},
    """
layernorm, rmsnorm = rmsnorm, layernorm
""",
)

wrong(
    "no-root-in-rms-and-sum-in-ln",
    "pair",
    {PYTHON: (("no-root", "sum-not-mean"), 0)},
    """
def layernorm(v):
    m = sum(v) / len(v)
    return [(a - m) / math.dist(v, [m] * len(v)) for a in v]

def rmsnorm(v):
    return [a / (sum(b * b for b in v) / len(v)) for a in v]
""",
)

wrong(
    "neither-written",
    "blank",
    {PYTHON: (None, 0)},
    """
def layernorm(v):
    raise NotImplementedError("TODO 1：完成 layernorm")

def rmsnorm(v):
    raise NotImplementedError("TODO 2：完成 rmsnorm")
""",
)

# --- right ------------------------------------------------------------------------------------------------

right("as-in-the-solution", "")

right(
    "all-digits",
    """
chi_layernorm = dict(mean=1.0, deviations=[1.0, -1.0, -3.0, 3.0], variance=5.0, std=2.23606797749979,
                     layernorm=[0.4472135955, -0.4472135955, -1.3416407865, 1.3416407865])
chi_rmsnorm = dict(squares=[4.0, 0.0, 4.0, 16.0], mean_square=6.0, rms=2.449489742783178,
                   rmsnorm=[0.8164965809, 0.0, -0.8164965809, 1.6329931619])
reading = reading | dict(zero_after_layernorm=-0.4472135955, zero_after_rmsnorm=-0.0, sum_of_squares=4.0)
""",
)

right(
    "computed-in-the-cell",
    """
x = [2, 0, -2, 4]
mu = sum(x) / 4
dev = [v - mu for v in x]
chi_layernorm = dict(mean=mu, deviations=dev, variance=statistics.pvariance(x), std=math.sqrt(5),
                     layernorm=[d / 5 ** 0.5 for d in dev])
chi_rmsnorm = dict(squares=[v ** 2 for v in x], mean_square=24 / 4, rms=math.sqrt(6),
                   rmsnorm=[v / math.sqrt(6) for v in x])
""",
)

right(
    "cut-off-instead-of-rounded",
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236,
                     layernorm=[0.447, -0.447, -1.341, 1.341])
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.816, 0, -0.816, 1.632])
""",
)

right(
    "rounded-up",
    """
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.237,
                     layernorm=[0.448, -0.448, -1.342, 1.342])
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.45, rmsnorm=[0.817, 0, -0.817, 1.633])
reading = reading | dict(zero_after_layernorm=-0.448)
""",
)

right(
    "output-from-the-rounded-root",
    """
chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=6, rms=2.45, rmsnorm=[0.816, 0, -0.816, 1.6327])
chi_layernorm = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.237,
                     layernorm=[0.447, -0.447, -1.3411, 1.3411])
""",
)

right(
    "tuples-and-lists",
    """
shapes = dict(squares=[1, 3, 4], mean_square=[1, 3, 1], rms=[1, 3, 1], output=[1, 3, 4], gamma=[4])
chi_rmsnorm = dict(squares=(4, 0, 4, 16), mean_square=6, rms=2.449, rmsnorm=(0.816, 0, -0.816, 1.633))
yu = dict(mean=0, variance=1, std=1, layernorm=(-1, 1, -1, 1), mean_square=1, rms=1, rmsnorm=(-1, 1, -1, 1))
""",
)

right(
    "numpy",
    """
import numpy as np

x = np.array([2, 0, -2, 4.0])
chi_layernorm = dict(mean=x.mean(), deviations=x - x.mean(), variance=x.var(), std=x.std(),
                     layernorm=(x - x.mean()) / x.std())
chi_rmsnorm = dict(squares=x ** 2, mean_square=(x ** 2).mean(), rms=np.sqrt((x ** 2).mean()),
                   rmsnorm=x / np.sqrt((x ** 2).mean()))

def layernorm(v):
    v = np.asarray(v)
    return (v - v.mean()) / v.std()

def rmsnorm(v):
    v = np.array(v, dtype=float)
    return (v / np.sqrt(np.mean(v * v))).tolist()
""",
)

right(
    "torch",
    """
import torch

x = torch.tensor([2.0, 0, -2, 4])
shapes = dict(squares=torch.Size([1, 3, 4]), mean_square=torch.Size([1, 3, 1]), rms=torch.Size([1, 3, 1]),
              output=torch.Size([1, 3, 4]), gamma=torch.Size([4]))
chi_rmsnorm = dict(squares=x ** 2, mean_square=x.pow(2).mean(), rms=x.pow(2).mean().sqrt(),
                   rmsnorm=x / x.pow(2).mean().sqrt())
""",
)

right(
    "fractions",
    """
from fractions import Fraction

chi_rmsnorm = dict(squares=[4, 0, 4, 16], mean_square=Fraction(24, 4), rms=2.449,
                   rmsnorm=[0.816, 0, -0.816, 1.633])
yu = dict(mean=Fraction(0, 4), variance=Fraction(4, 4), std=1, layernorm=[-1, 1, -1, 1],
          mean_square=Fraction(4, 4), rms=1, rmsnorm=[-1, 1, -1, 1])
""",
)

right(
    "minus-zero",
    """
chi_rmsnorm = dict(squares=[4, -0.0, 4, 16], mean_square=6, rms=2.449, rmsnorm=[0.816, -0.0, -0.816, 1.633])
yu = dict(mean=-0.0, variance=1, std=1, layernorm=[-1, 1, -1, 1], mean_square=1, rms=1,
          rmsnorm=[-1, 1, -1, 1])
""",
)

right(
    "gamma-without-comma",
    """
shapes = dict(squares=(1, 3, 4), mean_square=(1, 3, 1), rms=(1, 3, 1), output=(1, 3, 4), gamma=(4))
""",
)

right(
    "letters-as-people-write-them",
    """
reading = reading | dict(why_yu_agrees=" b ")
""",
)

right(
    "letter-with-its-sentence",
    """
reading = reading | dict(why_yu_agrees="B：因为鱼的均值是 0，减均值这一步什么也没改变")
""",
)

right(
    "letter-full-width",
    """
reading = reading | dict(why_yu_agrees="Ｂ")
""",
)

right(
    "letter-chosen-in-words",
    """
reading = reading | dict(why_yu_agrees="我选 B")
""",
)

right(
    "statistics-module",
    """
def layernorm(v):
    m = statistics.fmean(v)
    s = statistics.pstdev(v, m)
    return [(a - m) / s for a in v]

def rmsnorm(v):
    rms = math.sqrt(statistics.fmean(a * a for a in v))
    return [a / rms for a in v]
""",
)

right(
    "vector-norms",
    """
def rmsnorm(v):
    scale = math.sqrt(len(v)) / math.hypot(*v)
    return [a * scale for a in v]

def layernorm(v):
    m = math.fsum(v) / len(v)
    return rmsnorm([a - m for a in v])
""",
)

right(
    "small-epsilon",
    """
def layernorm(v, eps=1e-5):
    n = len(v)
    mean = sum(v) / n
    var = sum((a - mean) ** 2 for a in v) / n
    return [(a - mean) / math.sqrt(var + eps) for a in v]

def rmsnorm(v, eps=1e-6):
    ms = sum(a ** 2 for a in v) / len(v)
    return list(map(lambda a: a / math.sqrt(ms + eps), v))
""",
)

right(
    "three-decimals-out",
    """
def layernorm(v):
    m = sum(v) / len(v)
    s = (sum((a - m) ** 2 for a in v) / len(v)) ** 0.5
    return [round((a - m) / s, 3) for a in v]

def rmsnorm(v):
    r = round((sum(a * a for a in v) / len(v)) ** 0.5, 3)
    return [round(a / r, 3) for a in v]
""",
)

right(
    "loops",
    """
def layernorm(v):
    total = 0
    for a in v:
        total = total + a
    average = total / len(v)
    spread = 0
    for a in v:
        spread = spread + (a - average) * (a - average)
    spread = spread / len(v)
    result = []
    for a in v:
        result.append((a - average) / spread ** 0.5)
    return result

def rmsnorm(v):
    result = v[:]
    total = 0
    for i in range(len(v)):
        total += v[i] ** 2
    for i in range(len(v)):
        result[i] = v[i] / math.sqrt(total / len(v))
    return result
""",
)

right(
    "returns-tuple",
    """
layernorm = lambda v: tuple((a - statistics.mean(v)) / statistics.pstdev(v) for a in v)
rmsnorm = lambda v: tuple(a / (sum(b * b for b in v) / len(v)) ** 0.5 for a in v)
""",
)

right(
    "variance-by-difference",
    """
def layernorm(v):
    n = len(v)
    m = sum(v) / n
    var = sum(a * a for a in v) / n - m * m
    return [(a - m) / var ** 0.5 for a in v]
""",
)

right(
    "helpers-and-prints",
    """
def rms(v):
    return math.sqrt(sum(a * a for a in v) / len(v))

def rmsnorm(v):
    print("rms =", rms(v))
    return [a / rms(v) for a in v]
""",
)
