"""Students' answers to 01-motivation and 03-geometry, as the text of their solution cells.

Data for ``test_corpus_lessons.py`` and ``matrix.py``. Every answer was written for this corpus. A cell that
an entry does not mention holds the right answer.
"""

from corpus_hand import Answers

# --- 01-motivation ----------------------------------------------------------------------------------------

PREDICT, SCALES, AXES, DIVERGENCE = (
    "motivation-predict", "motivation-scales", "motivation-axes", "motivation-divergence",
)  # fmt: skip

MOTIVATION_ANSWERS = """
import math

import numpy as np
import torch

predictions = dict(depth="B", survivors=["LayerNorm", "RMSNorm"], nan_step=20, shallow="差不多")
axes = dict(
    batchnorm_axes=(0, 1), batchnorm_shape=(1, 1, 4), layernorm_axes=(2,), layernorm_shape=(2, 3, 1),
    rmsnorm_axes=(2,), rmsnorm_shape=(2, 3, 1),
)
divergence = dict(finite=["LayerNorm", "RMSNorm"], first_nan_step=25)

def layer_scales(x, layers):
    scales, h = [], x
    for layer in layers:
        h = layer(h)
        scales.append(h.pow(2).mean().sqrt().item())
    return scales
"""

MOTIVATION: list[Answers] = []


def scales(name, family, misconception, source, points=0.0):
    MOTIVATION.append(Answers(f"scales-{name}", family, source, {SCALES: (misconception, points)}))


def literal(name, family, step, misconception, points, **more):
    variable = {PREDICT: "predictions", AXES: "axes", DIVERGENCE: "divergence"}[step]
    changes = ", ".join(f"{item}={value!r}" for item, value in more.items())
    source = f"{variable} = {variable} | dict({changes})\n".replace("Ellipsis", "...")
    loses = {step: (misconception, points)} if points is not None else {}
    MOTIVATION.append(Answers(name, family if loses else "right", source, loses))


def right_scales(name, source):
    MOTIVATION.append(Answers(f"scales-{name}", "right", source))


scales(
    "each-layer-alone",
    "chain",
    "layers-on-input",
    """
def layer_scales(x, layers):
    return [(layer(x) ** 2).mean() ** 0.5 for layer in layers]
""",
)

scales(
    "the-same-x",
    "chain",
    "scale-of-input",
    """
def layer_scales(x, layers):
    scales = []
    for layer in layers:
        h = layer(x)
        scales.append(x.pow(2).mean().sqrt().item())
    return scales
""",
)

scales(
    "measured-too-early",
    "chain",
    "scale-before-layer",
    """
def layer_scales(x, layers):
    scales = []
    for layer in layers:
        scales.append(torch.sqrt((x * x).mean()).item())
        x = layer(x)
    return scales
""",
)

scales(
    "with-the-input",
    "chain",
    "input-included",
    """
def layer_scales(x, layers):
    rms = lambda t: t.pow(2).mean().sqrt().item()
    scales = [rms(x)]
    for layer in layers:
        x = layer(x)
        scales.append(rms(x))
    return scales
""",
)

scales(
    "append-outside",
    "chain",
    "last-layer-only",
    """
def layer_scales(x, layers):
    scales = []
    for layer in layers:
        x = layer(x)
    scales.append(x.pow(2).mean().sqrt().item())
    return scales
""",
)

scales(
    "return-inside",
    "chain",
    "first-layer-only",
    """
def layer_scales(x, layers):
    scales = []
    for layer in layers:
        x = layer(x)
        scales.append(x.pow(2).mean().sqrt().item())
        return scales
""",
)

scales(
    "std",
    "statistic",
    "std-not-rms",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(float(x.std()))
    return out
""",
)

scales(
    "variance",
    "statistic",
    "std-not-rms",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(((x - x.mean()) ** 2).mean())
    return out
""",
)

scales(
    "mean-square",
    "statistic",
    "no-root",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x.pow(2).mean().item())
    return out
