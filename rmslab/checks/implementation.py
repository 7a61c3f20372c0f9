"""04-implementation: what is asked of a student's ``RMSNorm`` class, and how it is observed.

Inputs are *cases*, grouped by the check they serve. Probes run each case on a fresh module with cloned
inputs and write down what came out. Nothing in this file knows a right answer; the judge does
(:mod:`rmslab.checks.implementation_judge`).
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from rmslab import evidence
from rmslab.checks import implementation_judge as judge
from rmslab.step import Json, Step
from rmslab.trace import trace

LESSON = "04-implementation"

SENTENCE = [[[1.0, 2.0, 3.0, 4.0], [2.0, 0.0, -2.0, 4.0], [-1.0, 1.0, -1.0, 1.0]]]
"""猫, 吃, 鱼: shape (1, 3, 4)."""

HALVES = ("float16", "bfloat16")
SCALES = (1.0, 1000.0, 3e-4)
"""Squares at these scales are ordinary, overflow in FP16, and vanish in FP16."""


# --- inputs -----------------------------------------------------------------------------------------------


class Cases:
    """Draws the cases of one step from a seed."""

    def __init__(self, seed: str, step: str):
        digest = hashlib.sha256(f"{step}:{seed}".encode()).digest()
        self.random = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def width(self) -> int:
        return int(torch.randint(2, 7, (), generator=self.random)) * 2 + 1  # odd, 5 to 13

    def uniform(self, low: float, high: float, *shape: int) -> torch.Tensor:
        return low + (high - low) * torch.rand(shape, generator=self.random)

    def normal(self, *shape: int) -> torch.Tensor:
        """Gaussian rows whose RMS lies between 0.6 and 1.8: never so small that ε = 1e-6 shows."""
        x = torch.randn(shape, generator=self.random)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * self.uniform(0.6, 1.8, *shape[:-1], 1)

    def case(self, x: torch.Tensor, kind: str = "call", gamma: bool = True, **more: Any) -> Json:
        """One case; ``gamma`` adds a weight far from 1, with one negative entry."""
        d = x.shape[-1]
        case = {"kind": kind, "hidden_size": d, "eps": 1e-6, "x": evidence.encode(x)} | more
        if gamma:
            weight = self.uniform(0.4, 1.6, d)
            weight[int(torch.randint(d, (), generator=self.random))] *= -1
            case["gamma"] = evidence.encode(weight)
        return case

    def value(self, gamma: bool) -> list[Json]:
        """The sentence, then ranks 1 to 4, odd widths, a square, other memory orders, scales and means."""
        d = self.width()
        scales = torch.tensor([[1.0], [3.0], [10.0], [40.0]])
        xs = [
            torch.tensor(SENTENCE),
            self.normal(2, 3, self.width()),
            self.normal(self.width()),
            self.normal(d, d),
            self.normal(2, 2, 3, self.width()),
            scales * self.normal(4, self.width()),
            50 + self.normal(3, self.width()),
        ]
        cases = [self.case(x, gamma=gamma) for x in xs]
        return [*cases, self.case(self.normal(2, 3, self.width()), gamma=gamma, layout="transposed")]

    def epsilon(self, gamma: bool) -> list[Json]:
        """Inputs near 1e-3, where ε decides, and the zero vector."""
        d = self.width()
        cases = [
            self.case(1e-3 * self.normal(2, d), gamma=gamma, eps=eps) for eps in (1e-6, 1e-5, 1e-3, 0.1)
        ]
        large = self.case(self.normal(2, d), gamma=gamma, eps=0.1)
        return [*cases, large, self.case(torch.zeros(2, d), gamma=gamma)]

    def halves(self, gamma: bool) -> list[Json]:
        """FP16 and BF16 at three scales, with the weight in the same dtype."""
        d = self.width()
        return [
            self.case((scale * self.normal(2, d)).to(getattr(torch, dtype)), gamma=gamma, weight_dtype=dtype)
            for dtype in HALVES
            for scale in SCALES
        ]

    def dtypes(self) -> list[Json]:
        """Half-precision cases, then half inputs with an FP32 weight, then plain FP32."""
        mixed = [self.case(self.normal(2, self.width()).to(getattr(torch, dtype))) for dtype in HALVES]
        return [*self.halves(gamma=True), *mixed, self.case(self.normal(2, self.width()))]

    def gradient(self, gamma: bool) -> list[Json]:
        """A random upstream (with all ones, wrong gradients look right); and finite at the zero vector."""
        x = self.normal(2, 3, self.width())
        return [
            self.case(given, "gradient", gamma, upstream=evidence.encode(self.normal(*x.shape)))
            for given in (x, torch.zeros_like(x))
        ]

    def purity(self, gamma: bool) -> list[Json]:
        """Called again, called in eval mode, called on the meta device."""
        x, other = self.normal(2, 3, d := self.width()), self.normal(2, 3, d)
        return [self.case(x, "repeat", gamma, other=evidence.encode(other)), self.case(x, "meta", gamma)]


def weight_inputs(seed: str) -> Json:
    cases = Cases(seed, "rmsnorm-weight")
    modules = [{"hidden_size": cases.width(), "eps": 1e-6} for _ in range(2)]
    # What flows back into the weight: evidence that was recorded on other inputs does not show it.
    for case in modules:
        case["upstream"] = cases.uniform(0.5, 2.0).item()
    return {"weight": {"parameter": modules}}


def norm_cases(cases: Cases) -> Json:
    return {
        "value": cases.value(gamma=False),
        "epsilon": cases.epsilon(gamma=False),
        "precision": cases.halves(gamma=False),
        "gradient": cases.gradient(gamma=False),
        "purity": cases.purity(gamma=False),
    }


def norm_inputs(seed: str) -> Json:
    return {"norm": norm_cases(Cases(seed, "rmsnorm-norm"))}


def forward_inputs(seed: str) -> Json:
    """Cases for ``forward``, and for ``_norm`` so that the judge can tell whose fault a failure is."""
    cases = Cases(seed, "rmsnorm-forward")
    return {
        "norm": norm_cases(cases),
        "forward": {
            "value": cases.value(gamma=True),
            "dtype": cases.dtypes(),
            "gradient": cases.gradient(gamma=True),
            "purity": cases.purity(gamma=True),
        },
    }


def module_inputs(seed: str) -> Json:
    cases = Cases(seed, "rmsnorm-module")
    return {
        "module": {
            "value": [
                cases.case(cases.normal(2, cases.width()), gamma=False),
                *cases.value(gamma=True),
            ],
            "epsilon": cases.epsilon(gamma=True),
            "dtype": cases.dtypes(),
            "training": cases.gradient(gamma=True),
            "purity": cases.purity(gamma=True),
        }
    }


# --- the student's parts ----------------------------------------------------------------------------------


def reference_norm(module: nn.Module, eps: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """What replaces a broken ``_norm`` on one instance, so that ``forward`` is judged by itself."""

    def _norm(x: torch.Tensor) -> torch.Tensor:
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    return _norm


def construct(cls: type, case: Json) -> nn.Module:
    """``cls(hidden_size, eps=eps)``; where ε has another name, by position."""
    try:
        return cls(case["hidden_size"], eps=case["eps"])
    except TypeError:
        return cls(case["hidden_size"], case["eps"])


def construct_or_graft(cls: type, case: Json) -> nn.Module:
    """A usable module even where the class is none or ``__init__`` is broken: the weight step pays for that."""
    if isinstance(cls, type) and not issubclass(cls, nn.Module):
        cls = type(cls.__name__, (cls, nn.Module), {})
    try:
        return construct(cls, case)
    except BaseException as error:
        evidence.let_through(error)
        module = cls.__new__(cls)
        nn.Module.__init__(module)  # in case it was forgotten; then as much of __init__ as runs
        try:
            module.__init__(case["hidden_size"], eps=case["eps"])
        except BaseException as again:
            evidence.let_through(again)
        if find_parameter(module, case["hidden_size"]) is None:
            module.weight = nn.Parameter(torch.ones(case["hidden_size"]))
        if not hasattr(module, "eps"):
            module.eps = case["eps"]
        return module


def find_parameter(module: nn.Module, d: int) -> nn.Parameter | None:
    """The parameter that serves as weight: ``weight``, else the only one, whatever its name."""
    named = dict(module.named_parameters())
    found = named.get("weight") if "weight" in named or len(named) != 1 else next(iter(named.values()))
    return found if found is not None and found.numel() == d else None


def set_gamma(module: nn.Module, gamma: torch.Tensor, graft: bool) -> None:
    """Give the module the weight ``gamma`` (shape [D]).

    With ``graft``, a weight that is no proper parameter is replaced by one, under the name it has.

    Raises:
        LookupError: no parameter that could hold ``gamma``, and grafting is not allowed.
    """
    parameter = find_parameter(module, gamma.numel())
    sound = parameter is not None and parameter.requires_grad and parameter.shape == gamma.shape
    if sound or (parameter is not None and not graft):
        with torch.no_grad():
            parameter.copy_(gamma.reshape(parameter.shape))
        return
    if not graft:
        raise LookupError(f"no parameter of shape [D], only {[p.numel() for p in module.parameters()]}")
    stores = (vars(module), module._buffers, module._parameters, module._modules)
    holders = {name: value for store in stores for name, value in store.items()}
    tensors = [name for name, value in holders.items() if isinstance(value, torch.Tensor | list)]
    name = "weight" if "weight" in holders or len(tensors) != 1 else tensors[0]
    for store in stores:
        store.pop(name, None)
    module.register_parameter(name, nn.Parameter(gamma.clone()))


def prepare(cls: type, case: Json, target: str) -> tuple[nn.Module, Callable]:
    """A fresh module and the function under observation.

    ``target``: ``norm`` (its ``_norm``; where there is none, ``forward`` with γ = 1), ``own`` (``forward``,
    with a sound weight), ``graft`` (the same, with a sound ``_norm`` as well), ``module`` (nothing replaced).
    """
    graft = target != "module"
    module = construct_or_graft(cls, case) if graft else construct(cls, case)
    if "gamma" in case or graft:
        gamma = evidence.decode(case["gamma"]) if "gamma" in case else torch.ones(case["hidden_size"])
        set_gamma(module, gamma, graft)
    if "weight_dtype" in case:
        for parameter in module.parameters():
            if parameter.ndim:  # an ε kept as a tensor stays as exact as it was
                parameter.data = parameter.data.to(getattr(torch, case["weight_dtype"]))
    if target == "graft":
        module._norm = reference_norm(module, case["eps"])
    function = module._norm if target == "norm" and callable(getattr(module, "_norm", None)) else module
    return module, function


# --- probes -----------------------------------------------------------------------------------------------


def the_input(case: Json) -> torch.Tensor:
    x = evidence.decode(case["x"])
    if case.get("layout") == "transposed":  # equal values, strides that view() cannot take
        x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    return x


def observe_call(module: nn.Module, function: Callable, case: Json) -> Json:
    observed = {"y": evidence.encode(function(the_input(case)))}
    if function is not module and "weight_dtype" in case and case.get("whole", True):
        try:  # the same case through the whole module: is precision raised elsewhere?
            observed["whole"] = evidence.encode(module(the_input(case)))
        except BaseException as error:
            observed["whole"] = evidence.encode_error(error)
    return observed


def observe_gradient(module: nn.Module, function: Callable, case: Json) -> Json:
    x = the_input(case).requires_grad_()
    y = function(x)
    observed = {"y": evidence.encode(y), "differentiable": bool(y.requires_grad)}
    if y.requires_grad:  # backward(upstream) would first import half of sympy
        (y * evidence.decode(case["upstream"]).to(y.dtype)).sum().backward()
    parameter = find_parameter(module, case["hidden_size"])
    for name, tensor in (("x_grad", x), ("gamma_grad", parameter)):
        if tensor is not None and tensor.grad is not None:
            observed[name] = evidence.encode(tensor.grad)
    observed["parameters"] = sorted([list(p.shape), p.requires_grad] for p in module.parameters())[:8]
    return observed


def observe_repeat(module: nn.Module, function: Callable, case: Json) -> Json:
    x, other = the_input(case), evidence.decode(case["other"])
    state = encode_state(module)
    observed = {
        "first": evidence.encode(function(x)),
        "x_after": evidence.encode(x),
        "second": evidence.encode(function(other)),
        "again": evidence.encode(function(the_input(case))),
    }
    module.eval()
    return observed | {
        "eval": evidence.encode(function(the_input(case))),
        "state_kept": state == encode_state(module),
    }


def encode_state(module: nn.Module) -> list:
    return [(name, evidence.encode(value)) for name, value in list(module.state_dict().items())[:8]]


class PlacementSeen(TorchFunctionMode):
    """Notes whether any call makes a tensor or names a device: else code runs wherever its input is."""

    MAKERS = ("zeros", "ones", "empty", "full", "tensor", "as_tensor", "arange", "eye", "linspace", "rand",
              "randn", "from_numpy", "cpu", "cuda")  # fmt: skip
    DEVICE = re.compile(r"(cpu|cuda|mps|xpu|npu|meta)(:\d+)?")

    def names_a_device(self, value: Any) -> bool:
        """Other words, such as the equation of an einsum, place nothing."""
        return isinstance(value, str) and bool(self.DEVICE.fullmatch(value))

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (*args, *(kwargs or {}).values())
        self.seen |= getattr(function, "__name__", "") in self.MAKERS
        self.seen |= any(isinstance(value, torch.device) or self.names_a_device(value) for value in given)
        return function(*args, **(kwargs or {}))


def observe_meta(module: nn.Module, function: Callable, case: Json) -> Json:
    with PlacementSeen() as placement:
        function(the_input(case))
    if not placement.seen:  # the first call on meta would import a compiler, for more than a second
        return {"placed": False}
    module.to("meta")
    y = function(the_input(case).to("meta"))
    return {"y": evidence.encode(y), "device": y.device.type}


OBSERVERS = {
    "call": observe_call,
    "gradient": observe_gradient,
    "repeat": observe_repeat,
    "meta": observe_meta,
}


@contextmanager
def steady() -> Iterator[None]:
    """The CPU's generator at a fixed seed, and afterwards as it was; compiled functions run as written.

    ``torch.manual_seed`` would also queue a call, with a formatted stack, for every accelerator that is not
    there: half of the time of a case, and memory that is never freed.
    """
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(0)
    try:
        with as_written():
            yield
    finally:
        torch.set_rng_state(state)


def as_written() -> Any:
    """Where a class uses ``torch.compile``: to compile it afresh for every case would take minutes."""
    if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):  # since 2.6
        return torch.compiler.set_stance("force_eager")
    return nullcontext()


def observe(cls: Any, case: Json, target: str) -> Json:
    """One case on a fresh module; what student code raises becomes evidence."""
    try:
        with steady():
            module, function = prepare(cls, case, target)
            return OBSERVERS[case["kind"]](module, function, case)
    except BaseException as error:
        return evidence.encode_error(error)


def run(cls: Any, cases: Json, target: str) -> Json:
    return {check: [observe(cls, case, target) for case in group] for check, group in cases.items()}


def describe_weight(cls: Any, case: Json) -> Json:
    """What the constructed module keeps as its weight, and every parameter it registers."""
    try:
        with steady():
            module = construct(cls, case)
        named = list(module.named_parameters()) if isinstance(module, nn.Module) else []
        weight = getattr(module, "weight", None)
        # Under whatever name it is registered, the weight is what the module calls so.
        named = [("weight" if p is weight else name, p) for name, p in named]
        if any(name == "weight" for name, _ in named):
            kind = "parameter"
        elif "weight" in getattr(module, "_buffers", {}):
            kind = "buffer"
        else:
            kind = "tensor" if isinstance(weight, torch.Tensor) else type(weight).__name__[:40]
        observed = {
            "kind": kind,
            "module": isinstance(module, nn.Module),
            "value": evidence.encode(weight),
            "trainable": bool(getattr(weight, "requires_grad", False)),
            "parameters": [[name[:40], list(p.shape)] for name, p in named[:8]],
        }
        if kind == "parameter" and observed["trainable"]:
            (weight * case["upstream"]).sum().backward()
            observed["gradient"] = evidence.encode(weight.grad)
        if kind == "NoneType" and len(named) == 1:
            observed["alias"] = evidence.encode(named[0][1])
        return observed
    except BaseException as error:
        return evidence.encode_error(error)


def trace_of(cls: Any) -> list[list[str]]:
    """The operations of the student's ``forward`` on 猫吃鱼 in FP16, with a sound weight."""
    case = {"hidden_size": 4, "eps": 1e-6, "weight_dtype": "float16"}
    try:
        with steady():
            module, _ = prepare(cls, case, "own")
            operations = trace(module, torch.tensor(SENTENCE, dtype=torch.float16))
    except BaseException as error:
        evidence.let_through(error)
        return []
    return [[op.name[:40], str(op.shape)[:60], evidence.dtype_name(op.dtype), op.note] for op in operations]


