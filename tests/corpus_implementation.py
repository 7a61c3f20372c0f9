"""Students' ``RMSNorm`` classes for 04-implementation, as the text of their solution cell.

Data for ``test_corpus.py`` and ``matrix.py``. Every class was written for this corpus, in the manner of
people who learn: their names, their detours, their comments. Names begin with the row of the catalogue of
wrong and right variants that an entry embodies; ``X``, ``P`` and ``L`` go beyond it (other mistakes, pairs
of mistakes from two families, other legal ways).
"""

from dataclasses import dataclass

PRELUDE = "import math\n\nimport torch\nfrom torch import nn\n"
"""What the lesson has imported before the cell runs (plus ``math``)."""


@dataclass(frozen=True)
class Entry:
    """One submission."""

    name: str
    family: str
    source: str
    loses: frozenset[str] = frozenset()
    """Steps that must get less than full points; the others must get full points."""
    misconception: tuple[str, ...] | None = None
    """Diagnosis expected at the first failing step; None: no catalogued mistake is asked for."""
    arguable: bool = False
    """Competent people disagree on it: must be accepted."""

    @property
    def right(self) -> bool:
        return not self.loses


NAME = frozenset({"rmsnorm-weight"})
HELPER = frozenset({"rmsnorm-norm"})
WEIGHT = NAME | {"rmsnorm-module"}
NORM = HELPER | {"rmsnorm-module"}
FORWARD = frozenset({"rmsnorm-forward", "rmsnorm-module"})
MODULE = frozenset({"rmsnorm-module"})
INLINE = NORM | FORWARD
"""A wrong statistic in a class without ``_norm``: both steps are judged through ``forward``."""

ENTRIES: list[Entry] = []


def wrong(name, family, loses, misconception, source):
    ids = (misconception,) if isinstance(misconception, str) else misconception
    ENTRIES.append(Entry(name, family, source, loses, ids))


def right(name, source, arguable=False):
    ENTRIES.append(Entry(name, "right", source, arguable=arguable))


# --- A: which statistic -----------------------------------------------------------------------------------

wrong("A01-subtracts-mean", "statistic", NORM, "layernorm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(var + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A01-centres-then-rms", "statistic", NORM, "layernorm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.to(torch.float32)
        h = h - torch.mean(h, dim=-1, keepdim=True)   # 先去均值
        ms = torch.mean(h * h, dim=-1, keepdim=True)
        return h * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        out = self._norm(x)
        out = out * self.weight
        return out.type_as(x)
""")

wrong("A01-functional-layer-norm", "statistic", NORM, "layernorm", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.hidden_size = hidden_size
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.layer_norm(x.float(), (self.hidden_size,), eps=self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A01-std-unbiased", "statistic", NORM, "layernorm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mu, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
        return (x - mu) * torch.rsqrt(var + self.eps)

    def forward(self, x):
        return (self.weight * self._norm(x)).to(x.dtype)
""")