""",
)

scales(
    "norm",
    "statistic",
    "sum-not-mean",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x.norm())
    return out
""",
)

scales(
    "n-minus-one",
    "statistic",
    "n-minus-one",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(math.sqrt((x ** 2).sum().item() / (x.numel() - 1)))
    return out
""",
)

scales(
    "magnitudes",
    "statistic",
    "mean-absolute",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x.abs().mean().item())
    return out
""",
)

scales(
    "root-of-mean-squared",
    "statistic",
    "mean-before-square",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x.mean().pow(2).sqrt().item())
    return out
""",
)

scales(
    "largest",
    "statistic",
    "maximum-not-mean",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x.abs().max().item())
    return out
""",
)

scales(
    "over-features",
    "statistic",
    "rms-per-token",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x.pow(2).mean(-1).sqrt().mean().item())
    return out
""",
)

scales(
    "rsqrt",
    "statistic",
    "reciprocal-not-rms",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(torch.rsqrt(x.pow(2).mean()).item())
    return out
""",
)

scales(
    "relative",
    "chain",
    "relative-to-input",
    """
def layer_scales(x, layers):
    start = x.pow(2).mean().sqrt()
    out = []
    for f in layers:
        x = f(x)
        out.append((x.pow(2).mean().sqrt() / start).item())
    return out
""",
)

scales(
    "detour",
    "chain",
    "normalised-on-the-way",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        r = x.pow(2).mean().sqrt()
        out.append(r.item())
        x = x / r
    return out
""",
)

scales(
    "outputs",
    "form",
    "returns-activations",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(x)
    return out
""",
)

scales(
    "prints",
    "form",
    "returns-nothing",
    """
def layer_scales(x, layers):
    for f in layers:
        x = f(x)
        print(x.pow(2).mean().sqrt().item())
""",
)

scales(
    "rounded",
    "rounding",
    "rounded-early",
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(round(x.pow(2).mean().sqrt().item(), 2))
    return out
""",
)

scales(
    "writes-into-x",
    "side-effect",
    "input-overwritten",
    """
def layer_scales(x, layers):
    out = []
    h = x
    for f in layers:
        h = f(h)
        out.append(h.pow(2).mean().sqrt().item())
    x.pow_(2)      # 顺手看看输入
    return out
""",
)

scales(
    "pops",
    "side-effect",
    "layers-consumed",
    """
def layer_scales(x, layers):
    out = []
    while len(layers) > 0:
        layer = layers.pop(0)
        x = layer(x)
        out.append(x.pow(2).mean().sqrt().item())
    return out
""",
)

scales(
    "two-dimensions-only",
    "edge",
    None,
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        *rest, d = x.shape
        out.append((x.pow(2).sum() / (math.prod(rest) * d)).sqrt().item() if rest else x.abs().mean().item())
    return out
""",
    3,
)

scales(
    "never-empty",
    "edge",
    None,
    """
def layer_scales(x, layers):
    if not layers:
        return [x.pow(2).mean().sqrt().item()]
    out = []
    for f in layers:
        x = f(x)
        out.append(x.pow(2).mean().sqrt().item())
    return out
""",
    3,
)

scales(
    "texts",
    "form",
    None,
    """
def layer_scales(x, layers):
    out = []
    for f in layers:
        x = f(x)
        out.append(f"{x.pow(2).mean().sqrt():.4f}")
    return out
""",
)

scales(
    "misspelt",
    "error",
    None,
    """
def layer_scales(x, layers):
    return [f(x).sqaure().mean().sqrt() for f in layers]
""",
)

right_scales(
    "tensors",
    """
def layer_scales(x, layers):
    scales = []
    for layer in layers:
        x = layer(x)
        scales.append(x.square().mean() ** 0.5)
    return scales
""",
)

