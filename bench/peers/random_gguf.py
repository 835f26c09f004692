#!/usr/bin/env python3
"""Writes a GGUF file of random weights, with the shape that bench/generate has for the same options, so that llama.cpp's
speed can be measured beside it. Needs the Python packages gguf and numpy."""
import argparse

import gguf
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--arch", choices=["gpt", "llama"], default="gpt")
for name, value in {"layers": 12, "heads": 12, "dim": 768, "vocab": 50257, "length": 1024}.items():
    parser.add_argument(f"--{name}", type=int, default=value)
parser.add_argument("--type", choices=["f32", "bf16", "q8_0"], default="f32")
parser.add_argument("out")
args = parser.parse_args()

llama = args.arch == "llama"
# llama's blocks as bench/work.h has them: llama.cpp knows those with a norm of queries and keys as qwen3.
kv_heads = max(args.heads // 2, 1) if llama else args.heads
ff_dim = (8 * args.dim + 95) // 96 * 32 if llama else 4 * args.dim
head_dim = args.dim // args.heads
kinds = gguf.GGMLQuantizationType
kind = {"f32": kinds.F32, "bf16": kinds.BF16, "q8_0": kinds.Q8_0}[args.type]
random = np.random.default_rng(1)
writer = gguf.GGUFWriter(args.out, "qwen3" if llama else "gpt2")
writer.add_context_length(args.length)
writer.add_embedding_length(args.dim)
writer.add_feed_forward_length(ff_dim)
writer.add_block_count(args.layers)
writer.add_head_count(args.heads)
writer.add_head_count_kv(kv_heads)
writer.add_vocab_size(args.vocab)
writer.add_tokenizer_model("none")
if llama:
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_freq_base(10000.0)
else:
    writer.add_layer_norm_eps(1e-5)


def vector(name, size, value):
    writer.add_tensor(name, np.full(size, value, np.float32))


def matrix(name, rows, columns, stored=kind):
    values = random.standard_normal((rows, columns), np.float32) * 0.02
    writer.add_tensor(name, gguf.quants.quantize(values, stored), raw_dtype=stored)


def layer(name, rows, columns):
    matrix(f"{name}.weight", rows, columns)
    if not llama:
        vector(f"{name}.bias", rows, 0)


def norm(name, size):
    vector(f"{name}.weight", size, 1)
    if not llama:
        vector(f"{name}.bias", size, 0)


matrix("token_embd.weight", args.vocab, args.dim)
if not llama:
    matrix("position_embd.weight", args.length, args.dim, kinds.F32)
norm("output_norm", args.dim)
for i in range(args.layers):
    block = f"blk.{i}"
    norm(f"{block}.attn_norm", args.dim)
    norm(f"{block}.ffn_norm", args.dim)
    if llama:
        layer(f"{block}.attn_q", args.dim, args.dim)
        layer(f"{block}.attn_k", kv_heads * head_dim, args.dim)
        layer(f"{block}.attn_v", kv_heads * head_dim, args.dim)
        vector(f"{block}.attn_q_norm.weight", head_dim, 1)
        vector(f"{block}.attn_k_norm.weight", head_dim, 1)
        layer(f"{block}.ffn_gate", ff_dim, args.dim)
    else:
        layer(f"{block}.attn_qkv", 3 * args.dim, args.dim)
    layer(f"{block}.attn_output", args.dim, args.dim)
    layer(f"{block}.ffn_up", ff_dim, args.dim)
    layer(f"{block}.ffn_down", args.dim, ff_dim)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
