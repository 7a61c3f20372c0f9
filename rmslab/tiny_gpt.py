"""A GPT to be read in one sitting. Names and order of modules follow GPT-2; the norm is handed in.

``TinyGPT(vocabulary=64, width=32, depth=8, heads=4, context=32, norm=nn.LayerNorm)``: ``norm`` is called with
the width wherever GPT-2 has a LayerNorm, twice a block and once at the end. ``no_norm`` puts nothing there.
"""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

NormFactory = Callable[[int], nn.Module]


def no_norm(width: int) -> nn.Module:
    """What stands where a norm would: the identity."""
    return nn.Identity()


class RMSNorm(nn.Module):
    """x / √(mean of squares over the last axis + ε) · weight, in FP32; (..., D) → (..., D)."""

    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps)
        return (y * self.weight).to(x.dtype)


NORMS: dict[str, NormFactory] = {"无归一化": no_norm, "LayerNorm": nn.LayerNorm, "RMSNorm": RMSNorm}


class Attention(nn.Module):
    """Causal self-attention, (B, T, D) → (B, T, D)."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, D = x.shape
        q, k, v = (
            part.view(B, T, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(D, dim=-1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, D))


class MLP(nn.Module):
    """Two linear layers with a GELU between them, (B, T, D) → (B, T, D)."""

    def __init__(self, width: int):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    """Pre-Norm: each half reads a normalised copy and adds to the residual stream, (B, T, D) → (B, T, D)."""

    def __init__(self, width: int, heads: int, norm: NormFactory):
        super().__init__()
        self.ln_1 = norm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = norm(width)
        self.mlp = MLP(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class TinyGPT(nn.Module):
    """Token numbers (B, T) → logits (B, T, V); T at most ``context``. Head and embedding are not tied."""

    def __init__(self, vocabulary: int, width: int, depth: int, heads: int, context: int, norm: NormFactory):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads, norm) for _ in range(depth))
        self.ln_f = norm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def gpt2_start(model: TinyGPT) -> TinyGPT:
    """Start as GPT-2 does instead of as PyTorch does; GPT-2's 0.02, meant for 768 features, fitted to D.

    Weights N(0, 0.02² · 768/D), biases 0; what adds to the residual stream smaller by √(2 · depth).
    """
    std = 0.02 * math.sqrt(768 / model.wte.embedding_dim)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith("c_proj.weight")
            nn.init.normal_(parameter, std=std / math.sqrt(2 * len(model.h)) if adds else std)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    return model
