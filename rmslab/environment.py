"""What this machine has: the banner line of a lesson."""

import platform

import torch

import rmslab

OLDEST = (2, 4)
"""The first torch with ``nn.RMSNorm``; lessons run without it, and say so."""


def device() -> torch.device:
    """The GPU if there is one (CUDA or ROCm, then Apple), else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def banner() -> None:
    """Print one line: Python, torch, device, rmslab; and one more only where something matters."""
    place = device()
    where = f"GPU（{torch.cuda.get_device_name()}）" if place.type == "cuda" else place.type.upper()
    python = platform.python_version()
    print(f"Python {python} · torch {torch.__version__} · {where} · rmslab {rmslab.__version__}")
    if not hasattr(torch.nn, "RMSNorm"):
        print("提醒：这个 torch 没有 nn.RMSNorm（2.4 才加入）。本课照常运行，只是跳过与它的对照。")