right_scales(
    "stacked",
    """
def layer_scales(x, layers):
    out = torch.zeros(len(layers))
    with torch.no_grad():
        for i, layer in enumerate(layers):
            x = layer(x)
            out[i] = x.norm() / x.numel() ** 0.5
    return out
""",
)

right_scales(
    "numpy",
    """
def layer_scales(x, layers):
    found = []
    for layer in layers:
        x = layer(x)
        found.append(np.sqrt(np.mean(x.detach().numpy() ** 2)))
    return np.array(found)
""",
)

right_scales(
    "kept-dimensions-in-a-tuple",
    """
def layer_scales(x, layers):
    found = []
    for layer in layers:
        x = layer(x)
        found.append(x.square().mean(dim=tuple(range(x.ndim)), keepdim=True).sqrt())
    return tuple(found)
""",
)

right_scales(
    "recursion-in-fp64",
    """
def layer_scales(x, layers):
    if len(layers) == 0:
        return []
    first, *rest = layers
    x = first(x)
    return [float(x.double().square().mean().sqrt())] + layer_scales(x, rest)
""",
)

right_scales(
    "mean-and-variance",
    """
def layer_scales(x, layers):
    found = []
    for layer in layers:
        x = layer(x)
        found.append((x.var(correction=0) + x.mean() ** 2).sqrt().item())
    return found
""",
)

literal("axes-exchanged", "axis", AXES, "batchnorm-layernorm-swapped", 1.5, batchnorm_axes=(2,),
        batchnorm_shape=(2, 3, 1), layernorm_axes=(0, 1), layernorm_shape=(1, 1, 4), rmsnorm_axes=(0, 1),
        rmsnorm_shape=(1, 1, 4))  # fmt: skip
literal("axes-of-batchnorm", "axis", AXES, "batchnorm-layernorm-swapped", 2.5, batchnorm_axes=(2,))
literal("axes-of-batchnorm-and-shape", "axis", AXES, "batchnorm-layernorm-swapped", 2.5, batchnorm_axes=(2,),
        batchnorm_shape=(2, 3, 1))  # fmt: skip
literal("axes-batch-alone", "axis", AXES, "mean-over-batch", 2.5, batchnorm_axes=0)
literal("axes-batch-alone-and-shape", "axis", AXES, "mean-over-batch", 2.5, batchnorm_axes=(0,),
        batchnorm_shape=(1, 3, 4))  # fmt: skip
literal("axes-tokens-alone", "axis", AXES, "mean-over-tokens", 2.5, batchnorm_axes=(1,))
literal("axes-whole-sentence", "axis", AXES, "whole-sentence", 2.5, layernorm_axes=(1, 2),
        layernorm_shape=(2, 1, 1))  # fmt: skip
literal("axes-everything", "axis", AXES, "mean-over-everything", 2.5, rmsnorm_axes=(0, 1, 2),
        rmsnorm_shape=(1, 1, 1))  # fmt: skip
literal("axes-rmsnorm-like-batchnorm", "axis", AXES, "batchnorm-layernorm-swapped", 2.5, rmsnorm_axes=(0, 1))
literal("shape-dropped", "shape", AXES, "no-keepdim", 2.5, layernorm_shape=(2, 3))
literal("shape-dropped-of-batchnorm", "shape", AXES, "no-keepdim", 2.5, batchnorm_shape=(4,))
literal("shape-other-way-round", "shape", AXES, "reduced-not-kept", 2.5, layernorm_shape=(1, 1, 4))
literal("shape-of-x", "shape", AXES, "statistic-per-feature", 2.5, batchnorm_shape=(2, 3, 4))
literal("shape-of-nothing", "shape", AXES, None, 2.5, layernorm_shape=(7, 7, 7))
literal("shape-a-number", "form", AXES, None, 2.5, layernorm_shape=1)
literal("axes-beyond", "form", AXES, None, 2.5, layernorm_axes=3)
literal("axes-from-one", "axis", AXES, "axes-from-one", 1.5, batchnorm_axes=(1, 2), layernorm_axes=(3,),
        rmsnorm_axes=(3,))  # fmt: skip
