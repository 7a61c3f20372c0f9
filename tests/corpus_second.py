"""A second corpus for 04-implementation, written without a look at the first.

Unusual ways that are right, and mistakes as they come. Most entries differ from a plain class in one method,
so only that method is written out; the rest is filled in around it.
"""

from textwrap import dedent, indent

from corpus_implementation import FORWARD, HELPER, INLINE, NAME, NORM, WEIGHT, Entry

ENTRIES: list[Entry] = []

INIT = """
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
"""
STATISTIC = """
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
"""
SCALE = """
def forward(self, x):
    return (self._norm(x) * self.weight).to(x.dtype)
"""


def source(init: str = INIT, norm: str = STATISTIC, forward: str = SCALE, top: str = "", more: str = "") -> str:
    """The cell: ``top``, then the class of these methods."""
    methods = "\n".join(dedent(part).strip("\n") + "\n" for part in (init, norm, forward, more) if part)
    return f"{dedent(top)}\nclass RMSNorm(nn.Module):\n{indent(methods, '    ')}"


def right(name: str, whole: str = "", arguable: bool = False, **parts: str) -> None:
    ENTRIES.append(Entry(f"S-{name}", "right", dedent(whole) or source(**parts), arguable=arguable))


def wrong(name: str, family: str, loses: frozenset, misconception, whole: str = "", **parts: str) -> None:
    ids = (misconception,) if isinstance(misconception, str) else misconception
    ENTRIES.append(Entry(f"S-{name}", family, dedent(whole) or source(**parts), loses, ids))


# --- right ------------------------------------------------------------------------------------------------

