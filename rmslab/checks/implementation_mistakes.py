"""04-implementation: how students' RMSNorm classes go wrong, as code that can be run.

The contract is cut along the course's five labels; a mistake is a mixin that replaces one part, so that two
mistakes of different families can be combined. Diagnosis compares behaviour only, so each mixin stands for
every spelling of its mistake; where spellings differ on some input, one id has several mixins. The words are
in the message catalogue, under the same ids.
"""

from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

from rmslab.diagnosis import Mistake


class RMSNormInParts(nn.Module):
    """The contract, one method per part."""

    def __init__(self, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.make_weight(hidden_size)

    def make_weight(self, width):
        self.weight = nn.Parameter(torch.ones(width))

    def enter(self, x):
        return x

    def raise_precision(self, x):  # ①
        return x.float()

    def centre(self, x):
        return x

    def square(self, x):  # ②
        return x * x

    def mean_square(self, squares):  # ③
        return squares.mean(-1, keepdim=True)

    def inverse_root(self, mean_square):  # ④
        return torch.rsqrt(mean_square + self.eps)

    def multiply(self, x, r):
        return x * r

    def normalize(self, x):  # ① to ④
        x = self.centre(self.raise_precision(self.enter(x)))
        return self.multiply(x, self.inverse_root(self.mean_square(self.square(x))))

    def _norm(self, x):
        return self.normalize(x)

    def normalized(self, x):
        return self._norm(x)

    def scale(self, normalized, x):  # ⑤, first half
        return normalized * self.weight

    def restore(self, y, x):  # ⑤, second half
        return y.to(x.dtype)

    def forward(self, x):
        return self.restore(self.scale(self.normalized(x), x), x)


class Plain:
    """The contract in a class that is no module."""

    def __init__(self, hidden_size: int, eps: float):
        module = RMSNormInParts(hidden_size, eps)
        self.weight, self.forward = module.weight, module.forward

    def __call__(self, x):
        return self.forward(x)


class AllInForward:
    """For a class without ``_norm``, or whose ``forward`` does ① to ④ itself."""

    _norm = None

    def normalized(self, x):
        return self.normalize(x)


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


@mistake("half-statistics", "precision")
class _:
    def raise_precision(self, x):
        return x.bfloat16()


@mistake("half-statistics", "precision")
class _:
    def square(self, x):
        return super().square(x.bfloat16())

    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square).float()


@mistake("upcast-only-in-forward", "precision")
class _:
    def raise_precision(self, x):
        return x

    def forward(self, x):
        return self.restore(self.scale(self.normalized(x.float()), x), x)


@mistake("square-before-upcast", "precision")
class _:
    def raise_precision(self, x):
        return x

    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square.float())

    def multiply(self, x, r):
        return super().multiply(x.float(), r)


@mistake("square-before-upcast", "precision")
class _:
    def raise_precision(self, x):
        return x

    def square(self, x):
        return super().square(x).float()

    def multiply(self, x, r):
        return super().multiply(x.float(), r)


@mistake("square-before-upcast", "precision")
class _:  # the root is taken in the input's dtype too
    def raise_precision(self, x):
        return x

    def multiply(self, x, r):
        return super().multiply(x.float(), r)


@mistake("square-before-upcast", "precision")
class _:  # the product is rounded to the input's dtype as well
    def raise_precision(self, x):
        return x

    def square(self, x):
        return super().square(x).float()

    def multiply(self, x, r):
        return super().multiply(x, r.to(x.dtype))


@mistake("norm-returns-half", "precision")
class _:
    def _norm(self, x):
        return super()._norm(x).to(x.dtype)


@mistake("norm-returns-half", "precision")
class _:  # the inverse root is rounded, then multiplied
    def enter(self, x):
        self.dtype = x.dtype
        return x

    def multiply(self, x, r):
        return super().multiply(x.to(self.dtype), r.to(self.dtype))


class Clamped:
    def raise_precision(self, x):
        return super().raise_precision(x.clamp(-self.limit, self.limit))


for limit in (10.0, 100.0, 250.0, 255.0, 256.0):
    mistake("input-clamped", "precision")(type("_", (Clamped,), {"limit": limit}))


# --- ② 平方 and ③ 沿特征求均值: which statistic ------------------------------------------------------------


@mistake("layernorm", "statistic")
class _:
    def centre(self, x):
        return x - x.mean(-1, keepdim=True)


