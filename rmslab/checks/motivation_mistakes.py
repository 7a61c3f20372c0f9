"""01-motivation: how the answers go wrong: functions that can be run, and literals.

A wrong function is known by doing the same to every stack; the words are in the message catalogue.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

Layers = Sequence[Callable[[torch.Tensor], torch.Tensor]]
Measure = Callable[[torch.Tensor], Any]


def rms(h: torch.Tensor) -> float:
    return h.square().mean().sqrt().item()


def outputs(x: torch.Tensor, layers: Layers) -> list[torch.Tensor]:
    """What comes out of each layer, one after the other."""
    found = []
    for layer in layers:
        x = layer(x)
        found.append(x)
    return found


def measuring(measure: Measure) -> Callable:
    """The right walk through the layers with another measure."""
    return lambda x, layers: [measure(h) for h in outputs(x, layers)]


def on_the_input(x: torch.Tensor, layers: Layers) -> list[float]:
    return [rms(layer(x)) for layer in layers]


def normalising(x: torch.Tensor, layers: Layers) -> list[float]:
    found = []
    for layer in layers:
        x = layer(x)
        found.append(rms(x))
        x = x / found[-1]
    return found


def before_each(x: torch.Tensor, layers: Layers) -> list[float]:
    return [rms(h) for h in [x, *outputs(x, layers)][:-1]]


def stops_early(x: torch.Tensor, layers: Layers) -> list[float]:
    return [rms(layers[0](x))]


def in_place(x: torch.Tensor, layers: Layers) -> list[float]:
    found = []
    for layer in layers:
        y = layer(x)
        if y.shape == x.shape:
            x.copy_(y.detach())
        else:
            x = y.detach()
        found.append(rms(x))
    return found


def consuming(x: torch.Tensor, layers: Any) -> list[float]:
    found = []
    while layers:
        x = layers.pop(0)(x)
        found.append(rms(x))
    return found


def per_token(h: torch.Tensor) -> torch.Tensor:
    return h.square().mean(-1).sqrt()


# (misconception, wrong function), in the order in which they are tried.
FUNCTIONS: tuple[tuple[str, Callable], ...] = (
    ("layers-on-input", on_the_input),
    ("scale-of-input", lambda x, layers: [rms(x) for _ in layers]),
    ("scale-of-input", lambda x, layers: rms(x)),
    ("scale-before-layer", before_each),
    ("input-included", lambda x, layers: [rms(h) for h in [x, *outputs(x, layers)]]),
    ("last-layer-only", lambda x, layers: rms(outputs(x, layers)[-1])),
    ("last-layer-only", lambda x, layers: [rms(h) for h in outputs(x, layers)[-1:]]),
    ("first-layer-only", stops_early),
    ("first-layer-only", lambda x, layers: rms(layers[0](x))),
    ("std-not-rms", measuring(lambda h: h.std().item())),
    ("std-not-rms", measuring(lambda h: h.std(correction=0).item())),
    ("std-not-rms", measuring(lambda h: h.var(correction=0).item())),
    ("std-not-rms", measuring(lambda h: h.var().item())),
    ("no-root", measuring(lambda h: h.square().mean().item())),
    ("sum-not-mean", measuring(lambda h: h.square().sum().sqrt().item())),
    ("sum-not-mean", measuring(lambda h: h.square().sum().item())),
    ("n-minus-one", measuring(lambda h: (h.square().sum() / (h.numel() - 1)).sqrt().item())),
    ("mean-absolute", measuring(lambda h: h.abs().mean().item())),
    ("mean-before-square", measuring(lambda h: h.mean().item())),
    ("mean-before-square", measuring(lambda h: h.mean().abs().item())),
    ("maximum-not-mean", measuring(lambda h: h.abs().max().item())),
    ("maximum-not-mean", measuring(lambda h: h.max().item())),
    ("rms-per-token", measuring(lambda h: per_token(h).tolist())),
    ("rms-per-token", measuring(lambda h: h.square().mean(-1, keepdim=True).sqrt().tolist())),
    ("rms-per-token", measuring(lambda h: per_token(h).mean().item())),
    ("reciprocal-not-rms", measuring(lambda h: h.square().mean().rsqrt().item())),
    ("relative-to-input", lambda x, layers: [rms(h) / rms(x) for h in outputs(x, layers)]),
    ("normalised-on-the-way", normalising),
    ("returns-activations", lambda x, layers: [h.tolist() for h in outputs(x, layers)]),
    ("returns-activations", lambda x, layers: [x, *outputs(x, layers)][-1].tolist()),
    ("returns-nothing", lambda x, layers: None),
    ("rounded-early", measuring(lambda h: round(rms(h), 1))),
    ("rounded-early", measuring(lambda h: round(rms(h), 2))),
    ("rounded-early", measuring(lambda h: round(rms(h), 3))),
    ("input-overwritten", in_place),
    ("layers-consumed", consuming),
)

# Axes of (B, T, D) that a statistic is taken over, as a sorted list: (misconception, norm, wrong axes).
AXES: tuple[tuple[str, str, list[int]], ...] = (
    ("batchnorm-layernorm-swapped", "batchnorm", [2]),
    ("mean-over-batch", "batchnorm", [0]),
    ("mean-over-tokens", "batchnorm", [1]),
    ("mean-over-everything", "batchnorm", [0, 1, 2]),
    ("whole-sentence", "batchnorm", [1, 2]),
    *(
        (name, norm, axes)
        for norm in ("layernorm", "rmsnorm")
        for name, axes in (
            ("batchnorm-layernorm-swapped", [0, 1]),
            ("whole-sentence", [1, 2]),
            ("mean-over-everything", [0, 1, 2]),
            ("mean-over-batch", [0]),
            ("mean-over-tokens", [1]),
        )
    ),
)

DIVERGENCE = ("diverged-not-finite", "all-finite", "one-norm-missed", "steps-not-first-nan", "loss-not-step")

IDS = {name for name, _ in FUNCTIONS} | {name for name, *_ in AXES} | set(DIVERGENCE)
IDS |= {"axes-from-one", "no-keepdim", "statistic-per-feature", "reduced-not-kept"}


def explain_function(
    inputs: dict, observed: Any, probe: Callable, same: Callable[[Any, Any], bool], check: str
) -> tuple[str, ...]:
    """The misconception whose function does the same to every stack of the failing check, or none."""
    for misconception, function in FUNCTIONS:
        shown = (probe({check: [case]}, function)[check][0] for case in inputs[check])
        if all(same(seen, theirs) for seen, theirs in zip(observed[check], shown, strict=True)):
            return (misconception,)
    return ()


def explain_axes(norm: str, axes: list[int]) -> tuple[str, ...]:
    return tuple(name for name, where, wrong in AXES if where == norm and wrong == axes)[:1]


def explain_shape(shape: list[int], axes: list[int], full: list[int]) -> tuple[str, ...]:
    """``shape``: the answer; ``axes``: those it should follow from; ``full``: (B, T, D)."""
    if shape == [n for i, n in enumerate(full) if i not in axes]:
        return ("no-keepdim",)
    if shape == full:
        return ("statistic-per-feature",)
    if shape == [1 if i not in axes else n for i, n in enumerate(full)]:
        return ("reduced-not-kept",)
    return ()