right("normalize-times-root-d", norm="""
def _norm(self, x):
    h = x.float()
    d = h.shape[-1]
    length = torch.sqrt(h.square().sum(-1, keepdim=True) + d * self.eps)
    return h / length * d ** 0.5
""")
right("padded-feature-for-epsilon", norm="""
def _norm(self, x):
    h = x.float()
    d = h.size(-1)
    pad = h.new_full((*h.shape[:-1], 1), (d * self.eps) ** 0.5)
    longer = torch.cat([h, pad], dim=-1)
    return torch.nn.functional.normalize(longer, dim=-1, eps=0.0)[..., :-1] * d ** 0.5
""")
right("vector-norm-squared", norm="""
def _norm(self, x):
    h = x.to(torch.float32)
    ms = torch.linalg.vector_norm(h, dim=-1, keepdim=True) ** 2 / h.shape[-1]
    return h / (ms + self.eps) ** 0.5
""")
right("einsum-dot", norm="""
def _norm(self, x):
    h = x.float()
    ms = torch.einsum("...i,...i->...", h, h) / h.shape[-1]
    return torch.einsum("...i,...->...i", h, torch.rsqrt(ms + self.eps))
""")
right("own-backward", top="""
class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        y = x * r
        ctx.save_for_backward(y, r)
        return y

    @staticmethod
    def backward(ctx, g):
        y, r = ctx.saved_tensors
        return r * (g - y * (g * y).mean(-1, keepdim=True)), None
""", norm="""
def _norm(self, x):
    return Normalise.apply(x.float(), self.eps)
""")
right("epsilon-buffer-not-saved", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.register_buffer("eps", torch.tensor(eps), persistent=False)
    self.weight = nn.Parameter(torch.ones(hidden_size))
""")
right("factory-arguments", init="""
def __init__(self, hidden_size: int, eps: float = 1e-6, *, device=None, dtype=None) -> None:
    super().__init__()
    self.hidden_size, self.eps = hidden_size, eps
    self.weight = nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
    self.reset_parameters()
""", more="""
def reset_parameters(self) -> None:
    nn.init.ones_(self.weight)

def extra_repr(self) -> str:
    return f"{self.hidden_size}, eps={self.eps}"
""")
right("epsilon-by-keyword-only", init="""
def __init__(self, hidden_size, *, eps=1e-6):
    super().__init__()
    self.weight = nn.Parameter(torch.ones(hidden_size))
    self._eps = eps
""", norm="""
def _norm(self, x):
    return x.float().mul(x.float().square().mean(-1, True).add(self._eps).rsqrt())
""")
right("chinese-identifiers", whole="""
class RMSNorm(nn.Module):
    def __init__(self, 特征数, eps=1e-6):
        super().__init__()
        self.小量 = eps
        self.weight = nn.Parameter(torch.ones(特征数))

    def _norm(self, 输入):
        高精度 = 输入.float()
        均方 = 高精度.pow(2).mean(dim=-1, keepdim=True)
        return 高精度 / torch.sqrt(均方 + self.小量)

    def forward(self, 输入):
        return (self.weight * self._norm(输入)).to(输入.dtype)
""")
right("subclass-of-the-builtin", whole="""
class RMSNorm(nn.RMSNorm):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size, eps=eps)

    def _norm(self, x):
        return nn.functional.rms_norm(x.float(), self.normalized_shape, eps=self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")
right("subclass-of-layer-norm", whole="""
class RMSNorm(nn.LayerNorm):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size, eps=eps, bias=False)

    def _norm(self, x):
        x = x.float()
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).pow(-0.5)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")
right("everything-in-forward", norm="", forward="""
def forward(self, x):
    dtype = x.dtype
    x = x.to(torch.float32)
    x = x * torch.rsqrt((x ** 2).mean(-1, keepdim=True) + self.eps)
    return (self.weight * x).to(dtype)
""")
right("functional-with-cast-weight", norm="", forward="""
def forward(self, x):
    return nn.functional.rms_norm(x.float(), (x.shape[-1],), self.weight.float(), self.eps).to(x.dtype)
""")
right("double-inside", norm="""
def _norm(self, x):
    h = x.double()
    return (h / (h.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()).float()
""")
right("double-for-double-only", norm="""
def _norm(self, x):
    h = x.to(torch.promote_types(x.dtype, torch.float32))
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)
""")
right("in-place-on-a-clone", norm="""
def _norm(self, x):
    out = x.float().clone()
    ms = out.square().mean(-1, keepdim=True)
    r = ms.add_(self.eps).rsqrt_()
    return out.mul(r)
""")
right("moves-features-to-front", norm="""
def _norm(self, x):
    h = x.float().movedim(-1, 0)
    r = torch.rsqrt(h.square().mean(0) + self.eps)
    return (h * r).movedim(0, -1)
""")
right("flattened-and-restored", norm="""
def _norm(self, x):
    rows = x.float().reshape(-1, x.shape[-1])
    rows = rows * torch.rsqrt(rows.pow(2).mean(1, keepdim=True) + self.eps)
    return rows.reshape(x.shape)
""")
right("matrix-product", norm="""
def _norm(self, x):
    h = x.float()
    ms = (h.unsqueeze(-2) @ h.unsqueeze(-1)).squeeze(-1) / h.shape[-1]
    return h * torch.rsqrt(ms + self.eps)
""")
right("exp-of-log", norm="""
def _norm(self, x):
    h = x.float()
    ms = h.pow(2).mean(-1, keepdim=True) + self.eps
    return h * torch.exp(-0.5 * torch.log(ms))
""")
right("float-power", norm="""
def _norm(self, x):
    h = x.float()
    return h * torch.float_power(h.square().mean(-1, keepdim=True) + self.eps, -0.5).float()
""")
right("no-broadcast", norm="""
def _norm(self, x):
    h = x.float()
    r = torch.rsqrt(h.square().mean(-1) + self.eps)
    return torch.stack([c * r for c in h.unbind(-1)], dim=-1)
""")
right("hypot-with-epsilon", norm="""
def _norm(self, x):
    h = x.float()
    d = h.shape[-1]
    ms = h.square().sum(-1, keepdim=True) / d
    return h / torch.sqrt(torch.add(ms, self.eps))
""", forward="""
def forward(self, x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = self._norm(x)
    return torch.mul(y, self.weight).type_as(x)
""")
right("properties", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.__eps = float(eps)
    self.register_parameter("weight", nn.Parameter(torch.full((hidden_size,), 1.0)))
""", norm="""
def _norm(self, x):
    return x.float() * self.inverse_rms(x.float())
""", more="""
@property
def eps(self):
    return self.__eps

def inverse_rms(self, x):
    return (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()
""")
right("dataclass", whole="""
from dataclasses import dataclass

@dataclass(eq=False)
class RMSNorm(nn.Module):
    hidden_size: int
    eps: float = 1e-6

    def __post_init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(self.hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")
right("llama-order", forward="""
def forward(self, x):
    return self.weight.to(x.dtype) * self._norm(x).to(x.dtype)
""")
right("half-order-of-casts", forward="""
def forward(self, x):
    y = self._norm(x)
    y *= self.weight
    return y.to(x)
""")
right("gradients-forced-on", forward="""
def forward(self, x):
    with torch.enable_grad() if torch.is_grad_enabled() else torch.no_grad():
        return (self._norm(x) * self.weight).to(x.dtype)
""")
right("autocast-switched-off", norm="""
def _norm(self, x):
    with torch.autocast(device_type=x.device.type if x.device.type != "meta" else "cpu", enabled=False):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
right("variance-plus-squared-mean-double", norm="""
def _norm(self, x):
    h = x.double()
    mean = h.mean(-1, keepdim=True)
    ms = ((h - mean) ** 2).mean(-1, keepdim=True) + mean ** 2
    return (h * torch.rsqrt(ms + self.eps)).float()
""")
right("scaled-against-overflow", norm="""
def _norm(self, x):
    h = x.float()
    top = h.abs().amax(-1, keepdim=True).clamp(min=1e-12).detach()
    u = h / top
    return u * torch.rsqrt(u.square().mean(-1, keepdim=True) + self.eps / top ** 2)
""")
right("norm-is-static", whole="""
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self._norm = lambda x: RMSNorm.normalise(x, eps)

    @staticmethod
    def normalise(x, eps):
        x = x.float()
        return x / torch.sqrt(torch.mean(x ** 2, -1, True) + eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")
right("weight-from-a-factory", top="""
def ones_parameter(n):
    p = nn.Parameter(torch.empty(n))
    with torch.no_grad():
        p.fill_(1)
    return p
""", init="""
def __init__(self, hidden_size, eps=1e-6, **unused):
    nn.Module.__init__(self)
    self.eps, self.weight = eps, ones_parameter(hidden_size)
""")
right("bias-argument-that-is-none", init="""
def __init__(self, hidden_size, eps=1e-6, bias=False):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
    self.register_parameter("bias", nn.Parameter(torch.zeros(hidden_size)) if bias else None)
""", forward="""
def forward(self, x):
    y = self._norm(x) * self.weight
    if self.bias is not None:
        y = y + self.bias
    return y.to(x.dtype)
""")
right("checks-its-input", init="""
def __init__(self, hidden_size, eps=1e-6):
    if not isinstance(hidden_size, int) or hidden_size <= 0:
        raise ValueError(f"hidden_size must be positive, got {hidden_size}")
    super().__init__()
    self.hidden_size, self.eps = hidden_size, eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
""", forward="""
def forward(self, x):
    if x.dim() == 0 or x.shape[-1] != self.hidden_size:
        raise ValueError("wrong shape")
    return (self._norm(x) * self.weight).to(x.dtype)
""")
right("norm-with-default-epsilon", norm="""
def _norm(self, x, eps=None):
    eps = self.eps if eps is None else eps
    x = x.float()
    return x * torch.rsqrt(torch.mean(torch.square(x), dim=[-1], keepdim=True) + eps)
""")
right("weight-normalised-shape-tuple", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.shape = (hidden_size,) if isinstance(hidden_size, int) else tuple(hidden_size)
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(self.shape))
""")
right("compiled-norm-that-is-not", norm="""
@torch.compile(disable=True)
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
right("slots-and-type-hints", whole="""
from typing import Final

class RMSNorm(nn.Module):
    eps: Final[float]
    weight: nn.Parameter

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super(RMSNorm, self).__init__()
        self.eps = eps
        self.weight = nn.Parameter(data=torch.ones(size=(hidden_size,)), requires_grad=True)

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        h = x if x.dtype == torch.float32 else x.to(dtype=torch.float32)
        inv: torch.Tensor = (h.pow(exponent=2).mean(dim=-1, keepdim=True) + self.eps).rsqrt()
        return h.mul(inv)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._norm(x).mul(self.weight).to(dtype=x.dtype)
""")
right("gemma-style-buffered-one", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
""", forward="""
def forward(self, x):
    y = self._norm(x)
    return (y + y * (self.weight.float() - 1)).type_as(x)
""")

# --- wrong: statistic -------------------------------------------------------------------------------------

wrong("std-population", "statistic", NORM, "layernorm", norm="""
def _norm(self, x):
    h = x.float()
    var, mean = torch.var_mean(h, dim=-1, keepdim=True, correction=0)
    return (h - mean) * torch.rsqrt(var + self.eps)
""")
wrong("layer-norm-class-inside", "statistic", INLINE, "layernorm", norm="", forward="""
def forward(self, x):
    return nn.functional.layer_norm(x.float(), self.weight.shape, self.weight.float(), None, self.eps).to(x.dtype)
""")
wrong("centred-numerator-only", "statistic", NORM, None, norm="""
def _norm(self, x):
    h = x.float()
    r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
    return (h - h.mean(-1, keepdim=True)) * r
""")
wrong("std-of-torch", "statistic", NORM, "variance-without-centring", norm="""
def _norm(self, x):
    h = x.float()
    return h / torch.sqrt(h.var(-1, keepdim=True) + self.eps)
""")
wrong("unit-vector", "statistic", NORM, "sum-not-mean", norm="""
def _norm(self, x):
    h = x.float()
    return h * torch.rsqrt((h * h).sum(dim=-1, keepdim=True) + self.eps)
""")
wrong("sum-of-magnitudes", "statistic", NORM, None, norm="""
def _norm(self, x):
    h = x.float()
    return h / (h.abs().sum(-1, keepdim=True) + self.eps)
""")
wrong("l1-mean", "statistic", NORM, "mean-absolute", norm="""
def _norm(self, x):
    h = x.float()
    return h / (h.abs().mean(-1, keepdim=True) + self.eps)
""")
wrong("root-then-mean", "statistic", NORM, "mean-absolute", norm="""
def _norm(self, x):
    h = x.float()
    return h / (torch.sqrt(h ** 2).mean(-1, keepdim=True) + self.eps)
""")
wrong("infinity-norm", "statistic", NORM, "maximum-not-mean", norm="""
def _norm(self, x):
    h = x.float()
    return h / (torch.linalg.vector_norm(h, ord=float("inf"), dim=-1, keepdim=True) + self.eps)
""")
wrong("softmaxed", "statistic", NORM, None, norm="""
def _norm(self, x):
    return torch.softmax(x.float(), dim=-1)
""")
wrong("min-max", "statistic", NORM, None, norm="""
def _norm(self, x):
    h = x.float()
    low, high = h.amin(-1, keepdim=True), h.amax(-1, keepdim=True)
    return (h - low) / (high - low + self.eps)
""")
wrong("mean-over-half", "statistic", NORM, "partial-statistic", norm="""
def _norm(self, x):
    h = x.float()
    part = h[..., : h.shape[-1] // 2]
    return h * torch.rsqrt(part.square().mean(-1, keepdim=True) + self.eps)
""")
wrong("d-minus-one", "statistic", NORM, "n-minus-one", norm="""
def _norm(self, x):
    h = x.float()
    ms = h.square().sum(-1, keepdim=True) / max(h.shape[-1] - 1, 1)
    return h * torch.rsqrt(ms + self.eps)
""")
wrong("square-of-mean", "statistic", NORM, "mean-before-square", norm="""
def _norm(self, x):
    h = x.float()
    return h * torch.rsqrt(h.mean(-1, keepdim=True).pow(2) + self.eps)
""")
wrong("root-d-divided", "statistic", NORM, "mean-divided-again", norm="""
def _norm(self, x):
    h = x.float()
    ms = h.square().mean(-1, keepdim=True)
    return h * torch.rsqrt(ms / h.shape[-1] + self.eps)
""")

# --- wrong: axis and shape --------------------------------------------------------------------------------

wrong("axis-one", "axis", NORM, "fixed-axis", norm="""
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps)
""")
wrong("whole-sample", "axis", NORM, "mean-over-everything", norm="""
def _norm(self, x):
    x = x.float()
    dims = tuple(range(1, x.dim())) if x.dim() > 1 else (0,)
    return x * torch.rsqrt(x.pow(2).mean(dims, keepdim=True) + self.eps)
""")
wrong("keepdim-false", "axis", NORM, "no-keepdim", norm="""
def _norm(self, x):
    x = x.float()
    ms = torch.mean(x ** 2, -1)
    return x / torch.sqrt(ms + self.eps)
""")
wrong("sequence-axis", "axis", NORM, "mean-over-tokens", norm="""
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(dim=-2, keepdim=True) + self.eps)
""")
wrong("three-names", "axis", NORM, "fixed-rank", norm="""
def _norm(self, x):
    B, T, C = x.size()
    x = x.float()
    ms = (x * x).sum(-1).view(B, T, 1) / C
    return x * torch.rsqrt(ms + self.eps)
""")
wrong("view-of-rows", "axis", NORM, "view-on-strides", norm="""
def _norm(self, x):
    rows = x.view(-1, x.shape[-1]).float()
    rows = rows * torch.rsqrt(rows.square().mean(-1, keepdim=True) + self.eps)
    return rows.view(x.shape)
""")
wrong("matrix-transposed-back-wrongly", "axis", FORWARD, None, forward="""
def forward(self, x):
    y = self._norm(x) * self.weight
    return y.transpose(-1, -2).reshape(x.shape).to(x.dtype) if x.dim() > 1 else y.to(x.dtype)
""")
wrong("adds-a-batch-axis", "axis", NORM, "shape-not-restored", norm="""
def _norm(self, x):
    x = x.float()
    if x.dim() == 1:
        x = x[None]
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")

wrong("three-dimensions-at-most", "axis", NORM, None, norm="""
def _norm(self, x):
    assert x.dim() <= 3
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")

# --- wrong: root and ε ------------------------------------------------------------------------------------

wrong("no-root", "root", NORM, "no-root", norm="""
def _norm(self, x):
    x = x.float()
    return x / (x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
wrong("sqrt-for-rsqrt", "root", NORM, "multiplied-by-rms", norm="""
def _norm(self, x):
    x = x.float()
    return x * torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
wrong("divides-by-rsqrt", "root", NORM, "multiplied-by-rms", norm="""
def _norm(self, x):
    x = x.float()
    return x / torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
wrong("rsqrt-of-sqrt", "root", NORM, "root-twice", norm="""
def _norm(self, x):
    x = x.float()
    rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    return x * torch.rsqrt(rms)
""")
wrong("epsilon-outside", "epsilon", NORM, "epsilon-outside", norm="""
def _norm(self, x):
    x = x.float()
    return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps)
""")
wrong("epsilon-outside-of-norm", "epsilon", NORM, "epsilon-outside", norm="""
def _norm(self, x):
    x = x.float()
    return x / (x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + self.eps)
""")
wrong("epsilon-forgotten", "epsilon", NORM, "no-epsilon", norm="""
def _norm(self, x):
    x = x.float()
    return x * x.pow(2).mean(-1, keepdim=True).rsqrt()
""")
wrong("epsilon-literal", "epsilon", NORM, "epsilon-fixed", norm="""
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
""")
wrong("epsilon-of-the-dtype", "epsilon", NORM, "epsilon-fixed", norm="""
def _norm(self, x):
    return nn.functional.rms_norm(x.float(), (x.shape[-1],))
""")
wrong("epsilon-as-floor", "epsilon", NORM, "epsilon-as-floor", norm="""
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(torch.clamp(x.pow(2).mean(-1, keepdim=True), min=self.eps))
""")
wrong("epsilon-by-normalize", "epsilon", NORM, "epsilon-as-floor", norm="""
def _norm(self, x):
    return nn.functional.normalize(x.float(), dim=-1, eps=self.eps) * x.shape[-1] ** 0.5
""")
wrong("epsilon-times-two", "epsilon", NORM, "epsilon-twice", norm="""
def _norm(self, x):
    x = x.float()
    ms = x.pow(2).mean(-1, keepdim=True) + self.eps
    return x / torch.sqrt(ms + self.eps)
""")
wrong("epsilon-positional-lost", "epsilon", NORM, "epsilon-fixed", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = 1e-6
    self.weight = nn.Parameter(torch.ones(hidden_size))
""")
wrong("unguarded-scaling", "epsilon", NORM, None, norm="""
def _norm(self, x):
    h = x.float()
    top = h.abs().amax(-1, keepdim=True)
    u = h / top
    return u * torch.rsqrt(u.square().mean(-1, keepdim=True) + self.eps / top ** 2)
""")
wrong("rooted-and-squared", "graph", NORM, None, norm="""
def _norm(self, x):
    h = x.float()
    rms = torch.sqrt(h.square().mean(-1, keepdim=True))
    return h / torch.sqrt(rms * rms + self.eps)
""")

# --- wrong: the weight ------------------------------------------------------------------------------------

wrong("weight-a-row", "parameter", WEIGHT, "weight-two-dimensional", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(1, hidden_size))
""")
wrong("weight-zeros", "parameter", WEIGHT, "weight-not-ones", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.zeros(hidden_size))
""")
wrong("weight-of-linear", "parameter", WEIGHT, "weight-not-ones", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.empty(hidden_size).uniform_(-1, 1))
""")
wrong("weight-called-gamma", "parameter", NAME, "weight-renamed", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.gamma = nn.Parameter(torch.ones(hidden_size))
""", forward="""
def forward(self, x):
    return (self._norm(x) * self.gamma).to(x.dtype)
""")
wrong("weight-and-beta", "parameter", WEIGHT, "extra-bias", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
    self.beta = nn.Parameter(torch.zeros(hidden_size))
""", forward="""
def forward(self, x):
    return (self._norm(x) * self.weight + self.beta).to(x.dtype)
""")
wrong("weight-in-no-grad-buffer", "parameter", WEIGHT, "weight-not-parameter", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.register_buffer("weight", torch.ones(hidden_size), persistent=True)
""")
wrong("weight-needs-no-grad", "parameter", WEIGHT, "weight-frozen", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
    self.weight.requires_grad_(False)
""")
wrong("weight-list-of-parameters", "parameter", WEIGHT, None, init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.ParameterList([nn.Parameter(torch.ones(())) for _ in range(hidden_size)])
""", forward="""
def forward(self, x):
    w = self.weight if isinstance(self.weight, torch.Tensor) else torch.stack(list(self.weight))
    return (self._norm(x) * w).to(x.dtype)
""")

# --- wrong: scaling and dtype -----------------------------------------------------------------------------

wrong("weight-left-out", "scaling", FORWARD, "weight-unused", forward="""
def forward(self, x):
    return self._norm(x).to(x.dtype)
""")
wrong("one-plus-weight", "scaling", FORWARD, "unit-offset", forward="""
def forward(self, x):
    return (self._norm(x) * (1.0 + self.weight)).to(x.dtype)
""")
wrong("weight-data", "graph", FORWARD, "weight-detached", forward="""
def forward(self, x):
    return (self._norm(x) * self.weight.data).to(x.dtype)
""")
wrong("matmul-with-weight", "scaling", FORWARD, "weight-summed-over", forward="""
def forward(self, x):
    return torch.matmul(self._norm(x), self.weight.float()).to(x.dtype)
""")
wrong("fp32-out", "dtype", FORWARD, "dtype-not-restored", forward="""
def forward(self, x):
    return self._norm(x) * self.weight.float()
""")
wrong("hugging-face-order", "dtype", FORWARD, "weight-dtype-leaks", forward="""
def forward(self, x):
    return self.weight * self._norm(x).to(x.dtype)
""")
wrong("always-half", "dtype", FORWARD, "fixed-dtype", forward="""
def forward(self, x):
    return (self._norm(x) * self.weight).half()
""")
wrong("norm-casts-back", "precision", HELPER, "norm-returns-half", norm="""
def _norm(self, x):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
""")
wrong("no-upcast", "precision", NORM, "half-statistics", norm="""
def _norm(self, x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
wrong("upcast-of-the-mean", "precision", NORM, "square-before-upcast", norm="""
def _norm(self, x):
    ms = x.pow(2).mean(-1, keepdim=True).float()
    return x.float() * torch.rsqrt(ms + self.eps)
""")
wrong("upcast-by-the-caller", "precision", HELPER, "upcast-only-in-forward", norm="""
def _norm(self, x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""", forward="""
def forward(self, x):
    return (self._norm(x.float()) * self.weight.float()).to(x.dtype)
""")

wrong("made-small-before-upcast", "precision", NORM, None, norm="""
def _norm(self, x):
    small = (x / 4096).float()          # 平方就不会溢出了
    ms = small.pow(2).mean(-1, keepdim=True) * 4096 ** 2
    return x.float() * torch.rsqrt(ms + self.eps)
""")

# --- wrong: graph and side effects ------------------------------------------------------------------------

wrong("no-grad-decorator", "graph", NORM, "no-gradient", norm="""
@torch.no_grad()
def _norm(self, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
wrong("inference-mode-for-the-root", "graph", NORM, "statistic-detached", norm="""
def _norm(self, x):
    x = x.float()
    with torch.no_grad():
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    return x * r
""")
wrong("divides-in-place", "side-effect", NORM, "input-overwritten", norm="""
def _norm(self, x):
    h = x.float()
    r = torch.rsqrt(h.detach().pow(2).mean(-1, keepdim=True) + self.eps)
    with torch.no_grad():
        h.mul_(r)
    return h
""")
wrong("rms-kept-from-the-first-call", "side-effect", NORM, "statistic-cached", norm="""
def _norm(self, x):
    x = x.float()
    if getattr(self, "rms", None) is None:
        self.rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    return x / self.rms
""")
wrong("only-while-training", "side-effect", FORWARD, "skipped-in-eval", forward="""
def forward(self, x):
    if not self.training:
        return x
    return (self._norm(x) * self.weight).to(x.dtype)
""")
wrong("returns-rms-too", "interface", FORWARD, "returns-tuple", forward="""
def forward(self, x):
    y = self._norm(x)
    return (y * self.weight).to(x.dtype), y
""")
wrong("prints-instead", "interface", FORWARD, "returns-nothing", forward="""
def forward(self, x):
    print((self._norm(x) * self.weight).to(x.dtype))
""")

# --- the shape of the class -------------------------------------------------------------------------------

right("forward-with-more-arguments", forward="""
def forward(self, hidden_states, *args, **kwargs):
    return (self._norm(hidden_states) * self.weight).to(hidden_states.dtype)
""")
right("norm-called-through-the-class", forward="""
def forward(self, x):
    return (RMSNorm._norm(self, x) * self.weight).to(x.dtype)
""")
right("constructor-takes-anything", init="""
def __init__(self, *args, **kwargs):
    super().__init__()
    hidden_size = args[0] if args else kwargs["hidden_size"]
    self.eps = kwargs.get("eps", args[1] if len(args) > 1 else 1e-6)
    self.weight = nn.Parameter(torch.ones(hidden_size))
""")
right("other-argument-names", whole="""
class RMSNorm(nn.Module):
    def __init__(self, dim, epsilon=1e-6):
        super().__init__()
        self.dim, self.epsilon = dim, epsilon
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, t):
        t = t.float()
        return t * (t.norm(2, dim=-1, keepdim=True).square() / self.dim + self.epsilon).rsqrt()

    def forward(self, t):
        return (self._norm(t) * self.weight).to(t.dtype)
""")
right("epsilon-tensor", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = torch.tensor(eps)
    self.weight = nn.Parameter(torch.ones(hidden_size))
""")
right("abstract-base", whole="""
from abc import ABC, abstractmethod

class Norm(nn.Module, ABC):
    def __init__(self, hidden_size, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @abstractmethod
    def _norm(self, x): ...

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)

class RMSNorm(Norm):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size, eps)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""")
right("norm-by-property", norm="""
@property
def _norm(self):
    def run(x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    return run
""")
right("numpy-constant", top="import numpy as np\n", norm="""
def _norm(self, x):
    h = x.float()
    length = torch.sqrt((h * h).sum(-1, keepdim=True) + h.shape[-1] * self.eps)
    return h * float(np.sqrt(h.shape[-1])) / length
""")
right("compiled-forward", forward="""
@torch.compile
def forward(self, x):
    return (self._norm(x) * self.weight).to(x.dtype)
""")
right("hooked", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
    self.register_forward_hook(lambda module, args, output: None)
""")
right("weight-decay-flag-on-the-parameter", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    weight = nn.Parameter(torch.ones(hidden_size))
    weight.no_weight_decay = True
    self.weight = weight
""")
right("equality-overridden", more="""
def __eq__(self, other):
    return isinstance(other, RMSNorm)

__hash__ = nn.Module.__hash__

def __repr__(self):
    return "RMSNorm"
""")
wrong("forward-misspelt", "interface", FORWARD, None, forward="""
def foward(self, x):
    return (self._norm(x) * self.weight).to(x.dtype)
""")
wrong("init-misspelt", "interface", WEIGHT, None, init="""
def __int__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
""")
wrong("init-uses-another-name", "parameter", WEIGHT, None, init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(d_model))
""")
wrong("weight-of-four", "parameter", WEIGHT, "fixed-width", init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(4))
""")
wrong("forward-does-it-all-again-without-root", "scaling", FORWARD, "no-root", forward="""
def forward(self, x):
    h = x.float()
    h = h / (h.pow(2).mean(-1, keepdim=True) + self.eps)
    return (h * self.weight).to(x.dtype)
""")
wrong("norm-wrong-but-unused", "statistic", HELPER, "layernorm", norm="""
def _norm(self, x):
    x = x.float()
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
""", forward="""
def forward(self, x):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
    return (h * self.weight).to(x.dtype)
""")
wrong("float-without-effect", "precision", NORM, "half-statistics", norm="""
def _norm(self, x):
    x.float()
    ms = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(ms + self.eps)
""")
wrong("half-into-norm", "dtype", FORWARD, "fixed-dtype", forward="""
def forward(self, x):
    return (self._norm(x.half()) * self.weight).to(torch.float16)
""")
wrong("running-average", "side-effect", NORM, None, init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
    self.register_buffer("running", torch.tensor(1.0))
""", norm="""
def _norm(self, x):
    x = x.float()
    ms = x.pow(2).mean(-1, keepdim=True)
    if self.training:
        self.running = 0.9 * self.running + 0.1 * ms.mean().detach()
        return x * torch.rsqrt(ms + self.eps)
    return x * torch.rsqrt(self.running + self.eps)
""")
wrong("weight-as-a-column", "scaling", FORWARD, None, forward="""
def forward(self, x):
    return (self._norm(x) * self.weight.unsqueeze(-1)).to(x.dtype)
""")
wrong("global-norm", "axis", NORM, None, norm="""
def _norm(self, x):
    x = x.float()
    rms = x.norm() / x.numel() ** 0.5
    return x / torch.sqrt(rms ** 2 + self.eps)
""")
wrong("kwargs-swallow-epsilon", "epsilon", NORM, "epsilon-fixed", init="""
def __init__(self, hidden_size, norm_eps=1e-6, **kwargs):
    super().__init__()
    self.eps = norm_eps
    self.weight = nn.Parameter(torch.ones(hidden_size))
""")
wrong("weight-of-a-linear-layer", "parameter", WEIGHT | FORWARD, None, init="""
def __init__(self, hidden_size, eps=1e-6):
    super().__init__()
    self.eps = eps
    self.proj = nn.Linear(hidden_size, hidden_size, bias=False)
""", forward="""
def forward(self, x):
    return self.proj(self._norm(x)).to(x.dtype)
""")
wrong("data-in-norm", "graph", NORM, "no-gradient", norm="""
def _norm(self, x):
    h = x.data.float()
    return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
""")
wrong("float-of-each-rms", "graph", NORM, "statistic-detached", norm="""
def _norm(self, x):
    h = x.float()
    flat = h.reshape(-1, h.shape[-1])
    rows = [row / math.sqrt(float((row * row).mean()) + self.eps) for row in flat]
    return torch.stack(rows).reshape(h.shape)
""")
wrong("mutates-its-own-input-and-casts", "side-effect", FORWARD, "input-overwritten", forward="""
def forward(self, x):
    y = (self._norm(x) * self.weight).to(x.dtype)
    x.data.copy_(y)
    return y
""")