@mistake("layernorm", "statistic")
class _:  # torch.var's default divides by d - 1
    def centre(self, x):
        return x - x.mean(-1, keepdim=True)

    def mean_square(self, squares):
        d = squares.shape[-1]
        return super().mean_square(squares) * d / (d - 1)


@mistake("variance-without-centring", "statistic")
class _:
    def square(self, x):
        return super().square(x - x.mean(-1, keepdim=True))


@mistake("variance-without-centring", "statistic")
class _:
    def square(self, x):
        d = x.shape[-1]
        return super().square(x - x.mean(-1, keepdim=True)) * d / (d - 1)


@mistake("sum-not-mean", "statistic")
class _:
    def mean_square(self, squares):
        return squares.sum(-1, keepdim=True)


@mistake("sum-not-mean", "statistic")
class _:  # together with a mistake of the axis
    def mean_square(self, squares):
        return super().mean_square(squares) * squares.shape[-1]


@mistake("sum-not-mean", "statistic")
class _:  # F.normalize, whose ε is only a floor
    def normalize(self, x):
        return F.normalize(self.centre(self.raise_precision(self.enter(x))), dim=-1)


@mistake("sum-not-mean", "statistic")
class _:
    def normalize(self, x):
        return F.normalize(self.centre(self.raise_precision(self.enter(x))), dim=-1, eps=self.eps)


@mistake("mean-divided-again", "statistic")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares) / squares.shape[-1]


@mistake("mean-divided-again", "statistic")
class _:  # the unit vector divided by √d instead of multiplied
    def mean_square(self, squares):
        return super().mean_square(squares) * squares.shape[-1] ** 2


@mistake("n-minus-one", "statistic")
class _:
    def mean_square(self, squares):
        d = squares.shape[-1]
        return super().mean_square(squares) * d / (d - 1)


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


@mistake("mean-absolute", "statistic")
class _:
    def square(self, x):
        return x.abs()


@mistake("mean-absolute", "statistic")
class _:  # squared and rooted one by one, so that the gradient at 0 is not finite
    def square(self, x):
        return super().square(x).sqrt()

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


@mistake("maximum-not-mean", "statistic")
class _:
    def mean_square(self, squares):
        return squares.amax(-1, keepdim=True)


@mistake("median-not-mean", "statistic")
class _:
    def mean_square(self, squares):
        return squares.median(-1, keepdim=True).values


@mistake("partial-statistic", "statistic")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares[..., : squares.shape[-1] // 2])


@mistake("partial-statistic", "statistic")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares[..., :-1])


@mistake("partial-statistic", "statistic")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares[..., 1:])


@mistake("no-normalisation", "statistic")
class _:
    def normalize(self, x):
        return self.raise_precision(self.enter(x))


@mistake("no-normalisation", "statistic")
class _:
    def normalize(self, x):
        return self.enter(x)


@mistake("returns-statistic", "statistic")
class _:
    def multiply(self, x, r):
        return r


@mistake("returns-statistic", "statistic")
class _:
    def multiply(self, x, r):
        return 1 / r


@mistake("returns-statistic", "statistic")
class _:
    def inverse_root(self, mean_square):
        return mean_square

    def multiply(self, x, r):
        return r


@mistake("sign-lost", "statistic")
class _:
    def multiply(self, x, r):
        return super().multiply(x.abs(), r)


@mistake("sign-lost", "statistic")
class _:  # by a root, whose gradient at 0 is not finite
    def multiply(self, x, r):
        return super().multiply(self.square(x).sqrt(), r)


@mistake("scales-the-squares", "statistic")
class _:
    def multiply(self, x, r):
        return super().multiply(self.square(x), r)


@mistake("scales-the-squares", "statistic")
class _:  # the share of each square in their sum
    def inverse_root(self, mean_square):
        return 1 / (mean_square + self.eps)

    def mean_square(self, squares):
        return super().mean_square(squares) * squares.shape[-1]

    def multiply(self, x, r):
        return super().multiply(self.square(x), r)


@mistake("scales-the-squares", "statistic")
class _:  # x itself is overwritten by its square
    def centre(self, x):
        return super().square(x)

    def square(self, x):
        return x


# --- ③ 沿特征求均值: which axis ----------------------------------------------------------------------------


@mistake("no-keepdim", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares).squeeze(-1)


@mistake("no-keepdim", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares).squeeze(-1).unsqueeze(1)


@mistake("no-keepdim", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares).squeeze(-1).unsqueeze(0)


