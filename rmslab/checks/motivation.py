"""01-motivation: predictions, axes and shapes as literals; and one function that measures a stack of layers.

The function is tried on inputs and stacks that a seed decides. Nothing in this file knows a right answer; the
judge does (:mod:`rmslab.checks.motivation_judge`).
"""

import hashlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from rmslab import evidence
from rmslab.checks import motivation_judge as judge
from rmslab.checks.hand import fixed, literal, probe_literals
from rmslab.step import Json, Step

LESSON = "01-motivation"
SHAPE = (2, 3, 4)
"""(B, T, D) of the question about axes: three sizes that cannot be mistaken for each other."""

# --- stacks of layers -------------------------------------------------------------------------------------


class Stacks:
    """Draws inputs and stacks from a seed. A stack is a list of layers as JSON, see :func:`layer`."""

    def __init__(self, seed: str):
        digest = hashlib.sha256(f"motivation-scales:{seed}".encode()).digest()
        self.random = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def whole(self, low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=self.random))

    def width(self) -> int:
        return 2 * self.whole(2, 6) + 1  # odd, 5 to 13

    def uniform(self, low: float, high: float, *shape: int) -> torch.Tensor:
        return low + (high - low) * torch.rand(shape, generator=self.random)

    def rows(self, *shape: int) -> torch.Tensor:
        """Gaussian rows of very different sizes, around a mean that is not 0."""
        sizes = self.uniform(0.2, 4.0, *shape[:-1], 1)
        return sizes * (torch.randn(shape, generator=self.random) + self.uniform(0.5, 1.5, 1))

    def linear(self, inputs: int, outputs: int, gain: float, bias: bool = False) -> Json:
        weight = torch.randn(outputs, inputs, generator=self.random) * gain / inputs**0.5
        made = {"kind": "linear", "weight": evidence.encode(weight)}
        return made | ({"bias": evidence.encode(self.uniform(0.2, 1.0, outputs))} if bias else {})

    def stack(self, d: int, depth: int, gain: float, *between: str) -> list[Json]:
        """``depth`` linear layers of width d; after each of them the layers named in ``between``."""
        made: list[Json] = []
        for _ in range(depth):
            made += [self.linear(d, d, gain), *({"kind": kind} for kind in between)]
        return made

    def case(self, x: torch.Tensor, layers: list[Json]) -> Json:
        return {"x": evidence.encode(x), "layers": layers}


def scales_inputs(seed: str) -> Json:
    """Stacks that shrink, explode and stay; with and without activations; then the edges of the contract."""
    draw = Stacks(seed)
    d, e, f, g = (draw.width() for _ in range(4))
    offset = {"kind": "offset", "by": round(float(draw.uniform(1.0, 3.0)), 2)}
    factor = {"kind": "factor", "by": -round(float(draw.uniform(1.5, 3.0)), 2)}
    value = [
        draw.case(draw.rows(7, d), draw.stack(d, draw.whole(5, 6), 0.3)),
        draw.case(draw.rows(2, 3, e), draw.stack(e, draw.whole(3, 4), 2.5, "relu")),
        draw.case(draw.rows(5, f), [*draw.stack(f, 2, 1.2, "tanh"), offset, factor, offset]),
        draw.case(draw.rows(4, 3, g), [draw.linear(g, g, 1.0, bias=True), {"kind": "normalise"}, factor]),
    ]
    wide = draw.width()
    edge = [
        draw.case(
            draw.rows(3, d), [draw.linear(d, wide + 2, 1.0), {"kind": "relu"}, draw.linear(wide + 2, g, 1.5)]
        ),
        draw.case(draw.rows(e), draw.stack(e, 2, 0.8)),
        draw.case(draw.rows(6, f), [factor]),
        draw.case(draw.rows(2, f), []),
    ]
    return {"value": value, "edge": edge}


PLAIN: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tanh": torch.tanh,
    "normalise": lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6),
}


def layer(made: Json) -> Callable[[torch.Tensor], torch.Tensor]:
    """A layer out of its description: a module, or a plain function."""
    kind = made["kind"]
    if kind == "linear":
        weight = evidence.decode(made["weight"])
        module = nn.Linear(weight.shape[1], weight.shape[0], bias="bias" in made)
        with torch.no_grad():
            module.weight.copy_(weight)
            if "bias" in made:
                module.bias.copy_(evidence.decode(made["bias"]))
        return module
    if kind == "relu":
        return nn.ReLU()
    if kind == "offset":
        return lambda x: x + made["by"]
    if kind == "factor":
        return lambda x: x * made["by"]
    return PLAIN[kind]


def measured(value: Any) -> Any:
    """What a function returned as literals; a list of tensors with one element each is a list of numbers."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    if isinstance(value, list | tuple):
        value = [v.detach().cpu() if isinstance(v, torch.Tensor) else v for v in value[:64]]
        value = [v.reshape(()) if isinstance(v, torch.Tensor) and v.numel() == 1 else v for v in value]
    return literal(value)


def call(function: Callable, case: Json) -> Json:
    """One case: what came back, whether input and list of layers are as before."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            x, layers = evidence.decode(case["x"]), [layer(made) for made in case["layers"]]
            before, count = x.clone(), len(layers)
            result = function(x, layers)
            same = {"x_kept": bool(torch.equal(x, before)), "layers_kept": len(layers) == count}
            return {"scales": measured(result), "kind": type(result).__name__[:80], **same}
    except BaseException as error:
        return evidence.encode_error(error)


def probe_scales(inputs: Json, layer_scales: Callable) -> Json:
    return {check: [call(layer_scales, case) for case in cases] for check, cases in inputs.items()}


# --- steps ------------------------------------------------------------------------------------------------


def literals(name: str, points: float, argument: str, verdict: Callable, **inputs: Any) -> Step:
    def judged(given: Json, observed: Any) -> Any:
        return judge.of_literals(f"motivation-{name}", verdict, given, observed)

    return Step(f"motivation-{name}", LESSON, points, (argument,), fixed(**inputs), probe_literals, judged)


STEPS = (
    literals("predict", 1, "predictions", judge.predict),
    Step("motivation-scales", LESSON, 4, ("layer_scales",), scales_inputs, probe_scales,
         lambda given, observed: judge.scales(given, observed, probe_scales)),
    literals("axes", 3, "axes", judge.axes, shape=list(SHAPE)),
    literals("divergence", 2, "divergence", judge.divergence),
)  # fmt: skip