literal("axes-from-one-and-exchanged", "axis", AXES, ("axes-from-one", "batchnorm-layernorm-swapped"), 1.5,
        batchnorm_axes=(3,), batchnorm_shape=(2, 3, 1), layernorm_axes=(1, 2), layernorm_shape=(1, 1, 4),
        rmsnorm_axes=3)  # fmt: skip
literal("axes-beyond-and-one-right", "form", AXES, None, 2, layernorm_axes=3, batchnorm_axes=...)
literal("axes-none", "axis", AXES, None, 2.5, layernorm_axes=())
literal("axes-in-words", "form", AXES, None, 2.5, layernorm_axes="最后")
literal("axes-half-filled", "blank", AXES, None, 2, rmsnorm_axes=..., rmsnorm_shape=...)
literal("axes-as-numbers", "", AXES, None, None, layernorm_axes=2, rmsnorm_axes=-1)
literal("axes-as-lists", "", AXES, None, None, layernorm_axes=[-1], batchnorm_axes=[1, 0],
        batchnorm_shape=[1, 1, 4])  # fmt: skip
literal("axes-from-the-end", "", AXES, None, None, batchnorm_axes=(-2, -3))

literal("finite-the-other-one", "reading", DIVERGENCE, "diverged-not-finite", 1, finite=["无归一化"])
literal("finite-all", "reading", DIVERGENCE, "all-finite", 1, finite=["无归一化", "LayerNorm", "RMSNorm"])
literal("finite-rmsnorm-only", "reading", DIVERGENCE, "one-norm-missed", 1, finite=["RMSNorm"])
literal("finite-none", "reading", DIVERGENCE, "one-norm-missed", 1, finite=[])
literal("finite-unknown-name", "form", DIVERGENCE, None, 1, finite=["BatchNorm"])
literal("nan-at-the-end", "reading", DIVERGENCE, "steps-not-first-nan", 1, first_nan_step=100)
literal("nan-never", "reading", DIVERGENCE, "steps-not-first-nan", 1, first_nan_step=0)
literal("nan-as-loss", "reading", DIVERGENCE, "loss-not-step", 1, first_nan_step=4.14)
literal("nan-too-early", "reading", DIVERGENCE, None, 1, first_nan_step=4)
literal("nan-too-late", "reading", DIVERGENCE, None, 1, first_nan_step=61)
literal("nan-as-text", "form", DIVERGENCE, None, 1, first_nan_step="25")
literal("finite-in-one-line", "", DIVERGENCE, None, None, finite="LayerNorm、RMSNorm", first_nan_step=5)
literal("finite-lower-case", "", DIVERGENCE, None, None, finite=("rmsnorm", "layer_norm"), first_nan_step=60)

literal("predictions-half", "blank", PREDICT, None, 0.5, depth=..., nan_step=...)
literal("predictions-none-survive", "", PREDICT, None, None, survivors=[])
literal("predictions-list-not-filled", "blank", PREDICT, None, 0.75, survivors=[...])
literal("predictions-all-wrong", "", PREDICT, None, None, depth="C", survivors=["无归一化"], nan_step=7000,
        shallow="RMSNorm")  # fmt: skip

# --- 03-geometry ------------------------------------------------------------------------------------------

PROJECT, SPHERE, COMPOSE, ANGLE, INVARIANCE = (
    "geometry-project", "geometry-sphere", "geometry-compose", "geometry-angle", "geometry-invariance",
)  # fmt: skip

GEOMETRY_ANSWERS = """
import math
import statistics

import numpy as np
import torch

def project(v):
    mean = sum(v) / len(v)
    return [a - mean for a in v]

def to_sphere(v):
    size = sum(a * a for a in v) ** 0.5
    return [a / size * len(v) ** 0.5 if size else 0.0 for a in v]

def layernorm(v, project=project, to_sphere=to_sphere):
    return to_sphere(project(v))

angles = dict(mao=24.095, chi=65.905, yu=90, outputs=65.905)
answers = dict(
    rms_scaled="A", rms_negated="B", rms_shifted="D", layer_shifted="A", rms_twice="A", rms_large_mean="F",
    rms_constant="F", layer_constant="E", zero_mean="A", gamma_direction="D",
)
"""