def probe_weight(inputs: Json, cls: Any) -> Json:
    return {"weight": {"parameter": [describe_weight(cls, case) for case in inputs["weight"]["parameter"]]}}


def probe_norm(inputs: Json, cls: Any) -> Json:
    """With ``alone``, no case goes through ``forward`` as well: it might kill."""
    cases = inputs["norm"]
    if "alone" in inputs:
        cases = {check: [case | {"whole": False} for case in group] for check, group in cases.items()}
    return {"norm": run(cls, cases, "norm")}


def probe_forward(inputs: Json, cls: Any) -> Json:
    """All targets; or the one that ``only`` names: to compare with a mistake, or where ``_norm`` kills."""
    cases = {"norm": inputs["norm"], "own": inputs["forward"], "graft": inputs["forward"]}
    only = inputs.get("only")
    return {target: run(cls, group, target) for target, group in cases.items() if only in (None, target)}


def probe_module(inputs: Json, cls: Any) -> Json:
    return {"module": run(cls, inputs["module"], "module")}


def step(name: str, points: float, inputs: Callable, probe: Callable, verdict: Callable, **more: Any) -> Step:
    def traced(given: Json, cls: Any) -> Json:
        if name == "weight" or "alone" in given:  # what calls forward, or _norm, must not cost it
            return probe(given, cls)
        return probe(given, cls) | {"trace": trace_of(cls)}

    def judged(given: Json, observed: Any) -> Any:
        return replace(verdict(given, observed, probe), trace=judge.trace(observed))

    return Step(f"rmsnorm-{name}", LESSON, points, ("RMSNorm",), inputs, traced, judged, **more)


STEPS = (
    step("weight", 6, weight_inputs, probe_weight, judge.weight),
    step("norm", 10, norm_inputs, probe_norm, judge.norm, alone={"alone": True}),
    step("forward", 8, forward_inputs, probe_forward, judge.forward, alone={"alone": True, "only": "graft"}),
    step("module", 6, module_inputs, probe_module, judge.module),
)
