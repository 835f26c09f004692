#!/usr/bin/python3
"""Repeats the training of a character-level LSTM of torch.nn.LSTM, and compares the losses.

    torch_lstm.py START RUN TEXT

RUN is a run of tapeformer with model.type = rnn, tokenizer.kind = char, data.valid_fraction = 0, that began with the
weights of START (train.init_from) and read TEXT. From the same weights, with the same rows of text and the same
learning rates, the losses of RUN/metrics.jsonl are computed by PyTorch. The last line gives their largest difference.
It needs Debian's python3-torch.
"""
import json
import re
import struct
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


def load_safetensors(path):
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    entries = json.loads(data[8:begin])
    entries.pop("__metadata__", None)
    return {
        name: torch.frombuffer(bytearray(data[begin + e["data_offsets"][0]:begin + e["data_offsets"][1]]), dtype=torch.float32)
        .reshape(e["shape"])
        for name, e in entries.items()
    }


def setting(config, section, key):
    part = re.search(rf"^\[{section}\]\n(.*?)(?=^\[|\Z)", config, re.M | re.S).group(1)
    value = re.search(rf"^{key} *= *(\S+)", part, re.M).group(1)
    return value.strip("'\"")


def main():
    start, run, text = map(Path, sys.argv[1:4])
    config = (run / "config.toml").read_text()
    number = lambda section, key: float(setting(config, section, key))
    rows, length, layers = int(number("train", "batch")), int(number("train", "bptt")), int(number("model", "layers"))

    # The text as ids, in `rows` streams of equal length; a step reads the next `length` tokens of each.
    vocabulary = json.loads((run / "tokenizer.json").read_text())["model"]["vocab"]
    ids = torch.tensor([vocabulary[c] for c in text.read_text()])
    stream = (len(ids) - 1) // rows
    steps_of_text = stream // length

    weights = load_safetensors(start / "checkpoints" / (start / "checkpoints/latest").read_text().strip() / "model.safetensors")
    vocab, dim = weights["head.weight"].shape
    embedding = nn.Embedding(vocab, weights["token_embedding.weight"].shape[1])
    lstm = nn.LSTM(embedding.embedding_dim, dim, layers, batch_first=True)
    head = nn.Linear(dim, vocab)
    with torch.no_grad():
        embedding.weight.copy_(weights["token_embedding.weight"])
        head.weight.copy_(weights["head.weight"])
        head.bias.copy_(weights["head.bias"])
        for layer in range(layers):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(lstm, f"{name}_l{layer}").copy_(weights[f"layers.{layer}.{name}"])
    parameters = [*embedding.parameters(), *lstm.parameters(), *head.parameters()]
    adam = torch.optim.AdamW(parameters, betas=(number("optimizer", "beta1"), number("optimizer", "beta2")),
                             eps=number("optimizer", "eps"), weight_decay=0)

    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "loss" in line]
    if [line["step"] for line in lines] != list(range(1, len(lines) + 1)):
        sys.exit("torch_lstm: expected a line for each step in metrics.jsonl: train with --train.log_every 1")
    largest = 0
    for line in lines:
        step = line["step"] - 1
        if step % steps_of_text == 0:
            state = None
        begin = step % steps_of_text * length
        inputs = torch.stack([ids[r * stream + begin:][:length] for r in range(rows)])
        targets = torch.stack([ids[r * stream + begin + 1:][:length] for r in range(rows)])
        hidden, state = lstm(embedding(inputs), state)
        state = tuple(part.detach() for part in state)
        loss = F.cross_entropy(head(hidden).flatten(0, 1), targets.flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, number("optimizer", "clip"))
        adam.param_groups[0]["lr"] = line["lr"]
        adam.step()
        largest = max(largest, abs(loss.item() - line["loss"]))
        if line["step"] % 20 == 0 or step == 0:
            print(f"step {line['step']}: tapeformer {line['loss']:.6f}, PyTorch {loss.item():.6f}")
    print(f"largest difference of {len(lines)} losses: {largest:.2e}")


main()
