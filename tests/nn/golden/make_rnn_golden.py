#!/usr/bin/python3
"""Writes rnn.safetensors, the numbers that tests/nn/test_golden_recurrent.cpp compares with: recurrent layers and language
models of torch.nn.LSTM, GRU and RNN, in f64.

A language model is an embedding, a stack of layers and a head; its gradients are PyTorch's autograd's, its updates those
of torch.optim.AdamW. The file holds ids, targets, the logits and, from ten steps on them, what training.train says.

A layer is bidirectional and reads rows of different lengths, packed. The file holds its input, its parameters, the
states it begins from and a cotangent; its output and, of their product's sum, all gradients.

Needs PyTorch alone: python3 tests/nn/golden/make_rnn_golden.py (made with 1.13)
"""
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from training import BETAS, EPS, LR, train, write_safetensors

DECAY = 0.1
CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "tanh": torch.nn.RNN}
# vocab, width of the embedding, of the states, layers; tied: the head's matrix is the embedding
MODELS = {
    "lstm": dict(vocab=19, embedding=7, dim=9, layers=2, tied=False),
    "gru": dict(vocab=17, embedding=8, dim=8, layers=2, tied=True),
    "tanh": dict(vocab=13, embedding=6, dim=10, layers=3, tied=False),
}
BATCH, LENGTH = 3, 8
LENGTHS = [5, 2, 4]


def randomize(module, generator):
    for parameter in module.parameters():
        parameter.data = 0.4 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)


class LanguageModel(torch.nn.Module):
    def __init__(self, cell, c):
        super().__init__()
        self.embedding = torch.nn.Embedding(c["vocab"], c["embedding"])
        self.stack = CELLS[cell](c["embedding"], c["dim"], c["layers"], batch_first=True)
        self.head = torch.nn.Linear(c["dim"], c["vocab"])
        if c["tied"]:
            self.head.weight = self.embedding.weight
        self.double()

    def forward(self, ids):
        return self.head(self.stack(self.embedding(ids))[0])


def our_name(name):
    if name == "embedding.weight":
        return "token_embedding.weight"
    if name.startswith("stack."):
        kind, layer = name[len("stack."):].rsplit("_l", 1)
        return f"layers.{layer}.{kind}"
    return name


def language_model(cell, c, generator):
    model = LanguageModel(cell, c)
    randomize(model, generator)
    ids = torch.randint(c["vocab"], (BATCH, LENGTH), generator=generator)
    targets = torch.randint(c["vocab"], (BATCH, LENGTH), generator=generator)
    targets[1, 4] = -1  # not scored
    p = dict(model.named_parameters())
    optimizer = torch.optim.AdamW([
        {"params": [value for value in p.values() if value.dim() > 1], "weight_decay": DECAY},
        {"params": [value for value in p.values() if value.dim() == 1], "weight_decay": 0.0}],
        lr=LR, betas=BETAS, eps=EPS)
    tensors = {"ids": ids.int(), "targets": targets.int(), "logits": model(ids).detach().clone()}

    def loss_of():
        return torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=-1)

    tensors.update(train(p, loss_of, optimizer, lambda named: {our_name(name): v for name, v in named.items()}))
    return tensors


def layer(cell, generator):
    size, features, steps = 5, 4, max(LENGTHS)
    module = CELLS[cell](features, size, bidirectional=True).double()
    randomize(module, generator)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x = normal(steps, BATCH, features).requires_grad_()
    start = {name: normal(2, BATCH, size).requires_grad_() for name in (["h0", "c0"] if cell == "lstm" else ["h0"])}
    packed = pack_padded_sequence(x, LENGTHS, enforce_sorted=False)
    out = module(packed, tuple(start.values()) if cell == "lstm" else start["h0"])[0]
    y, _ = pad_packed_sequence(out)
    cotangent = normal(*y.shape)
    (y * cotangent).sum().backward()
    inputs = {"x": x, **start, **dict(module.named_parameters())}
    tensors = {"y": y.detach(), "cotangent": cotangent, "lengths": torch.tensor(LENGTHS, dtype=torch.int32)}
    for name, value in inputs.items():
        tensors[f"in/{name}"], tensors[f"grad/{name}"] = value.detach(), value.grad
    return tensors


def main():
    generator = torch.Generator().manual_seed(20240611)
    golden = {cell: language_model(cell, c, generator) for cell, c in MODELS.items()}
    golden.update({f"{cell}_layer": layer(cell, generator) for cell in CELLS})
    write_safetensors("rnn.safetensors", golden)


if __name__ == "__main__":
    main()
