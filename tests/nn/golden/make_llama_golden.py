#!/usr/bin/python3
"""Writes llama.safetensors, the numbers that tests/nn/test_golden_transformers.cpp compares with: small models of today's blocks in
PyTorch, in f64: RMS norms, rotary positions with either pairing, SwiGLU or GEGLU, grouped queries, QK-norm, no biases and
a z-loss; and an encoder-decoder of the same blocks.

Each model is written out in elementary PyTorch operations, so that what is compared are the formulas and not two
libraries' layers; rotations are products of complex numbers, heads of keys and values are repeated for their groups. The
gradients are PyTorch's autograd's, the updates those of torch.optim.AdamW. For each model the file holds ids, targets
and, from ten steps on them, what training.train says.

Needs PyTorch alone: python3 tests/nn/golden/make_llama_golden.py (made with 1.13)
"""
import math

import torch

from training import BETAS, EPS, LR, train, write_safetensors

DECAY = 0.1
NORM_EPS = 1e-5

MODELS = {
    "llama": dict(vocab=23, context=12, layers=2, heads=4, kv_heads=2, dim=16, ff_dim=24, base=10000.0, halves=True,
                  gate="silu", qk_norm=False, tied=True, z_loss=0.0),
    "llama_interleaved": dict(vocab=19, context=10, layers=2, heads=4, kv_heads=1, dim=24, ff_dim=20, base=50.0,
                              halves=False, gate="gelu", qk_norm=True, tied=False, z_loss=0.01),
}
TRANSLATOR = dict(vocab=17, layers=2, heads=4, kv_heads=2, dim=16, ff_dim=24, base=10000.0, halves=True, gate="silu",
                  qk_norm=True, smoothing=0.1, z_loss=0.02)
BATCH = 3
SOURCE_LENGTHS, SOURCE_LENGTH, TARGET_LENGTHS, TARGET_LENGTH = [7, 3, 5], 7, [4, 8, 6], 8


def random_parameters(shapes, generator):
    """Name -> tensor. All random, norms too, so that no gradient is small by symmetry."""
    return {name: ((1.0 if name.endswith("norm.weight") else 0.0)
                   + 0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()
            for name, shape in shapes.items()}


def stack_shapes(c, prefix, cross):
    d, head = c["dim"], c["dim"] // c["heads"]
    shapes = {}
    for i in range(c["layers"]):
        block = f"{prefix}blocks.{i}."
        places = [("attention", {"qkv": (d + 2 * c["kv_heads"] * head, d)})]
        if cross:
            places.append(("cross_attention", {"q": (d, d), "kv": (2 * c["kv_heads"] * head, d)}))
        for place, inputs in places:
            shapes[f"{block}{place}_norm.weight"] = (d,)
            for name, shape in (*inputs.items(), ("out", (d, d))):
                shapes[f"{block}{place}.{name}.weight"] = shape
            for name in ("q_norm", "k_norm") if c["qk_norm"] else ():
                shapes[f"{block}{place}.{name}.weight"] = (head,)
        shapes[f"{block}feed_forward_norm.weight"] = (d,)
        shapes[f"{block}feed_forward.gate_up.weight"] = (2 * c["ff_dim"], d)
        shapes[f"{block}feed_forward.down.weight"] = (d, c["ff_dim"])
    shapes[f"{prefix}final_norm.weight"] = (d,)
    return shapes


def rms_norm(x, weight):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + NORM_EPS) * weight