GEOMETRY: list[Answers] = []


def geometry(name, family, source, loses=None):
    GEOMETRY.append(Answers(name, family, source, loses or {}))


def project(name, misconception, body, points=0.0, family="projection"):
    source = f"def project(v):\n{body}"
    geometry(f"project-{name}", family, source, {PROJECT: (misconception, points)})


def sphere(name, misconception, body, points=0.0, family="sphere"):
    source = f"def to_sphere(v):\n{body}"
    geometry(f"sphere-{name}", family, source, {SPHERE: (misconception, points)})


def compose(name, misconception, body, points=0.0, family="composition"):
    source = f"def layernorm(v, project=project, to_sphere=to_sphere):\n{body}"
    geometry(f"compose-{name}", family, source, {COMPOSE: (misconception, points)})


def angles(name, misconception, points, **more):
    source = f"angles = angles | {more!r}\n"
    geometry(f"angle-{name}", "reading", source, {ANGLE: (misconception, points)})


def letters(name, misconception, points=1.8, **more):
    source = f"answers = answers | {more!r}\n".replace("Ellipsis", "...")
    geometry(f"letter-{name}", "reading", source, {INVARIANCE: (misconception, points)})


project("sum", "sum-not-mean", "    return [a - sum(v) for a in v]\n")
project(
    "ones-as-unit",
    "ones-not-unit",
    """
    ones = [1] * len(v)
    share = sum(a * b for a, b in zip(v, ones)) / math.sqrt(len(v))
    return [a - share * b for a, b in zip(v, ones)]
""",
)
project(
    "the-shadow-itself",
    "projected-onto-axis",
    """
    mean = sum(v) / len(v)
    return [mean for a in v]
""",
)
project(
    "mirror",
    "reflected",
    """
    m = sum(v) / len(v)
    return [a - 2 * m for a in v]
""",
)
project("plus", "mean-added", "    return [a + statistics.mean(v) for a in v]\n")
project(
    "all-of-layernorm",
    "normalised-too-early",
    """
    m = statistics.fmean(v)
    s = statistics.pstdev(v)
    return [(a - m) / s if s else 0.0 for a in v]
""",
)
project(
    "rmsnorm",
    "rmsnorm-instead",
    """
    r = (sum(a * a for a in v) / len(v)) ** 0.5
    return [a / r if r else 0.0 for a in v]
""",
)
project(
    "mends-the-last",
    "one-component",
    """
    out = list(v)
    out[-1] = out[-1] - sum(v)
    return out
""",
)
project(
    "median",
    "wrong-centre",
    """
    middle = statistics.median(v)
    return [a - middle for a in v]
""",
)
project("first-to-zero", "wrong-centre", "    return [a - v[0] for a in v]\n")
project("by-four", "fixed-width", "    return [a - sum(v) / 4 for a in v]\n")
project(
    "distances",
    "sign-lost",
    """
    m = sum(v) / len(v)
    return [abs(a - m) for a in v]
""",
)
project(
    "mean-minus-x",
    "sign-lost",
    """
    m = sum(v) / len(v)
    return [m - a for a in v]
""",
)
project(
    "unchanged",
    "no-projection",
    """
    m = sum(v) / len(v)
    [a - m for a in v]
    return v[:]
""",
)
project("the-mean", "returns-statistic", "    return sum(v) / len(v)\n", family="form")
project(
    "prints",
    "returns-nothing",
    """
    m = sum(v) / len(v)
    print([a - m for a in v])
""",
    family="form",
)
project(
    "in-place",
    "list-overwritten",
    """
    m = sum(v) / len(v)
    for i, a in enumerate(v):
        v[i] = a - m
    return v
""",
    family="side-effect",
)
project(
    "in-place-mean-of-what-is-there",
    "changed-while-read",
    """
    for i in range(len(v)):
        v[i] -= sum(v) / len(v)
    return v
""",
    family="side-effect",
)
project(
    "in-place-sum",
    ("sum-not-mean", "list-overwritten"),
    """
    m = sum(v)
    for i in range(len(v)):
        v[i] -= m
    return v
""",
    family="pair",
)
project(
    "in-place-by-four",
    ("fixed-width", "list-overwritten"),
    """
    m = sum(v) / 4
    for i in range(len(v)):
        v[i] -= m
    return v
""",
    family="pair",
)
project(
    "in-place-without-a-return",
    ("returns-nothing", "list-overwritten"),
    """
    m = sum(v) / len(v)
    for i in range(len(v)):
        v[i] -= m
""",
    family="pair",
)
project("array-less-its-sum", "sum-not-mean", "    return np.array(v) - np.sum(v)\n")
project(
    "integer-mean",
    None,
    """
    m = sum(v) // len(v)
    return [a - m for a in v]
""",
    family="rounding",
)
project("not-written", None, '    raise NotImplementedError("TODO 1")\n', family="blank")

