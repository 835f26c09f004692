#!/usr/bin/python3
"""Measures the step of bench/train_step in PyTorch, with the same flags and the same JSON keys.

It needs Debian's python3-torch. On CPU it is fastest with ATEN_CPU_CAPABILITY set to the best of the CPU, OMP_NUM_THREADS
set to the number of cores, and the OpenMP build of OpenBLAS in LD_LIBRARY_PATH: bench/compare sets all three.
"""
import argparse
import json
import math
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"layers": 4, "heads": 4, "dim": 128, "vocab": 65, "batch": 12, "length": 64, "steps": 10, "warmup": 3, "threads": 2}


class Layer(nn.Module):
    """One pre-norm block as in GPT-2, with one product for queries, keys and values."""

    def __init__(self, dim, heads, fused):
        super().__init__()
        self.heads = heads
        self.fused = fused
        self.norm_a = nn.LayerNorm(dim)
        self.norm_f = nn.LayerNorm(dim)
        self.into_heads = nn.Linear(dim, dim * 3)
        self.out_of_heads = nn.Linear(dim, dim)
        self.widen = nn.Linear(dim, dim * 4)
        self.narrow = nn.Linear(dim * 4, dim)

    def attend(self, x, mask):
        batch, length, dim = x.shape
        packed = self.into_heads(x).view(batch, length, 3, self.heads, dim // self.heads)
        query, key, value = packed.permute(2, 0, 3, 1, 4)
        if self.fused:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(dim // self.heads)
            mixed = torch.matmul(F.softmax(scores + mask, dim=-1), value)
        return self.out_of_heads(mixed.transpose(1, 2).reshape(batch, length, dim))

    def forward(self, x, mask):
        x = x + self.attend(self.norm_a(x), mask)
        return x + self.narrow(F.gelu(self.widen(self.norm_f(x))))


class LanguageModel(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocab, options.dim)
        self.places = nn.Embedding(options.length, options.dim)
        self.stack = nn.ModuleList([Layer(options.dim, options.heads, options.sdpa) for _ in range(options.layers)])
        self.last_norm = nn.LayerNorm(options.dim)
        # GPT-2's deviation, as in train_step. PyTorch's own (1) makes subnormal gradients, which slow every product.
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)
        self.register_buffer("mask", torch.triu(torch.full((options.length,) * 2, -math.inf), diagonal=1))

    def loss(self, ids, targets):
        x = self.tokens(ids) + self.places.weight
        for layer in self.stack:
            x = layer(x, self.mask)
        logits = self.last_norm(x) @ self.tokens.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Translator(nn.Module):
    """The post-norm encoder-decoder, one table for sources, targets and outputs."""

    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocab, options.dim)
        nn.init.normal_(self.tokens.weight, std=options.dim ** -0.5)
        self.places = nn.Parameter(torch.zeros(options.length, options.dim))
        self.stacks = nn.Transformer(options.dim, options.heads, options.layers, options.layers, 4 * options.dim,
                                     dropout=0.1, batch_first=True)
        self.register_buffer("mask", torch.triu(torch.full((options.length,) * 2, -math.inf), diagonal=1))

    def embed(self, ids):
        return self.tokens(ids) * math.sqrt(self.tokens.embedding_dim) + self.places

    def loss(self, ids, targets):
        decoded = self.stacks(self.embed(ids), self.embed(targets), tgt_mask=self.mask)
        logits = decoded @ self.tokens.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)


class RecurrentModel(nn.Module):
    """LSTM layers between an embedding and a head of its own."""

    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocab, options.dim)
        self.layers = nn.LSTM(options.dim, options.dim, options.layers)
        self.head = nn.Linear(options.dim, options.vocab)

    def loss(self, ids, targets):
        states, _ = self.layers(self.tokens(ids.t()))
        return F.cross_entropy(self.head(states).flatten(0, 1), targets.t().flatten())


ARCHITECTURES = {"gpt": LanguageModel, "transformer": Translator, "rnn": RecurrentModel}


def measure(options):
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = ARCHITECTURES[options.arch](options)
    adam = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1,
                             **({"fused": True} if options.fused else {"foreach": True}))
    ids = torch.randint(options.vocab, (options.batch, options.length))
    targets = torch.randint(options.vocab, (options.batch, options.length))
    seconds = []
    for _ in range(options.warmup + options.steps):
        begin = time.perf_counter()
        adam.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bf16):
            loss = model.loss(ids, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        seconds.append(time.perf_counter() - begin)
    step = statistics.median(seconds[options.warmup:])
    result = {"peer": f"pytorch {torch.__version__}", "arch": options.arch, "bf16": options.bf16}
    result.update({name: getattr(options, name) for name in SIZES if name != "warmup"})
    result["params"] = sum(p.numel() for p in model.parameters())
    result["step_ms"] = step * 1e3
    result["tokens_per_s"] = options.batch * options.length / step
    result["loss"] = loss.item()
    result["peak_rss_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=ARCHITECTURES, default="gpt")
    for name, default in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--bf16", action="store_true", help="products in bf16, by autocast")
    parser.add_argument("--sdpa", action="store_true", help="PyTorch's fused attention (PyTorch 2)")
    parser.add_argument("--fused", action="store_true", help="PyTorch's fused AdamW (PyTorch 2.4)")
    print(json.dumps(measure(parser.parse_args())))