def rotate(x, c):
    """x (B, h, T, d): each pair of elements is a complex number, which is multiplied by e^(i angle)."""
    length, d = x.shape[-2:]
    frequency = c["base"] ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    if c["halves"]:
        turned = torch.complex(x[..., :d // 2], x[..., d // 2:]) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([turned.real, turned.imag], -1)
    turned = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.polar(torch.ones_like(angle), angle)
    return torch.stack([turned.real, turned.imag], -1).flatten(-2)


def heads_of(x, count):
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def attend(q, k, v, c, p, name, mask, rotary):
    """q, k, v (B, T, heads·d); mask is true where a query must not look."""
    batch, length, _ = q.shape
    q, k, v = heads_of(q, c["heads"]), heads_of(k, c["kv_heads"]), heads_of(v, c["kv_heads"])
    if c["qk_norm"]:
        q, k = rms_norm(q, p[name + ".q_norm.weight"]), rms_norm(k, p[name + ".k_norm.weight"])
    if rotary:
        q, k = rotate(q, c), rotate(k, c)
    group = c["heads"] // c["kv_heads"]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores.masked_fill(mask, -math.inf), -1)
    return (weights @ v).transpose(1, 2).reshape(batch, length, -1) @ p[name + ".out.weight"].T


def feed_forward(x, c, p, name):
    gate, up = (x @ p[name + ".gate_up.weight"].T).split(c["ff_dim"], -1)
    act = gate * torch.sigmoid(gate) if c["gate"] == "silu" else 0.5 * gate * (1 + torch.erf(gate / math.sqrt(2)))
    return (act * up) @ p[name + ".down.weight"].T


def stack(x, c, p, prefix, mask, encoded=None, encoded_mask=None):
    width = c["kv_heads"] * (c["dim"] // c["heads"])
    for i in range(c["layers"]):
        block = f"{prefix}blocks.{i}."
        y = rms_norm(x, p[block + "attention_norm.weight"])
        q, k, v = (y @ p[block + "attention.qkv.weight"].T).split([c["dim"], width, width], -1)
        x = x + attend(q, k, v, c, p, block + "attention", mask, rotary=True)
        if encoded is not None:
            y = rms_norm(x, p[block + "cross_attention_norm.weight"])
            k, v = (encoded @ p[block + "cross_attention.kv.weight"].T).split(width, -1)
            x = x + attend(y @ p[block + "cross_attention.q.weight"].T, k, v, c, p, block + "cross_attention",
                           encoded_mask, rotary=False)
        x = x + feed_forward(rms_norm(x, p[block + "feed_forward_norm.weight"]), c, p, block + "feed_forward")
    return rms_norm(x, p[prefix + "final_norm.weight"])


def future(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def cross_entropy(logits, targets, smoothing, z_loss):
    log_p, z = torch.log_softmax(logits, -1), torch.logsumexp(logits, -1)
    scored = targets >= 0
    likelihood = log_p.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    loss = -(1 - smoothing) * likelihood - smoothing * log_p.mean(-1) + z_loss * z * z
    return loss[scored].sum() / scored.sum()


def optimizer_of(p, decay):
    return torch.optim.AdamW([
        {"params": [value for value in p.values() if value.dim() > 1], "weight_decay": decay},
        {"params": [value for value in p.values() if value.dim() == 1], "weight_decay": 0.0}],
        lr=LR, betas=BETAS, eps=EPS)


def language_model(c, generator):
    shapes = {"token_embedding.weight": (c["vocab"], c["dim"]), **stack_shapes(c, "", cross=False)}
    if not c["tied"]:
        shapes["head.weight"] = (c["vocab"], c["dim"])
    p = random_parameters(shapes, generator)
    ids = torch.randint(c["vocab"], (BATCH, c["context"]), generator=generator)
    targets = torch.randint(c["vocab"], (BATCH, c["context"]), generator=generator)
    targets[1, 4] = -1  # not scored

    def loss_of():
        x = stack(p["token_embedding.weight"][ids], c, p, "", future(c["context"]))
        return cross_entropy(x @ p["token_embedding.weight" if c["tied"] else "head.weight"].T, targets, 0.0,
                             c["z_loss"])

    return {"ids": ids.int(), "targets": targets.int(), **train(p, loss_of, optimizer_of(p, DECAY))}


def translator(c, generator):
    """All embeddings are one."""
    p = random_parameters({"source_embedding.weight": (c["vocab"], c["dim"]), **stack_shapes(c, "encoder.", cross=False),
                           **stack_shapes(c, "decoder.", cross=True)}, generator)
    table = p["source_embedding.weight"]
    source = torch.randint(c["vocab"], (BATCH, SOURCE_LENGTH), generator=generator)
    inputs = torch.randint(c["vocab"], (BATCH, TARGET_LENGTH), generator=generator)
    targets = torch.randint(c["vocab"], (BATCH, TARGET_LENGTH), generator=generator)
    for row, length in enumerate(TARGET_LENGTHS):
        targets[row, length:] = -1
    lengths = torch.tensor(SOURCE_LENGTHS)
    padding = (torch.arange(SOURCE_LENGTH) >= lengths[:, None])[:, None, None]

    def loss_of():
        encoded = stack(table[source] * math.sqrt(c["dim"]), c, p, "encoder.", padding)
        x = stack(table[inputs] * math.sqrt(c["dim"]), c, p, "decoder.", future(TARGET_LENGTH), encoded, padding)
        return cross_entropy(x @ table.T, targets, c["smoothing"], c["z_loss"])

    return {"source": source.int(), "source_lengths": lengths.int(), "inputs": inputs.int(), "targets": targets.int(),
            **train(p, loss_of, optimizer_of(p, 0.0))}


def main():
    generator = torch.Generator().manual_seed(20240613)
    models = {name: language_model(c, generator) for name, c in MODELS.items()}
    write_safetensors("llama.safetensors", {**models, "llama_translator": translator(TRANSLATOR, generator)})


if __name__ == "__main__":
    main()