sphere(
    "zero-divides",
    "zero-vector",
    """
    size = sum(a * a for a in v) ** 0.5
    return [a / size * len(v) ** 0.5 for a in v]
""",
    3,
)
sphere(
    "zero-is-nothing",
    "zero-vector",
    """
    size = math.hypot(*v)
    if size == 0:
        return None
    return [a / size * math.sqrt(len(v)) for a in v]
""",
    3,
)
sphere(
    "zero-is-an-error",
    "zero-vector",
    """
    size = math.hypot(*v)
    if size == 0:
        raise ValueError("零向量没有方向")
    return [a / size * math.sqrt(len(v)) for a in v]
""",
    3,
)
sphere(
    "zero-is-a-number",
    "zero-vector",
    """
    size = math.hypot(*v)
    return [a / size * math.sqrt(len(v)) for a in v] if size else 0
""",
    3,
)
sphere(
    "zero-not-written-yet",
    "zero-vector",
    """
    size = math.hypot(*v)
    if size == 0:
        raise NotImplementedError
    return [a / size * math.sqrt(len(v)) for a in v]
""",
    3,
)
sphere(
    "zero-in-three-dimensions-only",
    "zero-vector",
    """
    size = math.hypot(*v)
    return [a / size * math.sqrt(len(v)) for a in v] if size else [0, 0, 0][:len(v) - 1]
""",
    3,
)
sphere(
    "unit-and-zero-divides",
    ("unit-length", "zero-vector"),
    """
    size = math.sqrt(sum(a ** 2 for a in v))
    return [a / size for a in v]
""",
    family="pair",
)
sphere(
    "in-place-and-zero-divides",
    ("list-overwritten", "zero-vector"),
    """
    size = math.hypot(*v)
    for i in range(len(v)):
        v[i] *= math.sqrt(len(v)) / size
    return v
""",
    family="pair",
)
sphere(
    "length-of-what-is-there",
    "changed-while-read",
    """
    for i in range(len(v)):
        v[i] /= math.hypot(*v) / len(v) ** 0.5 or 1
    return v
""",
    family="side-effect",
)
sphere(
    "unit",
    "unit-length",
    """
    size = math.sqrt(sum(a ** 2 for a in v)) or 1
    return [a / size for a in v]
""",
)
sphere(
    "radius-d",
    "radius-d",
    """
    size = math.sqrt(sum(a ** 2 for a in v)) or 1
    return [a * len(v) / size for a in v]
""",
)
sphere(
    "radius-of-three-dimensions",
    "fixed-width",
    """
    size = math.sqrt(sum(a ** 2 for a in v)) or 1
    return [a * math.sqrt(3) / size for a in v]
""",
)
sphere(
    "layernorm",
    "layernorm",
    """
    w = project(v)
    size = math.hypot(*w)
    return [a * math.sqrt(len(w)) / size if size > 1e-9 else 0.0 for a in w]
""",
)
sphere(
    "mean-square",
    "no-root",
    """
    ms = sum(a * a for a in v) / len(v) or 1
    return [a / ms for a in v]
""",
)
sphere("times-radius", "multiplied-by-rms", "    return [a * math.sqrt(len(v)) for a in v]\n")
sphere(
    "sum-of-magnitudes",
    "mean-absolute",
    """
    size = sum(abs(a) for a in v) / len(v) or 1
    return [a / size for a in v]
""",
)
sphere(
    "largest",
    "maximum-not-mean",
    """
    top = max(abs(a) for a in v) or 1
    return [a / top for a in v]
""",
)
sphere(
    "n-minus-one",
    "n-minus-one",
    """
    size = math.sqrt(sum(a * a for a in v) / (len(v) - 1)) or 1
    return [a / size for a in v]
""",
)
sphere(
    "std",
    "variance-without-centring",
    """
    s = statistics.pstdev(v) or 1
    return [a / s for a in v]
""",
)
sphere(
    "magnitudes",
    "sign-lost",
    """
    size = math.sqrt(sum(a * a for a in v) / len(v)) or 1
    return [abs(a) / size for a in v]
""",
)
sphere("unchanged", "no-normalisation", "    return [1 * a for a in v]\n")
sphere("length", "returns-statistic", "    return math.hypot(*v)\n", family="form")
sphere("no-return", "returns-nothing", "    size = math.hypot(*v)\n", family="form")
sphere(
    "in-place",
    "list-overwritten",
    """
    size = math.hypot(*v) or 1
    for i in range(len(v)):
        v[i] *= math.sqrt(len(v)) / size
    return v
""",
    family="side-effect",
)