@mistake("mean-over-tokens", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(-2, keepdim=True)


@mistake("mean-over-batch", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(0, keepdim=True)


@mistake("mean-over-batch", "axis")
class _:  # with centring: BatchNorm
    def centre(self, x):
        return x - x.mean(0, keepdim=True)

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


@mistake("mean-over-everything", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean((1, 2), keepdim=True)


@mistake("mean-over-everything", "axis")
class _:  # of one sample, whatever its rank
    def mean_square(self, squares):
        return squares.mean(tuple(range(min(1, squares.dim() - 1), squares.dim())), keepdim=True)


@mistake("mean-over-everything", "axis")
class _:  # a sum over one token, a count over all
    def mean_square(self, squares):
        return squares.sum(-1, keepdim=True) / squares.numel()


@mistake("mean-over-everything", "axis")
class _:
    def mean_square(self, squares):
        return squares.sum() / squares.shape[-1]


@mistake("fixed-axis", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(2, keepdim=True)


@mistake("fixed-axis", "axis")
class _:
    def mean_square(self, squares):
        return squares.mean(1, keepdim=True)


@mistake("fixed-axis", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares) * squares.shape[-1] / squares.shape[0]


@mistake("fixed-axis", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares) * squares.shape[-1] / squares.shape[1]


@mistake("fixed-rank", "axis")
class _:
    def enter(self, x):
        _batch, _length, _features = x.shape
        return x


@mistake("fixed-rank", "axis")
class _:
    def enter(self, x):
        _length, _features = x.shape
        return x


@mistake("fixed-rank", "axis")
class _:
    def enter(self, x):
        assert x.dim() == 3
        return x


@mistake("fixed-rank", "axis")
class _:
    def enter(self, x):
        torch.einsum("btd,btd->bt", x, x)
        return x


@mistake("fixed-rank", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares).squeeze(-1)[:, :, None]


@mistake("fixed-width", "axis")
class _:
    def mean_square(self, squares):
        return super().mean_square(squares) * squares.shape[-1] / 4


@mistake("fixed-width", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(4))


@mistake("view-on-strides", "axis")
class _:
    def normalize(self, x):
        return super().normalize(x.view(-1, x.shape[-1])).view(x.shape)


@mistake("shape-not-restored", "axis")
class _:
    def normalize(self, x):
        return super().normalize(x.reshape(-1, x.shape[-1]))


@mistake("shape-not-restored", "axis")
class _:
    def restore(self, y, x):
        return super().restore(y, x).squeeze()


@mistake("shape-not-restored", "axis")
class _:
    def restore(self, y, x):
        return super().restore(y, x).reshape(-1, y.shape[-1])


@mistake("shape-not-restored", "axis")
class _:
    def enter(self, x):
        return x.unsqueeze(0) if x.dim() == 1 else x


# --- ④ 加 ε 开方取倒 ---------------------------------------------------------------------------------------


@mistake("no-root", "root")
class _:
    def inverse_root(self, mean_square):
        return 1 / (mean_square + self.eps)


@mistake("multiplied-by-rms", "root")
class _:
    def inverse_root(self, mean_square):
        return 1 / super().inverse_root(mean_square)


@mistake("squared-not-rooted", "root")
class _:
    def inverse_root(self, mean_square):
        return 1 / (mean_square + self.eps).square()


@mistake("root-twice", "root")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(torch.sqrt(mean_square) + self.eps)


@mistake("root-twice", "root")
class _:
    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square).sqrt()


@mistake("no-epsilon", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square)


@mistake("no-epsilon", "epsilon")
class _:  # the zero vector is looked after in another way
    def inverse_root(self, mean_square):
        return torch.rsqrt(torch.where(mean_square == 0, 1.0, mean_square))


@mistake("no-epsilon", "epsilon")
class _:  # the same, but its gradient is not
    def normalize(self, x):
        return torch.nan_to_num(super().normalize(x))

    def inverse_root(self, mean_square):
        return 1 / torch.sqrt(mean_square)


@mistake("epsilon-outside", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return 1 / (torch.sqrt(mean_square) + self.eps)


@mistake("epsilon-outside", "epsilon")
class _:  # divided by, which in half precision overflows later than the inverse
    def inverse_root(self, mean_square):
        return torch.sqrt(mean_square) + self.eps

    def multiply(self, x, r):
        return x / r


@mistake("epsilon-outside", "epsilon")
class _:  # by a vector norm, whose gradient at zero is 0
    def inverse_root(self, mean_square):
        rms = torch.sqrt(torch.where(mean_square == 0, 1.0, mean_square))
        return 1 / (torch.where(mean_square == 0, 0.0, rms) + self.eps)


@mistake("epsilon-outside", "epsilon")
class _:  # added to the length instead of the RMS
    def inverse_root(self, mean_square):
        length = torch.sqrt(torch.where(mean_square == 0, 1.0, mean_square))
        return 1 / (torch.where(mean_square == 0, 0.0, length) + self.eps / self.weight.numel() ** 0.5)


class FixedEpsilon:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square + self.constant)


for constant in (1e-6, 1e-5, 1e-8, 1e-7, torch.finfo(torch.float32).eps, 1e-4, 1e-3):
    mistake("epsilon-fixed", "epsilon")(type("_", (FixedEpsilon,), {"constant": constant}))


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


@mistake("epsilon-on-x", "epsilon")
class _:
    def centre(self, x):
        return super().centre(x) + self.eps

    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square)


@mistake("epsilon-on-x", "epsilon")
class _:
    def multiply(self, x, r):
        return super().multiply(x + self.eps, r)


@mistake("epsilon-as-floor", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square.clamp(min=self.eps))


@mistake("epsilon-as-floor", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return 1 / torch.sqrt(mean_square).clamp(min=self.eps)


@mistake("epsilon-as-floor", "epsilon")
class _:  # F.normalize, times √d
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square.clamp(min=self.eps**2 / self.weight.numel()))


@mistake("epsilon-after-root", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square) + self.eps


@mistake("epsilon-in-sum", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square + self.eps / self.weight.numel())


@mistake("epsilon-twice", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return 1 / (torch.sqrt(mean_square + self.eps) + self.eps)


@mistake("epsilon-twice", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square + self.eps)


@mistake("epsilon-subtracted", "epsilon")
class _:
    def inverse_root(self, mean_square):
        return torch.rsqrt(mean_square - self.eps)


# --- the class itself -------------------------------------------------------------------------------------


@mistake("not-a-module", "parameter")
class _:
    def __new__(cls, hidden_size, eps=1e-6):
        return SimpleNamespace(weight=nn.Parameter(torch.ones(hidden_size)), eps=eps)


@mistake("not-a-module", "parameter")
class _:  # that can be called all the same
    def __new__(cls, hidden_size, eps=1e-6):
        return Plain(hidden_size, eps)


@mistake("no-super-init", "parameter")
class _:
    def __init__(self, hidden_size, eps=1e-6):
        self.eps = eps
        self.make_weight(hidden_size)


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


@mistake("weight-scalar", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.tensor([float(hidden_size)]))


@mistake("weight-two-dimensional", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(1, hidden_size))


@mistake("weight-two-dimensional", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(1, 1, hidden_size))


@mistake("weight-two-dimensional", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(hidden_size, 1))


@mistake("weight-two-dimensional", "parameter")
class _:
    def make_weight(self, hidden_size):
        self.weight = nn.Parameter(torch.ones(hidden_size, hidden_size))


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
        self.gain = nn.Parameter(torch.ones(hidden_size))

    def scale(self, normalized, x):
        return normalized * self.gain


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
        return normalized


@mistake("weight-detached", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized * self.weight.detach()


@mistake("unit-offset", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized * (1 + self.weight)


@mistake("weight-twice", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized * self.weight * self.weight


@mistake("weight-added", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized + self.weight


@mistake("weight-divides", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized / self.weight


@mistake("weight-absolute", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized * self.weight.abs()


@mistake("weight-summed-over", "scaling")
class _:
    def scale(self, normalized, x):
        return normalized @ self.weight.to(normalized.dtype)


@mistake("weight-summed-over", "scaling")
class _:
    def scale(self, normalized, x):
        return (normalized * self.weight).sum(-1, keepdim=True)


@mistake("weight-before-norm", "scaling")
class _:
    def normalized(self, x):
        return super().normalized(x * self.weight)

    def scale(self, normalized, x):
        return normalized


@mistake("weight-before-norm", "scaling")
class _:
    def normalized(self, x):
        return super().normalized(x.float() * self.weight)

    def scale(self, normalized, x):
        return normalized


@mistake("returns-normalized-input", "scaling")
class _:
    def scale(self, normalized, x):
        return x * self.weight


@mistake("adds-the-input", "scaling")
class _:
    def restore(self, y, x):
        return x + super().restore(y, x)


@mistake("multiplies-input-again", "scaling")
class _:
    def scale(self, normalized, x):
        return x * super().scale(normalized, x)


@mistake("normalises-twice", "scaling")
class _:
    def scale(self, normalized, x):
        return self.normalized(super().scale(normalized, x))


@mistake("dtype-not-restored", "dtype")
class _:
    def restore(self, y, x):
        return y.float()


@mistake("weight-dtype-leaks", "dtype")
class _:
    def normalized(self, x):
        return super().normalized(x).to(x.dtype)

    def restore(self, y, x):
        return y


@mistake("weight-dtype-leaks", "dtype")
class _:
    def restore(self, y, x):
        return y.to(self.weight.dtype)


@mistake("fixed-dtype", "dtype")
class _:
    def restore(self, y, x):
        return y.half()


@mistake("fixed-dtype", "dtype")
class _:
    def restore(self, y, x):
        return y.bfloat16()


@mistake("fixed-dtype", "dtype")
class _:
    def restore(self, y, x):
        return y.double()


@mistake("fixed-dtype", "dtype")
class _:  # already on the way in
    def forward(self, x):
        return super().forward(x.half())


@mistake("fixed-dtype", "dtype")
class _:
    def forward(self, x):
        return super().forward(x.bfloat16())


# --- graph and side effects -------------------------------------------------------------------------------


@mistake("input-overwritten", "side-effect")
class _:
    def multiply(self, x, r):
        return x.mul_(r)


@mistake("input-overwritten", "side-effect")
class _:  # behind the graph's back
    def multiply(self, x, r):
        with torch.no_grad():
            return x.mul_(r)


@mistake("input-overwritten", "side-effect")
class _:
    def forward(self, x):
        return x.copy_(super().forward(x))


@mistake("input-overwritten", "side-effect")
class _:
    def forward(self, x):
        y = super().forward(x)
        x.data.copy_(y)
        return y


@mistake("statistic-detached", "graph")
class _:
    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square).detach()


@mistake("numerator-detached", "graph")
class _:
    def multiply(self, x, r):
        return super().multiply(x.detach(), r)


@mistake("no-gradient", "graph")
class _:
    def normalize(self, x):
        return super().normalize(x).detach()


@mistake("no-gradient", "graph")
class _:  # by way of NumPy
    def normalize(self, x):
        return super().normalize(x.detach().cpu())


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


@mistake("skipped-in-eval", "side-effect")
class _:
    def normalize(self, x):
        return super().normalize(x) if self.training else x.float()


class Dropped:
    def scale(self, normalized, x):
        return F.dropout(super().scale(normalized, x), self.p, self.training)


for p in (0.1, 0.5, 0.2):
    mistake("dropout-inside", "side-effect")(type("_", (Dropped,), {"p": p}))


class WeightChanged:
    def forward(self, x):
        y = super().forward(x)
        with torch.no_grad():
            self.change()
        return y


class WeightClamped:
    def forward(self, x):
        with torch.no_grad():
            self.weight.clamp_(min=0)
        return super().forward(x)


mistake("weight-mutated", "side-effect")(WeightClamped)
for factor in (0.9, 0.99, 0.999):
    mistake("weight-mutated", "side-effect")(
        type("_", (WeightChanged,), {"change": lambda self, factor=factor: self.weight.mul_(factor)})
    )


@mistake("device-fixed", "side-effect")
class _:
    def enter(self, x):
        self.d = x.shape[-1]
        return x

    def inverse_root(self, mean_square):
        return super().inverse_root(mean_square + torch.zeros(self.d))


@mistake("device-fixed", "side-effect")
class _:
    def scale(self, normalized, x):
        return super().scale(normalized, x) * torch.ones(x.shape[-1])


@mistake("returns-nothing", "side-effect")
class _:
    def restore(self, y, x):
        return None


@mistake("returns-nothing", "side-effect")
class _:
    def _norm(self, x):
        return None


@mistake("returns-tuple", "side-effect")
class _:
    def forward(self, x):
        return super().forward(x), None


@mistake("returns-tuple", "side-effect")
class _:
    def forward(self, x):
        return super().forward(x).tolist()


@mistake("returns-tuple", "side-effect")
class _:
    def _norm(self, x):
        return super()._norm(x), None

    def normalized(self, x):
        return super().normalized(x)[0]