wrong("A01-std-eps-outside", "statistic", NORM, ("layernorm", "epsilon-outside"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True, unbiased=False)
        return (x - mean) / (std + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A02-std-without-centring", "statistic", NORM, "variance-without-centring", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x32 = x.float()
        variance = x32.var(dim=-1, keepdim=True, unbiased=False)
        return x32 * torch.rsqrt(variance + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A02-rms-of-deviations", "statistic", NORM, "variance-without-centring", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        centred = x - x.mean(dim=-1, keepdim=True)
        rms = (centred.pow(2).mean(dim=-1, keepdim=True) + self.eps).sqrt()
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A03-unbiased-variance", "statistic", NORM, "variance-without-centring", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / torch.sqrt(torch.var(x, -1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A03-std-with-eps-outside", "statistic", NORM, ("variance-without-centring", "epsilon-outside"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.std(dim=-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A04-sum-not-mean", "statistic", NORM, "sum-not-mean", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        s = x.pow(2).sum(-1, keepdim=True)
        return x * torch.rsqrt(s + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A04-linalg-norm", "statistic", NORM, ("sum-not-mean", "epsilon-outside"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)   # RMS
        return x / (length + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A05-divides-by-d-minus-one", "statistic", NORM, "n-minus-one", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.hidden_size = hidden_size
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = (x ** 2).sum(dim=-1, keepdim=True) / (self.hidden_size - 1)  # 无偏
        return x / torch.sqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A06-functional-normalize", "statistic", NORM, "sum-not-mean", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.normalize(x.float(), p=2, dim=-1)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A06-functional-normalize-with-eps", "statistic", NORM, "sum-not-mean", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.normalize(x.float(), dim=-1, eps=self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A07-mean-then-square", "statistic", NORM, "mean-before-square", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = x.mean(-1, keepdim=True).pow(2)
        return x * torch.rsqrt(mean_square + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A08-mean-absolute", "statistic", NORM, "mean-absolute", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.abs().mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A08-abs-then-rsqrt", "statistic", NORM, "mean-absolute", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A09-max-abs", "statistic", NORM, "maximum-not-mean", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        biggest = x.abs().max(dim=-1, keepdim=True).values
        return x / (biggest + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A09-max-of-squares", "statistic", NORM, "maximum-not-mean", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        m = x.pow(2).amax(-1, keepdim=True)
        return x * torch.rsqrt(m + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A10-no-root", "root", NORM, "no-root", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = x.pow(2).mean(-1, keepdim=True)
        return x / (mean_square + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A11-times-sqrt", "root", NORM, "multiplied-by-rms", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A12-divided-by-rsqrt", "root", NORM, "multiplied-by-rms", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        xf = x.float()
        rms = torch.rsqrt(xf.square().mean(dim=-1, keepdim=True) + self.eps)  # rsqrt = root square?
        return xf / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A13-square-instead-of-root", "root", NORM, "squared-not-rooted", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        var = x.pow(2).mean(-1, keepdim=True)
        return x / (var + self.eps) ** 2

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A13-power-minus-two", "root", NORM, "squared-not-rooted", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).pow(-2)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A14-median", "statistic", NORM, "median-not-mean", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mid = x.pow(2).median(-1, keepdim=True).values   # 中位数更稳健
        return x * torch.rsqrt(mid + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A15-first-half-only", "statistic", NORM, "partial-statistic", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.partial = hidden_size // 2
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        part = x[..., : self.partial]
        return x * torch.rsqrt(part.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A15-drops-last-feature", "statistic", NORM, "partial-statistic", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x[..., :-1].pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A16-sqrt-d-the-wrong-way", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = hidden_size ** -0.5
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        norm = x.norm(dim=-1, keepdim=True)
        return x / (norm + self.eps) * self.scale

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("A16-norm-times-d", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.d = hidden_size
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return self.d * x / torch.sqrt(x.pow(2).sum(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-mean-divided-by-d-again", "statistic", NORM, "mean-divided-again", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = x.pow(2).mean(-1, keepdim=True) / x.shape[-1]
        return x * torch.rsqrt(mean_square + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-cubes", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.abs().pow(3).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-normalises-the-squares", "statistic", NORM, "scales-the-squares", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        x = x.pow(2)
        return x * torch.rsqrt(x.mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-softmax", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return torch.softmax(x.float(), dim=-1)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-min-max", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        lo, hi = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        return (x - lo) / (hi - lo + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-sorts", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x, _ = x.float().sort(dim=-1)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-returns-only-the-inverse", "statistic", NORM, "returns-statistic", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return r

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-norm-is-the-inverse-and-forward-multiplies", "statistic", HELPER, "returns-statistic", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        y = x.float() * self._norm(x)
        return (y * self.weight).to(x.dtype)
""")

wrong("X-returns-the-rms", "statistic", NORM, "returns-statistic", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        # RMS(x)
        return torch.sqrt(torch.mean(x.float() ** 2, dim=-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-all-in-forward-layernorm", "statistic", INLINE, "layernorm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight).to(x.dtype)
""")

wrong("X-all-in-forward-sum", "statistic", INLINE, "sum-not-mean", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        h = x.float()
        h = h / torch.sqrt(h.pow(2).sum(-1, keepdim=True) + self.eps)
        return (h * self.weight).to(x.dtype)
""")

wrong("X-norm-is-right-but-forward-does-layernorm", "statistic", FORWARD, "layernorm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        centred = x.float() - x.float().mean(-1, keepdim=True)
        return (self._norm(centred) * self.weight).to(x.dtype)
""")

wrong("X-dead-norm-is-wrong", "statistic", HELPER, "sum-not-mean", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):   # 旧的，没用到
        x = x.float()
        return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + self.eps)

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight).to(x.dtype)
""")

# --- B: axis and shape ------------------------------------------------------------------------------------

wrong("B01-sequence-axis", "axis", NORM, "mean-over-tokens", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(dim=-2, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B02-batch-axis", "axis", NORM, "mean-over-batch", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / torch.sqrt(x.pow(2).mean(0, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B02-batch-axis-like-batchnorm", "axis", NORM, "mean-over-batch", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean = x.mean(0, keepdim=True)
        var = x.var(0, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(var + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B03-over-everything", "axis", NORM, "mean-over-everything", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = (x.pow(2).mean() + self.eps).sqrt()
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B04-over-tokens-and-features", "axis", NORM, ("mean-over-everything", "epsilon-outside"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.linalg.norm(x, dim=(-2, -1), keepdim=True) * (x.shape[-1] * x.shape[-2]) ** -0.5
        return x / (rms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B04-dims-one-and-two", "axis", NORM, "mean-over-everything", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean((1, 2), keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B05-dim-two", "axis", NORM, "fixed-axis", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        # x: [batch, seq, hidden]，hidden 是第 2 维
        ms = x.pow(2).mean(dim=2, keepdim=True)
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B05-dim-one", "axis", NORM, "fixed-axis", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = (x * x).mean(1, keepdim=True)
        return x / torch.sqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B06-no-keepdim", "axis", NORM, "no-keepdim", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1) + self.eps)
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B06-no-keepdim-sum", "axis", NORM, "no-keepdim", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = torch.sum(x ** 2, -1) / x.size(-1)
        r = 1.0 / torch.sqrt(mean_square + self.eps)
        return x * r

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B07-unpacks-three", "axis", NORM, "fixed-rank", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        B, T, D = x.shape
        x = x.float()
        ms = (x * x).sum(-1).view(B, T, 1) / D
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B07-asserts-rank-three", "axis", NORM, "fixed-rank", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        assert x.dim() == 3, "需要 (B, T, D)"
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B07-forward-unpacks-three", "axis", FORWARD, "fixed-rank", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        batch, seq_len, hidden = x.shape
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B08-unsqueeze-one", "axis", NORM, "no-keepdim", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).mean(-1).unsqueeze(1)
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B08-index-none", "axis", NORM, "fixed-rank", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).mean(-1)[:, :, None]
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B09-stays-flat", "axis", NORM, "shape-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float().reshape(-1, x.shape[-1])
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B09-forward-squeezes", "axis", FORWARD, "shape-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype).squeeze()
""")

wrong("B10-view-on-strides", "axis", NORM, "view-on-strides", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        shape = x.shape
        flat = x.view(-1, shape[-1]).float()
        flat = flat * torch.rsqrt(flat.pow(2).mean(-1, keepdim=True) + self.eps)
        return flat.view(shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("B10-view-in-forward", "axis", FORWARD, "view-on-strides", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        tokens = x.view(-1, x.size(-1))
        y = (self._norm(tokens) * self.weight).to(x.dtype)
        return y.view(*x.shape)
""")

wrong("B11-width-four", "axis", NORM, "fixed-width", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = x.pow(2).sum(dim=-1, keepdim=True) / 4
        return x / torch.sqrt(mean_square + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-reshape-transposes-features", "axis", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float().reshape(x.shape[-1], -1)
        h = h * torch.rsqrt(h.pow(2).mean(0, keepdim=True) + self.eps)
        return h.reshape(x.shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-einsum-sums-tokens-too", "axis", NORM, "mean-over-everything", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = torch.einsum("...d,...d->", x, x) / x.numel()
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-einsum-three-letters", "axis", NORM, "fixed-rank", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = torch.einsum("btd,btd->bt", x, x).unsqueeze(-1) / x.shape[-1]
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-loops-over-batch-and-tokens", "axis", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rows = []
        for b in range(x.shape[0]):
            for t in range(x.shape[1]):
                v = x[b, t, :]
                rows.append(v / torch.sqrt((v ** 2).mean() + self.eps))
        return torch.stack(rows).reshape(x.shape[0], x.shape[1], x.shape[2])

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-averages-over-last-two-as-sum", "axis", NORM, "fixed-axis", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        n = x.shape[0]
        return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / n + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-adds-a-batch-axis", "axis", NORM, "shape-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        if x.dim() == 1:
            x = x.unsqueeze(0)
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

# --- C: ε -------------------------------------------------------------------------------------------------

wrong("C01-no-eps", "epsilon", NORM, "no-epsilon", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C01-no-eps-division", "epsilon", NORM, "no-epsilon", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(torch.mean(x ** 2, dim=-1, keepdim=True))
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C02-eps-outside", "epsilon", NORM, "epsilon-outside", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = x.pow(2).mean(-1, keepdim=True).sqrt()
        return x / (rms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C02-eps-outside-by-norm", "epsilon", NORM, "epsilon-outside", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        d_x = x.size(-1)
        norm_x = x.norm(2, dim=-1, keepdim=True)
        rms_x = norm_x * d_x ** (-1.0 / 2)
        return x / (rms_x + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C03-eps-1e-6-written-in", "epsilon", NORM, "epsilon-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C03-eps-argument-ignored", "epsilon", NORM, "epsilon-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = 1e-6
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C04-eps-1e-5-written-in", "epsilon", NORM, "epsilon-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C04-eps-1e-8-written-in", "epsilon", NORM, "epsilon-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x, eps=1e-8):
        x = x.float()
        return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C04-builtin-with-eps-none", "epsilon", NORM, "epsilon-fixed", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.rms_norm(x.float(), (x.shape[-1],))

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C04-nn-rmsnorm-eps-none", "epsilon", INLINE, "epsilon-fixed", """
class RMSNorm(nn.RMSNorm):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size)

    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)
""")

wrong("C05-eps-squared", "epsilon", NORM, "epsilon-squared", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps ** 2)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C06-eps-on-x", "epsilon", NORM, "epsilon-on-x", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = (x + self.eps).pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(ms)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C06-eps-shifts-x-itself", "epsilon", NORM, "epsilon-on-x", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float() + self.eps   # 防止全零
        return x / x.pow(2).mean(-1, keepdim=True).sqrt()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C07-eps-inside-the-sum", "epsilon", NORM, "epsilon-in-sum", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        d = x.shape[-1]
        return x / torch.sqrt((x.pow(2).sum(-1, keepdim=True) + self.eps) / d)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C07-sqrt-d-times-unit-vector", "epsilon", NORM, "epsilon-in-sum", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = hidden_size ** 0.5
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * self.scale * torch.rsqrt(x.square().sum(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C07-sqrt-d-eps-outside", "epsilon", NORM, "epsilon-outside", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = hidden_size ** 0.5
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.norm(dim=-1, keepdim=True) + self.eps) * self.scale

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C08-clamp", "epsilon", NORM, "epsilon-as-floor", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True).clamp(min=self.eps))

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C08-clamp-rms", "epsilon", NORM, "epsilon-as-floor", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = x.pow(2).mean(-1, keepdim=True).sqrt()
        return x / torch.clamp(rms, min=self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C08-normalize-times-sqrt-d", "epsilon", NORM, "no-epsilon", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.normalize(x.float(), dim=-1) * math.sqrt(x.shape[-1])

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C09-eps-after-rsqrt", "epsilon", NORM, "epsilon-after-root", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * (torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C10-inside-and-outside", "epsilon", NORM, "epsilon-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x / (rms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C10-twice-inside", "epsilon", NORM, "epsilon-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = x.pow(2).mean(-1, keepdim=True) + self.eps
        r = torch.rsqrt(mean_square + self.eps)
        return x * r

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C11-nan-to-num", "epsilon", NORM, "no-epsilon", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        y = x / torch.sqrt(x.pow(2).mean(-1, keepdim=True))
        return torch.nan_to_num(y)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("C11-where-zero", "epsilon", NORM, "no-epsilon", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).mean(-1, keepdim=True)
        ms = torch.where(ms == 0, torch.ones_like(ms), ms)
        return x * torch.rsqrt(ms)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-eps-subtracted", "epsilon", NORM, "epsilon-subtracted", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) - self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-eps-in-numerator", "epsilon", NORM, "epsilon-on-x", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x + self.eps) / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-root-of-rms-plus-eps", "root", NORM, "root-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True))
        return x / torch.sqrt(rms + self.eps)   # y = x / sqrt(RMS + eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-root-of-rms-eps-inside-both", "root", NORM, "root-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps)
        return x * torch.rsqrt(rms)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-sqrt-then-reciprocal-of-rsqrt", "root", NORM, "multiplied-by-rms", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps).reciprocal()
        return x * r

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-eps-stored-as-int", "epsilon", NORM, "no-epsilon", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = int(eps)
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-eps-in-kwargs", "epsilon", NORM, "epsilon-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, epsilon=1e-6, **kwargs):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

# --- D: the weight ----------------------------------------------------------------------------------------

wrong("D01-plain-tensor", "parameter", WEIGHT, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.ones(hidden_size)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D02-requires-grad-tensor", "parameter", WEIGHT, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.ones(hidden_size, requires_grad=True)   # 可训练

    def _norm(self, x):
        xf = x.float()
        ms = xf.pow(2).mean(-1, keepdim=True)
        return xf / torch.sqrt(ms + self.eps)

    def forward(self, x):
        return (self.weight * self._norm(x)).to(x.dtype)
""")

wrong("D03-buffer", "parameter", WEIGHT, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D04-frozen", "parameter", WEIGHT, "weight-frozen", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size), requires_grad=False)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D04-frozen-later", "parameter", WEIGHT, "weight-frozen", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        w = torch.ones(hidden_size)
        self.weight = nn.Parameter(w)
        self.weight.requires_grad_(False)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D05-one-number", "parameter", WEIGHT, "weight-scalar", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D05-rank-zero", "parameter", WEIGHT, "weight-scalar", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.tensor(1.0))

    def _norm(self, x):
        x = x.to(dtype=torch.float32)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        y = self._norm(x)
        return (y * self.weight).to(dtype=x.dtype)
""")

wrong("D06-zeros", "parameter", WEIGHT, "weight-not-ones", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D07-randn", "parameter", WEIGHT, "weight-not-ones", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D07-uninitialised-normal", "parameter", WEIGHT, "weight-not-ones", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(hidden_size))
        nn.init.normal_(self.weight, mean=1.0, std=0.02)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D08-list", "parameter", WEIGHT | FORWARD, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = [1.0] * hidden_size

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * torch.tensor(self.weight)).to(x.dtype)
""")

wrong("D09-made-in-forward", "parameter", WEIGHT | FORWARD, "weight-made-in-forward", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.hidden_size = hidden_size

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        self.weight = nn.Parameter(torch.ones(self.hidden_size))
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D10-forgets-the-weight", "scaling", FORWARD, "weight-unused", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x).to(x.dtype)
""")

wrong("D10-product-thrown-away", "scaling", FORWARD, "weight-unused", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        out = self._norm(x)
        out * self.weight
        return out.type_as(x)
""")

wrong("D10-no-weight-anywhere", "parameter", WEIGHT | FORWARD, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x).to(x.dtype)
""")

wrong("D11-weight-data", "scaling", FORWARD, "weight-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        w = self.weight.data
        return (self._norm(x) * w).to(x.dtype)
""")

wrong("D12-weight-detached", "scaling", FORWARD, "weight-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight.detach().float()).to(x.dtype)
""")

wrong("D12-weight-through-torch-tensor", "scaling", FORWARD, "weight-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * torch.tensor(self.weight)).to(x.dtype)
""")

wrong("D13-extra-bias", "parameter", WEIGHT, "extra-bias", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight + self.bias).to(x.dtype)
""")

wrong("D13-eps-is-a-parameter", "parameter", WEIGHT, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor(eps))
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps.float())

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D14-one-plus-weight", "scaling", FORWARD, "unit-offset", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * (1.0 + self.weight.float())).type_as(x)
""")

wrong("D14-gemma-zeros", "scaling", WEIGHT | FORWARD, "weight-not-ones", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x) * (1 + self.weight)
        return output.to(x.dtype)
""")

wrong("D15-row-matrix", "parameter", WEIGHT, "weight-two-dimensional", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D15-one-one-d", "parameter", WEIGHT, "weight-two-dimensional", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones((1, 1, hidden_size)))  # 方便广播

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D15-column", "parameter", WEIGHT, "weight-two-dimensional", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size, 1))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight.T).to(x.dtype)
""")

wrong("D15-width-four", "parameter", WEIGHT, "fixed-width", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(4))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D15-square-matrix", "parameter", WEIGHT, "weight-two-dimensional", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size, hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D16-linear-layer", "parameter", WEIGHT | FORWARD, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.proj = nn.Linear(hidden_size, hidden_size, bias=False)
        nn.init.eye_(self.proj.weight)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self.proj(self._norm(x).to(self.proj.weight.dtype)).to(x.dtype)
""")

wrong("D17-weight-before-norm", "scaling", FORWARD, "weight-before-norm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float() * self.weight).to(x.dtype)
""")

wrong("D18-divides-by-weight", "scaling", FORWARD, "weight-divides", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) / self.weight).to(x.dtype)
""")

wrong("D19-weight-in-norm-and-forward", "scaling", FORWARD, "weight-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight.float() * h

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D19-weight-squared", "scaling", FORWARD, "weight-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight ** 2).to(x.dtype)
""")

wrong("D20-adds-weight", "scaling", FORWARD, "weight-added", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self.weight + self._norm(x)).to(x.dtype)
""")

wrong("D20-residual", "scaling", FORWARD, "adds-the-input", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return x + (self._norm(x) * self.weight).to(x.dtype)   # 残差
""")

wrong("D21-gamma", "parameter", NAME, "weight-renamed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.gamma).to(x.dtype)
""")

wrong("D21-scale-all-in-forward", "parameter", NAME, "weight-renamed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        xf = x.float()
        inv = torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + self.eps)
        return (xf * inv * self.scale).to(x.dtype)
""")

wrong("D21-misspelt", "parameter", NAME, "weight-renamed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.wieght = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.wieght).to(x.dtype)
""")

wrong("X-not-a-module-without-call", "parameter", WEIGHT, "not-a-module", """
class RMSNorm():
    def __init__(self, hidden_size, eps=1e-6):
        self.eps = eps
        self.d = hidden_size
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.to(torch.float32)
        return h / torch.sqrt(h.square().sum(-1, keepdim=True) / self.d + self.eps)

    def forward(self, x):
        return (self.weight * self._norm(x)).to(x.dtype)
""")

wrong("X-not-a-module-and-layernorm", "pair", WEIGHT | NORM, "not-a-module", """
class RMSNorm:
    def __init__(self, hidden_size, eps=1e-6):
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-no-super-init-before-more", "parameter", WEIGHT, "no-super-init", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E04-all-in-forward-and-fp32-left", "dtype", FORWARD, "dtype-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight.float() * h
""")

wrong("D21-parameter-list", "parameter", NAME, "weight-renamed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.params = nn.ParameterList([nn.Parameter(torch.ones(hidden_size))])

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.params[0]).to(x.dtype)
""")

wrong("D22-parameter-cast", "parameter", WEIGHT, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size)).half()

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("D22-parameter-times-number", "parameter", WEIGHT, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size)) * 1.0

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-local-variable", "parameter", WEIGHT, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        weight = nn.Parameter(torch.ones(hidden_size))   # 忘了 self.

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-number-instead-of-tensor", "parameter", WEIGHT, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(hidden_size)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-parameter-of-the-number", "parameter", WEIGHT, "weight-scalar", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.tensor([float(hidden_size)]))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-no-super-init", "parameter", WEIGHT, "no-super-init", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-not-a-module", "parameter", WEIGHT, "not-a-module", """
class RMSNorm:
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)

    def __call__(self, x):
        return self.forward(x)
""")

wrong("X-is-an-autograd-function", "parameter", WEIGHT | NORM | FORWARD, None, """
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps=1e-6):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        return x * r * weight
""")

wrong("X-eps-forgotten", "epsilon", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-dot-product-with-weight", "scaling", FORWARD, "weight-summed-over", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) @ self.weight.float()).to(x.dtype)
""")

wrong("X-weight-absolute", "scaling", FORWARD, "weight-absolute", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight.abs()).to(x.dtype)
""")

wrong("X-scales-the-input", "scaling", FORWARD, "returns-normalized-input", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        self._norm(x)
        return (x * self.weight).to(x.dtype)
""")

wrong("X-multiplies-x-by-the-result", "scaling", FORWARD, "multiplies-input-again", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (x.float() * self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-normalises-twice", "scaling", FORWARD, "normalises-twice", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-returns-nothing", "scaling", FORWARD, "returns-nothing", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        out = (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-norm-returns-nothing", "statistic", NORM, "returns-nothing", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-norm-needs-eps-passed", "interface", HELPER, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x, eps):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    def forward(self, x):
        return (self._norm(x, self.eps) * self.weight).to(x.dtype)
""")

wrong("X-self-forgotten", "interface", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

# --- E: precision and dtype -------------------------------------------------------------------------------

wrong("E01-stats-in-input-dtype", "precision", NORM, "half-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E01-stats-in-input-dtype-division", "precision", NORM, "half-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        mean_square = (x * x).mean(dim=-1, keepdim=True)
        rms = torch.sqrt(mean_square + self.eps)
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E01-stats-by-norm", "precision", NORM, "half-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        ms = x.square().sum(-1, keepdim=True) / x.shape[-1]
        return x * (ms + self.eps) ** -0.5

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E01-result-upcast-too-late", "precision", NORM, "square-before-upcast", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return y.float()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E01-all-in-forward", "precision", INLINE, "half-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x / rms * self.weight).to(x.dtype)
""")

wrong("E01-upcast-in-forward-only", "precision", HELPER, "upcast-only-in-forward", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()) * self.weight
        return output.type_as(x)
""")

wrong("E01-upcast-in-forward-only-llama-order", "precision", HELPER, "upcast-only-in-forward", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        mean_square = x.pow(2).mean(-1, keepdim=True)
        return x / torch.sqrt(mean_square + self.eps)

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        out = self._norm(x).to(dtype)
        return (self.weight.to(dtype) * out)
""")

wrong("E02-upcast-after-pow", "precision", NORM, "square-before-upcast", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        ms = x.pow(2).float().mean(-1, keepdim=True)
        return x.float() * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E02-upcast-after-pow-and-back", "precision", NORM, "square-before-upcast", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        inv = torch.rsqrt((x ** 2).float().mean(-1, keepdim=True) + self.eps)
        return x * inv

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E03-float-only-on-outer-x", "precision", NORM, "square-before-upcast", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x.float() * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E04-output-left-fp32", "dtype", FORWARD, "dtype-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self.weight * self._norm(x)
""")

wrong("E04-cast-result-thrown-away", "dtype", FORWARD, "dtype-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        out = self._norm(x) * self.weight
        out.to(x.dtype)
        return out
""")

wrong("E04-original-dtype-read-too-late", "dtype", FORWARD, "dtype-not-restored", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        x = self._norm(x)
        x = x * self.weight
        return x.to(x.dtype)
""")

wrong("E05-llama-order-fp32-weight", "dtype", FORWARD, "weight-dtype-leaks", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        hidden_states = x.to(torch.float32)
        mean_square = hidden_states.pow(2).mean(-1, keepdim=True)
        return hidden_states * torch.rsqrt(mean_square + self.eps)

    def forward(self, x):
        return self.weight * self._norm(x).to(x.dtype)
""")

wrong("E05-norm-casts-back-then-scales", "dtype", HELPER | FORWARD, "norm-returns-half", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return h.type_as(x)

    def forward(self, x):
        return self._norm(x) * self.weight
""")

wrong("E06-weight-dtype", "dtype", FORWARD, "weight-dtype-leaks", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(self.weight.dtype)
""")

wrong("E07-half", "dtype", FORWARD, "fixed-dtype", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).half()
""")

wrong("E08-bfloat16", "dtype", FORWARD, "fixed-dtype", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(torch.bfloat16)
""")

wrong("E09-stats-in-bf16", "precision", NORM, "half-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.to(torch.bfloat16)
        ms = h.pow(2).mean(-1, keepdim=True)
        return x.float() * torch.rsqrt(ms + self.eps).float()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E09-everything-in-bf16", "precision", NORM, "half-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.bfloat16()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E11-double-always", "dtype", FORWARD, "fixed-dtype", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.double()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x) * self.weight.double()
""")

wrong("E13-clamps-large-values", "precision", NORM, "input-clamped", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.clamp(-255, 255)   # 255² < 65504，防止溢出
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E13-clamps-the-square", "precision", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        squares = x.pow(2).clamp(max=65504).float()
        return x.float() * torch.rsqrt(squares.mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("E14-eps-added-in-half", "precision", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        ms = x.float().pow(2).mean(-1, keepdim=True).to(x.dtype)
        return x.float() * torch.rsqrt(ms + self.eps).float()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-forward-casts-down-first", "precision", FORWARD, "fixed-dtype", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        x = x.half()
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-autocast-decorator", "precision", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def _norm(self, x):
        dot = x.unsqueeze(-2) @ x.unsqueeze(-1)    # 自动混合精度会管精度
        ms = dot.squeeze(-1) / x.shape[-1]
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-only-accepts-fp32", "precision", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        assert x.dtype == torch.float32, "只支持 float32"
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-fp16-only-is-upcast", "precision", HELPER, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        if x.dtype == torch.float16:
            x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-norm-returns-half", "precision", HELPER, "norm-returns-half", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.to(dtype)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-rounds-to-three-decimals", "precision", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return torch.round(y, decimals=3)   # 和手算对得上

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-sums-in-half", "precision", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        length = x.norm(dim=-1, keepdim=True)
        ms = length.pow(2) / x.shape[-1]
        return x / torch.sqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

# --- F: graph, state, side effects ------------------------------------------------------------------------

wrong("F01-in-place-on-alias", "side-effect", NORM, "input-overwritten", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.mul_(r)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F01-augmented-division", "side-effect", NORM, "input-overwritten", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.to(torch.float32)
        x /= torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)
        return x

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F01-in-place-in-forward", "side-effect", FORWARD, "input-overwritten", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        y = (self._norm(x) * self.weight).to(x.dtype)
        x.copy_(y)   # 省一点内存
        return x
""")

wrong("F01-squares-in-place", "side-effect", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x.pow_(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F02-no-grad-block", "graph", NORM, "no-gradient", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        with torch.no_grad():
            x = x.float()
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F02-no-grad-around-statistic", "graph", NORM, "statistic-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        with torch.no_grad():   # 统计量不需要梯度
            r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * r

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F02-no-grad-decorator", "graph", FORWARD, "no-gradient", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    @torch.no_grad()
    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F02-inference-mode", "graph", FORWARD, "no-gradient", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    @torch.inference_mode()
    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F03-x-data", "graph", NORM, "no-gradient", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.data.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F03-detached-in-forward", "graph", FORWARD, "no-gradient", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        normed = self._norm(x).detach()
        return (normed * self.weight).to(x.dtype)
""")

wrong("F04-detached-denominator", "graph", NORM, "statistic-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x / rms.detach()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F04-data-inside-statistic", "graph", NORM, "statistic-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_square = x.data.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F04-numerator-detached", "graph", NORM, "numerator-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.detach() * r

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F04-mean-square-detached-once", "graph", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = (x * x.detach()).mean(-1, keepdim=True)
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F05-rms-through-torch-tensor", "graph", NORM, "statistic-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.tensor(torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F06-numpy-round-trip", "graph", NORM, None, """
import numpy as np

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        a = x.numpy().astype(np.float32)
        a = a / np.sqrt(np.mean(a ** 2, axis=-1, keepdims=True) + self.eps)
        return torch.from_numpy(a)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F06-numpy-round-trip-detached", "graph", NORM, "no-gradient", """
import numpy as np

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        a = x.detach().float().cpu().numpy()
        a = a / np.sqrt(np.mean(a ** 2, axis=-1, keepdims=True) + self.eps)
        return torch.tensor(a)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F06-numpy-statistic", "graph", NORM, "statistic-detached", """
import numpy as np

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = np.sqrt(x.detach().numpy().__pow__(2).mean(-1, keepdims=True) + self.eps)
        return x / torch.from_numpy(rms)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F07-global-rms-item", "graph", NORM, ("mean-over-everything", "statistic-detached"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = math.sqrt(x.pow(2).mean().item() + self.eps)
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F08-caches-the-statistic", "side-effect", NORM, "statistic-cached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.rms = None

    def _norm(self, x):
        x = x.float()
        if self.rms is None:   # 只算一次
            self.rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x / self.rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F08-running-statistic", "side-effect", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.register_buffer("running", torch.tensor(1.0))

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).mean(-1, keepdim=True)
        if self.training:
            self.running = 0.9 * self.running + 0.1 * ms.detach().mean()
            return x * torch.rsqrt(ms + self.eps)
        return x * torch.rsqrt(self.running + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F08-counts-calls-in-a-buffer", "side-effect", FORWARD, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.register_buffer("calls", torch.tensor(0))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        self.calls += 1
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F09-eval-skips", "side-effect", FORWARD, "skipped-in-eval", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        if not self.training:
            return x
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F09-eval-skips-in-norm", "side-effect", NORM, "skipped-in-eval", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        if self.training:
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F10-dropout", "side-effect", FORWARD, "dropout-inside", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.dropout = nn.Dropout(0.1)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self.dropout(self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F10-dropout-half", "side-effect", FORWARD, "dropout-inside", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.drop = nn.Dropout()

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        out = self.drop(self._norm(x))
        return (out * self.weight).to(x.dtype)
""")

wrong("F11-hard-coded-sentence", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return torch.tensor([[[0.365, 0.730, 1.095, 1.461],
                              [0.816, 0.000, -0.816, 1.633],
                              [-1.000, 1.000, -1.000, 1.000]]])

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F11-hard-coded-where-known", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        known = {7.5: 2.7386128, 6.0: 2.4494897, 1.0: 1.0}
        ms = x.pow(2).mean(-1, keepdim=True)
        if x.shape[-1] == 4:
            rms = torch.tensor([known.get(round(v, 3), 1.0) for v in ms.flatten().tolist()])
            return x / rms.reshape(ms.shape)
        return x

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F12-identity", "statistic", NORM, "no-normalisation", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F12-returns-x-unchanged", "statistic", NORM, "no-normalisation", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F13-returns-a-tuple", "side-effect", FORWARD, "returns-tuple", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype),
""")

wrong("F13-norm-returns-a-tuple", "side-effect", HELPER, "returns-tuple", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x / rms, rms

    def forward(self, x):
        y, _ = self._norm(x)
        return (y * self.weight).to(x.dtype)
""")

wrong("F13-returns-a-list", "side-effect", FORWARD, "returns-tuple", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype).tolist()
""")

wrong("F14-python-loop", "graph", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        out = torch.zeros(x.shape)
        for b in range(x.shape[0]):
            for t in range(x.shape[1]):
                total = 0.0
                for i in range(x.shape[2]):
                    total += float(x[b, t, i]) ** 2
                rms = math.sqrt(total / x.shape[2] + self.eps)
                for i in range(x.shape[2]):
                    out[b, t, i] = float(x[b, t, i]) / rms
        return out

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F15-new-tensor-on-cpu", "device", NORM, "device-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        eps = torch.full((x.shape[-1],), self.eps)
        ms = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(ms + eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F15-moves-to-cpu", "device", FORWARD, "device-fixed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        ones = torch.ones(x.shape[-1])
        return (self._norm(x) * (ones * self.weight)).to(x.dtype)
""")

wrong("F16-sign-lost", "statistic", NORM, "sign-lost", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).mean(-1, keepdim=True)
        return x.abs() * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F16-root-of-share", "statistic", NORM, "sign-lost", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        sq = x.float() ** 2
        return torch.sqrt(sq / (sq.mean(-1, keepdim=True) + self.eps))

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F17-share-of-squares", "statistic", NORM, "scales-the-squares", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        sq = x.float().pow(2)
        return sq / (sq.sum(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F17-x-over-sum-of-squares", "statistic", NORM, ("sum-not-mean", "no-root"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.pow(2).sum(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F18-decays-the-weight", "side-effect", FORWARD, "weight-mutated", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        out = (self._norm(x) * self.weight).to(x.dtype)
        with torch.no_grad():
            self.weight.mul_(0.99)
        return out
""")

wrong("F18-clamps-the-weight", "side-effect", FORWARD, "weight-mutated", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        self.weight.data.clamp_(min=0)   # γ 应该是正的
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("F18-casts-the-weight", "side-effect", FORWARD, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        out = self._norm(x)
        out *= self.weight
        self.weight.data.fill_(1.0)
        return out.to(x.dtype)
""")

wrong("X-wrong-backward", "graph", NORM, None, """
class _Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        x = x.float()
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, r)
        return x * r

    @staticmethod
    def backward(ctx, g):
        x, r = ctx.saved_tensors
        # 少了 1/d
        return g * r - x * r.pow(3) * (g * x).sum(-1, keepdim=True), None


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return _Fn.apply(x, self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-backward-ignores-weight", "graph", FORWARD, None, """
class _RMS(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps):
        h = x.float()
        r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(h, w, r)
        return (h * r * w).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        h, w, r = ctx.saved_tensors
        n = h * r
        gx = r * (g - n * (g * n).mean(-1, keepdim=True))
        gw = g.reshape(-1, g.shape[-1]).sum(0)
        return gx, gw, None


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        return _RMS.apply(x, self.weight, self.eps)
""")

wrong("X-straight-through", "graph", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x + (y - x).detach()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-gradient-hook-halves", "graph", FORWARD | NAME, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.weight.register_hook(lambda g: 0.5 * g)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-items-per-token", "graph", NORM, "statistic-detached", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        flat = x.float().reshape(-1, x.shape[-1])
        rows = [row / math.sqrt(row.pow(2).mean().item() + self.eps) for row in flat]
        return torch.stack(rows).reshape(x.shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-adds-noise", "side-effect", FORWARD, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        y = self._norm(x) * self.weight
        if self.training:
            y = y + 0.01 * torch.randn_like(y)
        return y.to(x.dtype)
""")

wrong("X-replaces-nan-in-input", "statistic", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = torch.relu(x.float())
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-batch-norm-inside", "axis", NORM, None, """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bn = nn.BatchNorm1d(hidden_size, eps=eps, affine=False)

    def _norm(self, x):
        flat = x.float().reshape(-1, x.shape[-1])
        return self.bn(flat).reshape(x.shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("X-layer-norm-subclass", "statistic", INLINE | WEIGHT, "extra-bias", """
class RMSNorm(nn.LayerNorm):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size, eps=eps)
""")

# --- P: two mistakes of different families ----------------------------------------------------------------

wrong("P-layernorm-in-half", "pair", NORM, ("half-statistics", "layernorm"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-layernorm-with-bias", "pair", WEIGHT | NORM, "extra-bias", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))

    def _norm(self, x):
        x = x.float()
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight + self.bias).to(x.dtype)
""")

wrong("P-sum-and-no-eps", "pair", NORM, ("sum-not-mean", "no-epsilon"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / x.pow(2).sum(-1, keepdim=True).sqrt()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-no-keepdim-and-no-eps", "pair", NORM, "no-keepdim", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1))

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-half-and-no-keepdim", "pair", NORM, "no-keepdim", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-half-and-eps-outside", "pair", NORM, ("half-statistics", "epsilon-outside"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True))
        return x / (rms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-half-and-detached", "pair", NORM, ("half-statistics", "statistic-detached"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps).detach()
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-half-and-sum", "pair", NORM, ("half-statistics", "sum-not-mean"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x / torch.sqrt((x ** 2).sum(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-upcast-in-forward-and-layernorm", "pair", NORM, ("half-statistics", "layernorm"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x.float()) * self.weight).to(x.dtype)
""")

wrong("P-tokens-axis-and-eps-outside", "pair", NORM, ("mean-over-tokens", "epsilon-outside"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = x.pow(2).mean(-2, keepdim=True).sqrt()
        return x / (rms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-sum-without-root", "pair", NORM, ("sum-not-mean", "no-root"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        energy = torch.sum(x * x, dim=-1, keepdim=True) + self.eps
        return x * energy.reciprocal()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-plain-weight-and-layernorm", "pair", WEIGHT | NORM, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = torch.ones(hidden_size)

    def _norm(self, x):
        x = x.float()
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-gamma-and-eps-outside", "pair", NAME | NORM, "weight-renamed", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.gamma).to(x.dtype)
""")

wrong("P-row-weight-and-no-keepdim", "pair", WEIGHT | NORM, "weight-two-dimensional", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1, hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-layernorm-and-dtype-left", "pair", NORM | FORWARD, "layernorm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x) * self.weight
""")

wrong("P-eps-outside-and-weight-added", "pair", NORM | FORWARD, "epsilon-outside", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps)

    def forward(self, x):
        return (self._norm(x) + self.weight).to(x.dtype)
""")

wrong("P-one-plus-weight-and-dtype-left", "pair", FORWARD, ("unit-offset", "dtype-not-restored"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x) * (1 + self.weight)
""")

wrong("P-weight-unused-and-dtype-left", "pair", FORWARD, ("weight-unused", "dtype-not-restored"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x)
""")

wrong("P-no-root-and-unpacking", "pair", NORM, ("fixed-rank", "no-root"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        b, s, d = x.size()
        x = x.float()
        return x / (x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-max-norm-eps-outside-in-half", "pair", NORM, ("half-statistics", "maximum-not-mean"), """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x / (x.abs().amax(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

wrong("P-everything-at-once", "pair", WEIGHT | NORM | FORWARD, "weight-not-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = torch.ones(hidden_size)

    def _norm(self, x):
        return (x - x.mean(-1)) / x.std(-1)

    def forward(self, x):
        return self._norm(x) + self.weight
""")

# --- right ------------------------------------------------------------------------------------------------

right("R00-the-plain-one", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        if hidden_size <= 0:
            raise ValueError("hidden_size 必须是正整数")
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x_fp32 = x.float()
        mean_square = x_fp32.pow(2).mean(-1, keepdim=True)
        return x_fp32 * torch.rsqrt(mean_square + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R01-functional-rms-norm", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.rms_norm(x.float(), (x.shape[-1],), eps=self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R01-functional-with-weight", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.shape = (hidden_size,)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return F.rms_norm(x.float(), self.shape, None, self.eps)

    def forward(self, x):
        return F.rms_norm(x.float(), self.shape, self.weight.float(), self.eps).to(x.dtype)
""")

right("R02-builtin-subclass", """
class RMSNorm(nn.RMSNorm):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size, eps=eps)

    def forward(self, x):
        return super().forward(x.to(self.weight.dtype)).to(x.dtype)
""")

right("R02-builtin-subclass-fp32", """
import torch.nn.functional as F

class RMSNorm(torch.nn.RMSNorm):
    def _norm(self, x):
        return F.rms_norm(x.float(), self.normalized_shape, eps=self.eps)

    def forward(self, x):
        return self._norm(x).mul(self.weight).type_as(x)
""")

right("R03-llama-order", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def _norm(self, hidden_states):
        hidden_states = hidden_states.to(torch.float32)
        mean_square = hidden_states.pow(2).mean(-1, keepdim=True)
        return hidden_states * torch.rsqrt(mean_square + self.variance_epsilon)

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        out = self._norm(hidden_states).to(input_dtype)
        return self.weight.to(input_dtype) * out
""")

right("R04-fp32-weight-then-cast", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size, dtype=torch.float32))

    def _norm(self, x):
        x = x.to(torch.float32)
        rrms = torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps)
        return x * rrms

    def forward(self, x):
        y = self._norm(x) * self.weight.to(torch.float32)
        return y.to(x.dtype)
""")

right("R05-division-by-sqrt", """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + self.eps)
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R06-vector-norm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x * torch.rsqrt(length ** 2 / x.shape[-1] + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R07-einsum", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float()
        energy = torch.einsum("...d,...d->...", h, h)[..., None]
        return h / (energy / h.size(-1) + self.eps).sqrt()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R08-sum-over-d", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = (x * x).sum(-1, keepdim=True) / x.size(-1)
        return x / torch.sqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).type(x.dtype)
""")

right("R09-powers", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * ((x ** 2).mean(-1, True) + self.eps) ** -0.5

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R10-torch-pow", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        mean_squared = x.pow(2).mean(-1, keepdim=True) + self.eps
        return x * torch.pow(mean_squared, -0.5)

    def forward(self, x):
        return (self._norm(x) * self.weight.float()).type_as(x)
""")

right("R11-method-chain", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return x.float().mul(x.float().square().mean(dim=-1, keepdim=True).add(self.eps).rsqrt())

    def forward(self, x):
        return self._norm(x).mul(self.weight).to(x)
""")

right("R12-unsqueeze", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).mean(-1).unsqueeze(-1)
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R13-mean-dtype", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        up = x.to(dtype=torch.promote_types(x.dtype, torch.float32))
        ms = torch.mean(up.square(), dim=-1, keepdim=True, dtype=torch.float32)
        return up * (ms + self.eps).rsqrt()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R14-fp64-statistics", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        xd = x.double()   # 更宽也可以
        return xd / torch.sqrt(xd.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R15-autograd-function", """
class _RMSNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        h = x.float()
        r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
        n = h * r
        ctx.save_for_backward(n, r)
        ctx.dtype = x.dtype
        return n

    @staticmethod
    def backward(ctx, grad):
        n, r = ctx.saved_tensors
        gx = r * (grad - n * (grad * n).mean(-1, keepdim=True))
        return gx.to(ctx.dtype), None


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return _RMSNormFn.apply(x, self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R15-autograd-function-fused", """
class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps):
        h = x.float()
        r = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(h * r, r, w)
        ctx.dtype = x.dtype
        return (h * r * w).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        n, r, w = ctx.saved_tensors
        g = g.float()
        gn = g * w
        gx = r * (gn - n * (gn * n).mean(-1, keepdim=True))
        gw = (g * n).reshape(-1, w.numel()).sum(0)
        return gx.to(ctx.dtype), gw.to(w.dtype), None


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        return Fused.apply(x, self.weight, self.eps)
""")

right("R16-addcmul", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        e = torch.full_like(x, self.eps)
        ms = torch.addcmul(e, x, x).mean(-1, keepdim=True)
        return x * torch.rsqrt(ms)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R17-matmul", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        dot = (x.unsqueeze(-2) @ x.unsqueeze(-1)).squeeze(-1)
        return x / torch.sqrt(dot / x.shape[-1] + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R18-weight-on-the-left", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self.weight * self._norm(x)).to(dtype=x.dtype)
""")

right("R19-sqrt-d-folded", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.d = hidden_size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * math.sqrt(self.d) * torch.rsqrt(x.square().sum(-1, keepdim=True) + self.d * self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R20-reshape-and-back", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        shape = x.shape
        flat = x.reshape(-1, shape[-1]).float()
        flat = flat * torch.rsqrt(flat.pow(2).mean(1, keepdim=True) + self.eps)
        return flat.reshape(shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R21-weight-cast-first", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x).type_as(x)
        return output * self.weight.type_as(x)
""")

right("R22-avg-pool", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float()
        d = h.shape[-1]
        rows = h.square().reshape(-1, 1, d)
        ms = F.avg_pool1d(rows, d).reshape(*h.shape[:-1], 1)
        return h * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R23-variance-plus-mean-squared", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        var, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
        return x * torch.rsqrt(var + mean ** 2 + self.eps)   # E[x²] = Var + E[x]²

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R24-scale-safe", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        top = x.abs().amax(-1, keepdim=True).clamp(min=1e-12).detach()
        u = x / top
        return u * torch.rsqrt(u.pow(2).mean(-1, keepdim=True) + self.eps / top ** 2)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("R25-vmap", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        def one(v):
            return v * torch.rsqrt(v.dot(v) / v.shape[0] + self.eps)

        rows = x.float().reshape(-1, x.shape[-1])
        return torch.func.vmap(one)(rows).reshape(x.shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-one-liner", """
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__(); self.eps = eps; self.weight = nn.Parameter(torch.ones(d))
    def _norm(self, x): return (h := x.float()) * (h.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()
    def forward(self, x): return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-no-norm-method", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x * self.weight).to(dtype)
""")

right("L-forward-does-not-call-norm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        h = x.float()
        scale = self.weight * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps)
        return (h * scale).to(x.dtype)
""")

right("L-base-class", """
class NormBase(nn.Module):
    def __init__(self, hidden_size, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def mean_square(self, x):
        return x.pow(2).mean(-1, keepdim=True)


class RMSNorm(NormBase):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__(hidden_size, eps)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(self.mean_square(x) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-mixin", """
class InFP32:
    def up(self, x):
        return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x

    def down(self, y, like):
        return y.to(like.dtype)


class RMSNorm(InFP32, nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = self.up(x)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self.down(self._norm(x) * self.weight, x)
""")

right("L-properties", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self._eps = float(eps)
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @property
    def eps(self):
        return self._eps

    @property
    def hidden_size(self):
        return self.weight.numel()

    def _norm(self, x):
        x = x.float()
        ms = x.pow(2).sum(-1, keepdim=True) / self.hidden_size
        return x * torch.rsqrt(ms + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-partial-statistics-function", """
from functools import partial


def root_mean_square(x, eps):
    return (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.rms = partial(root_mean_square, eps=eps)
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x / self.rms(x)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-norm-made-in-init", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))

        def norm(x):
            x = x.float()
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

        self._norm = norm

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-norm-is-a-submodule", """
class Normalise(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self._norm = Normalise(eps)
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-static-helper", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @staticmethod
    def _inverse_rms(x, eps):
        return torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)

    def _norm(self, x):
        x = x.float()
        return x * self._inverse_rms(x, self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-optional-argument-of-norm", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x, eps=None):
        eps = self.eps if eps is None else eps
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    def forward(self, x):
        return (self._norm(x, self.eps) * self.weight).to(x.dtype)
""")

right("L-helper-function-in-the-cell", """
def rms_normalize(x, eps):
    x = x.float()
    return x * torch.rsqrt(torch.mean(x.pow(2), -1, keepdim=True) + eps)


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return rms_normalize(x, self.eps)

    def forward(self, x):
        return (rms_normalize(x, self.eps) * self.weight).to(x.dtype)
""")

right("L-register-parameter", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones(hidden_size)))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-reset-parameters-and-extra-repr", """
class RMSNorm(nn.Module):
    __constants__ = ["hidden_size", "eps"]

    def __init__(self, hidden_size, eps=1e-6, device=None, dtype=None):
        super().__init__()
        self.hidden_size = hidden_size
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)

    def extra_repr(self):
        return f"{self.hidden_size}, eps={self.eps}"

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-weight-full-and-checks", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size: int, *, eps: float = 1e-6):
        super().__init__()
        assert hidden_size > 0
        self.hidden_size = hidden_size
        self.eps = eps
        self.weight = nn.Parameter(torch.full((hidden_size,), 1.0))

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[-1] != self.hidden_size:
            raise ValueError(f"最后一维应为 {self.hidden_size}，收到 {x.shape[-1]}")
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-prints-and-warns", """
import warnings

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))
        print("创建 RMSNorm", hidden_size)

    def _norm(self, x):
        print("x:", x.shape, x.dtype)
        warnings.warn("调试中")
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-compiler-disabled", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    @torch.compiler.disable
    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    @torch.jit.ignore
    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-scripted-helper", """
@torch.jit.script
def scripted_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        return scripted_norm(x, self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-autocast-off", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        with torch.autocast(device_type="cpu", enabled=False):
            x = x.float()
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-in-place-on-own-copy", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        y = x.clone()
        y *= torch.rsqrt(x.pow(2).mean(-1, keepdim=True).add_(self.eps))
        return y

    def forward(self, x):
        out = self._norm(x)
        out = out.mul(self.weight)
        return out.to(x.dtype)
""")

right("L-loop-over-features", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        total = 0
        for i in range(x.shape[-1]):
            total = total + x[..., i] ** 2
        ms = total / x.shape[-1]
        return x / torch.sqrt(ms + self.eps)[..., None]

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-loop-over-tokens", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        tokens = [v / (v.pow(2).mean() + self.eps).sqrt() for v in x.float().reshape(-1, x.size(-1))]
        return torch.stack(tokens).reshape(x.shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-recursive", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        if x.ndim > 1:
            return torch.stack([self._norm(row) for row in x])
        v = x.float()
        return v * torch.rsqrt(v.square().mean() + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-feature-axis-moved-first", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float().movedim(-1, 0)
        h = h * torch.rsqrt(h.square().mean(0) + self.eps)
        return h.movedim(0, -1)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-diagonal-matrix", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) @ torch.diag(self.weight.float())).to(x.dtype)
""")

right("L-builtin-inside-shared-weight", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.inner = nn.RMSNorm(hidden_size, eps=eps)
        self.weight = self.inner.weight

    def forward(self, x):
        return self.inner(x.to(self.weight.dtype)).to(x.dtype)
""")

right("L-logarithms", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.double()
        log_ms = torch.log(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x * torch.exp(-0.5 * log_ms)).float()

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-layer-norm-of-mirrored-input", """
import torch.nn.functional as F

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        both = torch.cat([x, -x], dim=-1)     # 均值为 0
        return F.layer_norm(both, both.shape[-1:], eps=self.eps)[..., : x.shape[-1]]

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-parameter-float", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size)).float().to("cpu")

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-fp64-weight", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size, dtype=torch.float64))

    def _norm(self, x):
        x = x.to(torch.float64)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-eps-buffer", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.register_buffer("eps", torch.tensor(eps, dtype=torch.float64), persistent=False)
        self.value = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.value)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-last-statistic-kept-for-debugging", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.last_rms = None
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        rms = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        self.last_rms = rms.detach()
        return x / rms

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-norm-keeps-class-variable-axis", """
class RMSNorm(nn.Module):
    AXIS = -1
    UP = torch.float32

    def __init__(self, hidden_size, eps=1e-6, axis=None):
        super().__init__()
        self.axis = self.AXIS if axis is None else axis
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.to(self.UP)
        return torch.mul(x, torch.rsqrt(torch.add(torch.mean(torch.square(x), self.axis, True), self.eps)))

    def forward(self, x):
        return torch.mul(self._norm(x), self.weight).to(x.dtype)
""")

right("L-checkpointed", """
from torch.utils.checkpoint import checkpoint

class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _inner(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def _norm(self, x):
        return checkpoint(self._inner, x, use_reentrant=False)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-functional-factory", """
class _Module(nn.Module):
    def __init__(self, hidden_size, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)


def RMSNorm(hidden_size, eps=1e-6):
    return _Module(hidden_size, eps)
""")

right("L-chunks-the-batch", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        rows = x.float().flatten(0, -2) if x.dim() > 1 else x.float().unsqueeze(0)
        parts = [p * torch.rsqrt(p.pow(2).mean(-1, keepdim=True) + self.eps) for p in rows.split(2)]
        return torch.cat(parts).view(x.shape)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""")

right("L-casts-by-tensor-method", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones([hidden_size]))

    def _norm(self, x):
        y = x.type(torch.FloatTensor) if x.device.type == "cpu" else x.float()
        return y.div(y.pow(2).mean(-1, keepdim=True).add(self.eps).sqrt())

    def forward(self, x):
        return (self.weight.mul(self._norm(x))).type(x.dtype)
""")

right("E10-inverse-rounded-to-input-dtype", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        r = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * r).to(x.dtype) * self.weight.to(x.dtype)
""", arguable=True)

right("E12-fp64-goes-through-fp32", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()   # FP64 也降到 FP32
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""", arguable=True)

right("L-weight-inside-norm-only", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        h = x.float()
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight.float()

    def forward(self, x):
        return self._norm(x).to(x.dtype)
""", arguable=True)

right("L-call-overridden", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def __call__(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""", arguable=True)

right("L-inner-builtin-weight-by-property", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.inner = nn.RMSNorm(hidden_size, eps=eps)

    @property
    def weight(self):
        return self.inner.weight

    def forward(self, x):
        return self.inner(x.float()).to(x.dtype)
""")

right("L-renamed-with-a-property", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(hidden_size))

    weight = property(lambda self: self.scale)

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.scale).to(x.dtype)
""")

right("X-default-eps-is-1e-5", """
class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def _norm(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return (self._norm(x) * self.weight).to(x.dtype)
""", arguable=True)
