"""04-implementation: how students' RMSNorm classes go wrong, as code that can be run.

The contract is cut along the course's five labels; a mistake is a mixin that replaces one part, so that two
mistakes of different families can be combined. Diagnosis compares behaviour only, so each mixin stands for
every spelling of its mistake. The words are in the message catalogue, under the same ids.
"""

import torch
from torch import nn

from rmslab.diagnosis import Mistake


class RMSNormInParts(nn.Module):
    """The contract, one method per part."""

    def __init__(self, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.make_weight(hidden_size)

    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def raise_precision(self, x):  # ①
        return x.float()

    def square(self, x):  # ②
        return x * x

    def mean_square(self, squares):  # ③
        return squares.mean(-1, keepdim=True)

    def inverse_root(self, mean_square):  # ④
        return torch.rsqrt(mean_square + self.eps)

    def _norm(self, x):
        x = self.raise_precision(x)
        return x * self.inverse_root(self.mean_square(self.square(x)))

    def scale(self, normalized, x):  # ⑤
        return (normalized * self.weight).to(x.dtype)

    def forward(self, x):
        return self.scale(self._norm(x), x)


MISTAKES: list[Mistake] = []


def mistake(id: str, family: str):
    def register(part: type) -> type:
        MISTAKES.append(Mistake(id, family, part))
        return part

    return register


# --- ① 升精度 ---------------------------------------------------------------------------------------------


@mistake("half-statistics", "precision")
class _:
    def raise_precision(self, x):
        return x


@mistake("upcast-only-in-forward", "precision")
class _:
    def raise_precision(self, x):
        return x

    def forward(self, x):
        return self.scale(self._norm(x.float()), x)


@mistake("square-before-upcast", "precision")
class _:
    def _norm(self, x):
        return x.float() * self.inverse_root(self.mean_square(self.square(x)).float())


@mistake("square-before-upcast", "precision")
class _:
    def _norm(self, x):
        return x.float() * self.inverse_root(self.mean_square(self.square(x).float()))


@mistake("square-before-upcast", "precision")
class _:
    def _norm(self, x):  # the product is rounded to the input's dtype as well
        return x * self.inverse_root(self.mean_square(self.square(x).float())).to(x.dtype)


@mistake("norm-returns-half", "precision")
class _:
    def _norm(self, x):
        return super()._norm(x).to(x.dtype)


# --- ② 平方 and ③ 沿特征求均值: which statistic ------------------------------------------------------------


@mistake("layernorm", "statistic")
class _:
    def raise_precision(self, x):
        x = super().raise_precision(x)
        return x - x.mean(-1, keepdim=True)


@mistake("layernorm", "statistic")
class _:  # torch.var's default divides by d - 1
    def raise_precision(self, x):
        x = super().raise_precision(x)
        return x - x.mean(-1, keepdim=True)

    def mean_square(self, squares):
        return squares.sum(-1, keepdim=True) / (squares.shape[-1] - 1)


@mistake("variance-without-centring", "statistic")
class _:
    def square(self, x):
        return (x - x.mean(-1, keepdim=True)).square()


@mistake("variance-without-centring", "statistic")
class _:
    def square(self, x):
        d = x.shape[-1]
        return (x - x.mean(-1, keepdim=True)).square() * d / (d - 1)


@mistake("sum-not-mean", "statistic")
class _:
    def mean_square(self, squares):
        return squares.sum(-1, keepdim=True)


@mistake("n-minus-one", "statistic")
class _:
    def mean_square(self, squares):
        return squares.sum(-1, keepdim=True) / (squares.shape[-1] - 1)


@mistake("mean-before-square", "statistic")
class _:
    def square(self, x):
        return x

    def mean_square(self, squares):
        return super().mean_square(squares).square()


@mistake("mean-absolute", "statistic")
class _:
    def square(self, x):
        return x.abs()

    def inverse_root(self, mean_square):
        return 1 / (mean_square + self.eps)


@mistake("maximum-not-mean", "statistic")
class _:
    def square(self, x):
        return x.abs()

    def mean_square(self, squares):
        return squares.amax(-1, keepdim=True)

    def inverse_root(self, mean_square):
        return 1 / (mean_square + self.eps)


@mistake("no-normalisation", "statistic")
class _:
    def _norm(self, x):
        return self.raise_precision(x)


# --- ③ 沿特征求均值: which axis ----------------------------------------------------------------------------


@mistake("no-keepdim", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares).squeeze(-1)


@mistake("mean-over-tokens", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(-2, keepdim=True)


@mistake("mean-over-batch", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(0, keepdim=True)


@mistake("mean-over-everything", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean()


@mistake("mean-over-everything", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean((-2, -1), keepdim=True)


@mistake("fixed-axis", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(2, keepdim=True)


@mistake("fixed-axis", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(1, keepdim=True)


@mistake("fixed-rank", "axis")
class _:
    def raise_precision(self, x):
        _batch, _length, _features = x.shape
        return super().raise_precision(x)


@mistake("fixed-width", "axis")
class _:
    def mean_square(self, squares):
        return squares.sum(-1, keepdim=True) / 4


@mistake("view-on-strides", "axis")
class _:
    def _norm(self, x):
        return super()._norm(x.view(-1, x.shape[-1])).view(x.shape)


# --- ④ 加 ε 开方取倒 ---------------------------------------------------------------------------------------


@mistake("no-root", "root")
class _:
    def inverse_root(self, mean_square):
        return 1 / (mean_square + self.eps)


@mistake("multiplied-by-rms", "root")
class _:
    def inverse_root(self, mean_square):
        return torch.sqrt(mean_square + self.eps)


@mistake("root-twice", "root")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(torch.sqrt(mean_square) + self.eps)


@mistake("no-epsilon", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square)


@mistake("epsilon-outside", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return 1 / (torch.sqrt(mean_square) + self.eps)


@mistake("epsilon-fixed", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square + 1e-6)


@mistake("epsilon-fixed", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square + 1e-5)


@mistake("epsilon-squared", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square + self.eps**2)


@mistake("epsilon-on-x", "epsilon")
class _:
    def square(self, x):
        return super().square(x + self.eps)

    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square)


@mistake("epsilon-as-floor", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square.clamp(min=self.eps))


@mistake("epsilon-after-root", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square) + self.eps


# --- the weight -------------------------------------------------------------------------------------------


@mistake("weight-not-parameter", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = torch.ones(hidden_size)


@mistake("weight-not-parameter", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = torch.ones(hidden_size, requires_grad=True)


@mistake("weight-not-parameter", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.register_buffer("weight", torch.ones(hidden_size))


@mistake("weight-not-parameter", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = [1.0] * hidden_size


@mistake("weight-frozen", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(hidden_size), requires_grad=False)


@mistake("weight-scalar", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(1))


@mistake("weight-scalar", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.tensor(1.0))


@mistake("weight-two-dimensional", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(1, hidden_size))


@mistake("weight-two-dimensional", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(1, 1, hidden_size))


@mistake("weight-not-ones", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.zeros(hidden_size))


@mistake("weight-not-ones", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.randn(hidden_size))


@mistake("weight-renamed", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.scale_ = nn.Parameter(torch.ones(hidden_size))

    def scale(self, normalized, x):
        return (normalized * self.scale_).to(x.dtype)


@mistake("extra-bias", "parameter")
class _:
    def make_weight(self, hidden_size):
        super().make_weight(hidden_size)
        self.bias = nn.Parameter(torch.zeros(hidden_size))


@mistake("weight-made-in-forward", "parameter")
class _:
    def make_weight(self, hidden_size):
        pass

    def scale(self, normalized, x):
        self.weight = nn.Parameter(torch.ones(x.shape[-1], device=x.device))
        return super().scale(normalized, x)


# --- ⑤ 缩放并还原 dtype ------------------------------------------------------------------------------------


@mistake("weight-unused", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized.to(x.dtype)


@mistake("weight-detached", "scaling")
class _:
    def scale(self, normalized, x):
        return (normalized * self.weight.detach()).to(x.dtype)


@mistake("unit-offset", "scaling")
class _:
    def scale(self, normalized, x):
        return (normalized * (1 + self.weight)).to(x.dtype)


@mistake("weight-twice", "scaling")
class _:
    def scale(self, normalized, x):
        return (normalized * self.weight * self.weight).to(x.dtype)


@mistake("weight-added", "scaling")
class _:
    def scale(self, normalized, x):
        return (normalized + self.weight).to(x.dtype)


@mistake("weight-divides", "scaling")
class _:
    def scale(self, normalized, x):
        return (normalized / self.weight).to(x.dtype)


@mistake("weight-before-norm", "scaling")
class _:
    def forward(self, x):
        return self._norm(x * self.weight).to(x.dtype)


@mistake("returns-normalized-input", "scaling")
class _:
    def scale(self, normalized, x):
        return (x * self.weight).to(x.dtype)


@mistake("dtype-not-restored", "dtype")
class _:
    def scale(self, normalized, x):
        return normalized * self.weight.float()


@mistake("weight-dtype-leaks", "dtype")
class _:
    def scale(self, normalized, x):
        return self.weight * normalized.to(x.dtype)


@mistake("weight-dtype-leaks", "dtype")
class _:
    def scale(self, normalized, x):
        return (normalized * self.weight).to(self.weight.dtype)


@mistake("fixed-dtype", "dtype")
class _:
    def scale(self, normalized, x):
        return super().scale(normalized, x).half()


@mistake("fixed-dtype", "dtype")
class _:
    def scale(self, normalized, x):
        return super().scale(normalized, x).bfloat16()


@mistake("fixed-dtype", "dtype")
class _:
    def scale(self, normalized, x):
        return super().scale(normalized, x).double()


# --- graph and side effects -------------------------------------------------------------------------------


@mistake("input-overwritten", "side-effect")
class _:
    def _norm(self, x):
        x = x.float()
        return x.mul_(self.inverse_root(self.mean_square(self.square(x))))


@mistake("statistic-detached", "graph")
class _:
    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square).detach()


@mistake("no-gradient", "graph")
class _:
    def _norm(self, x):
        return super()._norm(x).detach()


@mistake("no-gradient", "graph")
class _:
    def forward(self, x):
        return super().forward(x).detach()


@mistake("no-gradient", "graph")
class _:
    def forward(self, x):
        return super().forward(x.detach())


@mistake("statistic-cached", "side-effect")
class _:
    def inverse_root(self, mean_square):
        if not hasattr(self, "cached"):
            self.cached = super().inverse_root(mean_square)
        return self.cached


@mistake("skipped-in-eval", "side-effect")
class _:
    def forward(self, x):
        return super().forward(x) if self.training else x


@mistake("skipped-in-eval", "side-effect")
class _:
    def forward(self, x):
        return super().forward(x) if self.training else (x * self.weight).to(x.dtype)


@mistake("returns-tuple", "side-effect")
class _:
    def forward(self, x):
        return super().forward(x), None
