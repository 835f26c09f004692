#!/usr/bin/python3
"""Writes transformer.safetensors, the numbers that tests/nn/test_golden_transformers.cpp compares with: two small encoder-decoders,
torch.nn.Transformer in f64 with embeddings and output around it as Vaswani et al. 2017 say.

Sentences are of different lengths; the batch holds the source's ids and lengths, the decoder's inputs and its targets,
-1 where there is none. PyTorch is told of all padding: that of the source in the encoder and in the decoder's look at
it, and that of the target. For each model the file holds the batch and, from ten steps of torch.optim.Adam on it, what
training.train says.

Needs PyTorch alone: python3 tests/nn/golden/make_transformer_golden.py (made with 1.13)
"""
import math

import torch
from torch import nn

from training import BETAS, EPS, LR, train, write_safetensors

MODELS = {
    # The paper's: one table for all embeddings, sinusoids, norms behind each sublayer and none at the end of a stack.
    "translator": dict(source_vocab=23, target_vocab=23, context=9, layers=2, heads=2, dim=12, ff_dim=20,
                       pre_norm=False, learned=False, tied="all", activation="relu", smoothing=0.1),
    "pre_translator": dict(source_vocab=17, target_vocab=21, context=9, layers=2, heads=4, dim=12, ff_dim=20,
                           pre_norm=True, learned=True, tied="none", activation="gelu", smoothing=0.0),
}
SOURCE_LENGTHS, TARGET_LENGTHS = (7, 3, 5), (2, 6, 5)

RENAMES = [("multihead_attn.out_proj.", "cross_attention.out."), ("self_attn.in_proj_", "attention.qkv."),
           ("self_attn.out_proj.", "attention.out."), ("linear1.", "feed_forward.up."),
           ("linear2.", "feed_forward.down."), ("norm1.", "attention_norm."), ("norm3.", "feed_forward_norm."),
           (".norm.", ".final_norm."), (".layers.", ".blocks.")]


def our_names(named):
    """Tensors by PyTorch's names -> by ours. Its in_proj of cross-attention is our q above our kv."""
    ours = {}
    for name, tensor in named.items():
        name = name.replace("norm2.", "cross_attention_norm." if "decoder" in name else "feed_forward_norm.")
        for theirs, our in RENAMES:
            name = name.replace(theirs, our)
        if "multihead_attn.in_proj_" in name:
            rows = tensor.shape[0] // 3
            ours[name.replace("multihead_attn.in_proj_", "cross_attention.q.")] = tensor[:rows]
            ours[name.replace("multihead_attn.in_proj_", "cross_attention.kv.")] = tensor[rows:]
        else:
            ours[name] = tensor
    return ours


def make_transformer(c):
    shared = dict(d_model=c["dim"], nhead=c["heads"], dim_feedforward=c["ff_dim"], dropout=0.0,
                  activation=c["activation"], batch_first=True, norm_first=c["pre_norm"], dtype=torch.float64)
    norms = [nn.LayerNorm(c["dim"], dtype=torch.float64) if c["pre_norm"] else None for _ in range(2)]
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**shared), c["layers"], norms[0],
                                    enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shared), c["layers"], norms[1])
    return nn.Transformer(d_model=c["dim"], nhead=c["heads"], batch_first=True, custom_encoder=encoder,
                          custom_decoder=decoder)


def make_parameters(c, transformer, generator):
    """Name -> tensor, all random, biases and norms too, so that no gradient is small by symmetry."""
    def random(shape, deviation=0.3, center=0.0):
        value = center + deviation * torch.randn(shape, generator=generator, dtype=torch.float64)
        return value.requires_grad_()

    d = c["dim"]
    parameters = {"source_embedding.weight": random((c["source_vocab"], d))}
    if c["tied"] == "none":
        parameters["target_embedding.weight"] = random((c["target_vocab"], d))
        parameters["head.weight"] = random((c["target_vocab"], d))
    if c["learned"]:
        for side in ("source", "target"):
            parameters[f"{side}_position_embedding.weight"] = random((c["context"], d))
    with torch.no_grad():
        for name, value in transformer.named_parameters():
            is_gain = "norm" in name and name.endswith("weight")
            value.copy_(random(value.shape, center=1.0 if is_gain else 0.0))
            parameters[name] = value
    return parameters


def positions(c, p, side, length):
    if c["learned"]:
        return p[f"{side}_position_embedding.weight"][:length]
    table = torch.empty(length, c["dim"], dtype=torch.float64)
    for k in range(length):
        for i in range(c["dim"] // 2):
            angle = k / 10000 ** (2 * i / c["dim"])
            table[k, 2 * i], table[k, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def loss_of(c, p, transformer, source, inputs, targets):
    source_table = p["source_embedding.weight"]
    target_table = p.get("target_embedding.weight", source_table)
    source_pad = torch.arange(source.shape[1])[None, :] >= torch.tensor(SOURCE_LENGTHS)[:, None]
    future = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1)
    stream = transformer(
        source_table[source] * math.sqrt(c["dim"]) + positions(c, p, "source", source.shape[1]),
        target_table[inputs] * math.sqrt(c["dim"]) + positions(c, p, "target", inputs.shape[1]),
        tgt_mask=future, src_key_padding_mask=source_pad, memory_key_padding_mask=source_pad,
        tgt_key_padding_mask=targets < 0)
    logits = stream @ p.get("head.weight", target_table).T
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1,
                                       label_smoothing=c["smoothing"])


def golden(c, generator):
    transformer = make_transformer(c)
    p = make_parameters(c, transformer, generator)
    source = torch.randint(c["source_vocab"], (len(SOURCE_LENGTHS), max(SOURCE_LENGTHS)), generator=generator)
    inputs, targets = (torch.randint(c["target_vocab"], (len(TARGET_LENGTHS), max(TARGET_LENGTHS)),
                                     generator=generator) for _ in range(2))
    for row, length in enumerate(TARGET_LENGTHS):
        targets[row, length:] = -1
    tensors = {"source": source.int(), "source_lengths": torch.tensor(SOURCE_LENGTHS).int(), "inputs": inputs.int(),
               "targets": targets.int()}
    optimizer = torch.optim.Adam(p.values(), lr=LR, betas=BETAS, eps=EPS)
    tensors.update(train(p, lambda: loss_of(c, p, transformer, source, inputs, targets), optimizer, our_names))
    return tensors


def main():
    generator = torch.Generator().manual_seed(20240611)
    write_safetensors("transformer.safetensors", {name: golden(c, generator) for name, c in MODELS.items()})


if __name__ == "__main__":
    main()