compose(
    "constant-divides",
    "constant-vector",
    """
    w = project(v)
    s = math.sqrt(sum(a * a for a in w) / len(w))
    return [a / s for a in w]
""",
    2,
)
compose(
    "constant-is-an-error",
    "constant-vector",
    """
    w = project(v)
    if not any(w):
        raise ValueError("常数向量没有方向")
    return to_sphere(w)
""",
    2,
)
compose(
    "unit-and-constant-divides",
    ("unit-length", "constant-vector"),
    """
    w = project(v)
    size = math.hypot(*w)
    return [a / size for a in w]
""",
    family="pair",
)
compose("sphere-first", "wrong-order", "    return project(to_sphere(v))\n")
compose("only-projected", "no-sphere", "    return project(v)\n")
compose("only-scaled", "rmsnorm-instead", "    return to_sphere(v)\n")
compose(
    "unit",
    "unit-length",
    """
    w = project(v)
    size = math.hypot(*w) or 1
    return [a / size for a in w]
""",
)
compose(
    "n-minus-one",
    "n-minus-one",
    """
    w = project(v)
    s = math.sqrt(sum(a * a for a in w) / (len(w) - 1)) or 1
    return [a / s for a in w]
""",
)
compose("unchanged", "no-projection", "    return list(v)\n")
compose("no-return", "returns-nothing", "    to_sphere(project(v))\n", family="form")
compose(
    "in-place",
    "list-overwritten",
    """
    v[:] = to_sphere(project(v))
    return v
""",
    family="side-effect",
)
compose("misspelt", None, "    return to_sphere(projekt(v))\n", family="error")

