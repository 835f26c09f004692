#!/usr/bin/python3
"""Writes gpt.safetensors, the numbers that tests/nn/test_golden_transformers.cpp compares with: two small GPTs in PyTorch, in f64.

Each model is written out in elementary PyTorch operations, so that what is compared are the formulas and not two
libraries' layers; the gradients are PyTorch's autograd's, the updates those of torch.optim.AdamW. For each model the
file holds ids, targets and, from ten steps on them, what training.train says.

Needs PyTorch alone: python3 tests/nn/golden/make_gpt_golden.py (made with 1.13)
"""
import math

import torch

from training import BETAS, EPS, LR, train, write_safetensors

DECAY = 0.1

MODELS = {
    "gpt2": dict(vocab=23, context=12, layers=2, heads=2, dim=16, ff_dim=64, pre_norm=True, learned=True, bias=True,
                 tied=True, activation=lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))), smoothing=0.0),
    "post": dict(vocab=19, context=10, layers=2, heads=3, dim=12, ff_dim=24, pre_norm=False, learned=False, bias=False,
                 tied=False, activation=lambda x: torch.clamp(x, min=0), smoothing=0.1),
}
BATCH = 3


def make_parameters(c, generator):
    """Name -> tensor. All random, biases and norms too, so that no gradient is small by symmetry."""
    d = c["dim"]
    shapes = {"token_embedding.weight": (c["vocab"], d)}
    if c["learned"]:
        shapes["position_embedding.weight"] = (c["context"], d)
    norms = [f"blocks.{i}.{place}_norm" for i in range(c["layers"]) for place in ("attention", "feed_forward")]
    for i in range(c["layers"]):
        for name, rows, columns in (("attention.qkv", 3 * d, d), ("attention.out", d, d),
                                    ("feed_forward.up", c["ff_dim"], d), ("feed_forward.down", d, c["ff_dim"])):
            shapes[f"blocks.{i}.{name}.weight"] = (rows, columns)
            if c["bias"]:
                shapes[f"blocks.{i}.{name}.bias"] = (rows,)
    for norm in norms + (["final_norm"] if c["pre_norm"] else []):
        shapes[f"{norm}.weight"] = (d,)
        if c["bias"]:
            shapes[f"{norm}.bias"] = (d,)
    if not c["tied"]:
        shapes["head.weight"] = (c["vocab"], d)

    parameters = {}
    for name, shape in shapes.items():
        center = 1.0 if name.endswith("norm.weight") else 0.0
        value = center + 0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)
        parameters[name] = value.requires_grad_()
    return parameters


def layer_norm(x, p, name):
    centered = x - x.mean(-1, keepdim=True)
    normal = centered / torch.sqrt((centered * centered).mean(-1, keepdim=True) + 1e-5)
    return normal * p[name + ".weight"] + p.get(name + ".bias", 0.0)


def linear(x, p, name):
    return x @ p[name + ".weight"].T + p.get(name + ".bias", 0.0)


def attention(x, p, name, heads):
    batch, length, d = x.shape
    q, k, v = (part.reshape(batch, length, heads, d // heads).transpose(1, 2)
               for part in linear(x, p, name + ".qkv").split(d, dim=-1))
    scores = q @ k.transpose(-2, -1) / math.sqrt(d // heads)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    weights = torch.softmax(scores.masked_fill(future, -math.inf), -1)
    return linear((weights @ v).transpose(1, 2).reshape(batch, length, d), p, name + ".out")


def positions(c, p):
    if c["learned"]:
        return p["position_embedding.weight"]
    table = torch.empty(c["context"], c["dim"], dtype=torch.float64)
    for k in range(c["context"]):
        for i in range(c["dim"] // 2):
            angle = k / 10000 ** (2 * i / c["dim"])
            table[k, 2 * i], table[k, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def loss_of(c, p, ids, targets):
    x = p["token_embedding.weight"][ids] + positions(c, p)
    for i in range(c["layers"]):
        block = f"blocks.{i}."
        for norm, sub in ((block + "attention_norm", lambda y: attention(y, p, block + "attention", c["heads"])),
                          (block + "feed_forward_norm",
                           lambda y: linear(c["activation"](linear(y, p, block + "feed_forward.up")), p,
                                            block + "feed_forward.down"))):
            x = x + sub(layer_norm(x, p, norm)) if c["pre_norm"] else layer_norm(x + sub(x), p, norm)
    if c["pre_norm"]:
        x = layer_norm(x, p, "final_norm")
    logits = x @ p["token_embedding.weight" if c["tied"] else "head.weight"].T
    log_p = torch.log_softmax(logits, -1)
    scored = targets >= 0
    likelihood = log_p.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    smoothed = (1 - c["smoothing"]) * likelihood + c["smoothing"] * log_p.mean(-1)
    return -smoothed[scored].sum() / scored.sum()


def golden(c, generator):
    p = make_parameters(c, generator)
    ids = torch.randint(c["vocab"], (BATCH, c["context"]), generator=generator)
    targets = torch.randint(c["vocab"], (BATCH, c["context"]), generator=generator)
    targets[1, 4] = -1  # not scored
    tensors = {"ids": ids.int(), "targets": targets.int()}
    optimizer = torch.optim.AdamW([
        {"params": [value for value in p.values() if value.dim() > 1], "weight_decay": DECAY},
        {"params": [value for value in p.values() if value.dim() == 1], "weight_decay": 0.0}],
        lr=LR, betas=BETAS, eps=EPS)
    tensors.update(train(p, lambda: loss_of(c, p, ids, targets), optimizer))
    return tensors


def main():
    generator = torch.Generator().manual_seed(20240607)
    write_safetensors("gpt.safetensors", {name: golden(c, generator) for name, c in MODELS.items()})


if __name__ == "__main__":
    main()
