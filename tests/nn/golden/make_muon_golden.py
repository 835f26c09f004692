#!/usr/bin/python3
"""Writes muon.safetensors, the numbers that tests/nn/test_muon.cpp compares with: three steps of Muon in PyTorch, in f64, as
Jordan et al. 2024 describe it, and of torch.optim.AdamW for what is no hidden matrix.

For each parameter of each case the file holds its values at the start (param/), the gradient of each step (grad.0/ …) and
its values after them (after/).

Needs PyTorch alone: python3 tests/nn/golden/make_muon_golden.py (made with 1.13)
"""
import torch

from training import write_safetensors

LR, ADAMW_LR, BETAS, EPS, DECAY, MOMENTUM, STEPS = 0.02, 0.003, (0.9, 0.98), 1e-9, 0.1, 0.95, 3

# name -> (shape, the heights of the matrices that are stacked in it)
MATRICES = {"wide": ((5, 12), [5]), "tall": ((12, 5), [12]), "square": ((6, 6), [6]), "packed": ((16, 8), [8, 4, 4])}
OTHERS = {"embedding": (7, 5), "head": (3, 5), "vector": (5,)}
CASES = {"nesterov": True, "plain": False}


def newton_schulz(g):
    x = g / g.norm()
    if x.shape[0] > x.shape[1]:
        return newton_schulz(g.T).T
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x


def golden(nesterov, generator):
    def random(shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    matrices = {name: random(shape) for name, (shape, _) in MATRICES.items()}
    others = {name: random(shape) for name, shape in OTHERS.items()}
    tensors = {f"param/{name}": value.clone() for name, value in {**matrices, **others}.items()}
    momentum = {name: torch.zeros_like(value) for name, value in matrices.items()}
    adamw = torch.optim.AdamW(
        [{"params": [value for value in others.values() if value.dim() > 1], "weight_decay": DECAY},
         {"params": [value for value in others.values() if value.dim() == 1], "weight_decay": 0.0}],
        lr=ADAMW_LR, betas=BETAS, eps=EPS)
    for step in range(STEPS):
        for name, value in {**matrices, **others}.items():
            value.grad = random(value.shape)
            tensors[f"grad.{step}/{name}"] = value.grad.clone()
        for name, (shape, heights) in MATRICES.items():
            m = momentum[name].mul_(MOMENTUM).add_(matrices[name].grad)
            update = matrices[name].grad + MOMENTUM * m if nesterov else m
            matrices[name].mul_(1 - LR * DECAY)
            for weight, part in zip(matrices[name].split(heights), update.split(heights)):
                rows, columns = part.shape
                weight.sub_(LR * max(1, rows / columns) ** 0.5 * newton_schulz(part))
        adamw.step()
    tensors.update({f"after/{name}": value for name, value in {**matrices, **others}.items()})
    return tensors


def main():
    generator = torch.Generator().manual_seed(20241008)
    write_safetensors("muon.safetensors", {name: golden(nesterov, generator) for name, nesterov in CASES.items()})


if __name__ == "__main__":
    main()