angles("radians", "radians", 0, mao=0.421, chi=1.15, yu=1.571, outputs=1.15)
angles("cosines", "cosine-not-angle", 0, mao=0.913, chi=0.408, yu=0, outputs=0.408)
angles("to-the-plane", "angle-to-plane", 0.5, mao=65.905, chi=24.095, yu=0, outputs=24.095)
angles("to-the-plane-alone", "angle-to-plane", 1.5, chi=24.095)
angles("ones-of-length-d", "ones-length-d", 1.5, chi=78.221)
angles("outputs-at-right-angles", "outputs-perpendicular", 1.5, outputs=90)
angles("outputs-the-same", "outputs-alike", 1.5, outputs=0)
angles("slip-that-carries-on", None, 1.5, mao=30, outputs=60)
angles("nought", None, 1.5, yu=0)  # the cosine, or the angle to the plane
angles("no-idea", None, 1.5, chi=45)

letters("scale", "scale-carries-over", rms_scaled="C")
letters("sign", "sign-lost", rms_negated="A")
letters("shift", "rmsnorm-recentres", rms_shifted="A")
letters("shift-of-layernorm", "shift-survives-layernorm", layer_shifted="D")
letters("shift-makes-it-longer", "length-not-fixed", rms_shifted="C")
letters("length-of-some", "length-not-fixed", 1.4, rms_shifted="C", rms_large_mean="C", rms_constant="C")
letters("shift-makes-layernorm-longer", "shift-survives-layernorm", layer_shifted="C")
letters("zero-mean-longer", "zero-mean-differs", zero_mean="C")
letters("gamma-only-stretches", "gamma-keeps-direction", gamma_direction="C")
letters("twice", "not-idempotent", rms_twice="C")
letters("large-mean", "large-mean-centred", rms_large_mean="E")
letters("constant", "constant-to-zero", rms_constant="E")
letters("constant-of-layernorm", "constant-to-ones", layer_constant="F")
letters("zero-mean", "zero-mean-differs", zero_mean="D")
letters("gamma", "gamma-keeps-direction", gamma_direction="A：同一个方向")
letters("two-of-them", "scale-carries-over", 1.6, rms_scaled="C", gamma_direction="A")
letters("implausible", None, rms_scaled="E")
letters("half", None, 1, rms_scaled=..., rms_negated=..., rms_shifted=..., layer_shifted=..., rms_twice=...)

geometry(
    "numpy",
    "right",
    """
def project(v):
    return (np.array(v) - np.mean(v)).tolist()

def to_sphere(v):
    return (np.array(v) * len(v) ** 0.5 / max(np.linalg.norm(v), 1e-12)).tolist()
""",
)

geometry(
    "dot-products",
    "right",
    """
def project(v):
    u = [1 / math.sqrt(len(v))] * len(v)
    share = sum(a * b for a, b in zip(v, u))
    return [a - share * b for a, b in zip(v, u)]

def to_sphere(v):
    return [a / math.sqrt(sum(b * b for b in v) / len(v) + 1e-12) for a in v]
""",
)

geometry(
    "matrix",
    "right",
    """
def project(v):
    d = len(v)
    P = torch.eye(d, dtype=torch.float64) - torch.ones(d, d, dtype=torch.float64) / d
    return P @ torch.tensor(v, dtype=torch.float64)

def to_sphere(v):
    rms = statistics.fmean(a * a for a in v) ** 0.5
    return tuple(a / rms for a in v) if rms > 0 else tuple(v)
""",
)

geometry(
    "sphere-twice",
    "right",
    """
def layernorm(v, p=project, s=to_sphere):
    return s(p(s(v)))
""",
)

geometry(
    "angles-to-one-decimal",
    "right",
    """
angles = dict(mao=24.1, chi=65.9, yu=90.0, outputs=65.9)
answers = {name: f" {letter.lower()}" for name, letter in answers.items()}
""",
)

geometry(
    "angles-computed",
    "right",
    """
def degrees(v):
    return math.degrees(math.acos(sum(v) / math.sqrt(len(v) * sum(a * a for a in v))))

angles = dict(mao=degrees([1, 2, 3, 4]), chi=torch.tensor(degrees([2, 0, -2, 4])), yu=np.float64(90),
              outputs=90 - degrees([1, 2, 3, 4]))
""",
)
