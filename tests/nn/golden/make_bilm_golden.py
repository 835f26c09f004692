#!/usr/bin/python3
"""Writes bilm.safetensors, the numbers that tests/nn/test_golden_recurrent.cpp compares with: bidirectional language models made
of torch.nn.LSTM and GRU, in f64.

A model is an embedding, a stack of layers for each direction and a head for both. Each row is read by itself, at its own
length: forward as it stands, backward with its tokens turned round. With residual connections every layer but the first
adds its input to its output. The loss is the mean over the targets of both directions. The file holds ids, lengths, the
vectors of each layer (zeros at padding) and, from ten steps on them, what training.train says.

Needs PyTorch alone: python3 tests/nn/golden/make_bilm_golden.py (made with 1.13)
"""
import torch

from training import BETAS, EPS, LR, train, write_safetensors

DECAY = 0.1
CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
MODELS = {
    "bilm": dict(cell="gru", vocab=13, embedding=5, dim=7, layers=2, residual=False, tied=False),
    "bilm_residual": dict(cell="lstm", vocab=11, embedding=6, dim=6, layers=3, residual=True, tied=True),
}
LENGTHS = [7, 3, 5]


class Bilm(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.residual = c["residual"]
        self.embedding = torch.nn.Embedding(c["vocab"], c["embedding"])
        sizes = [c["embedding"]] + c["layers"] * [c["dim"]]
        # "forward" is taken by Module
        self.right = torch.nn.ModuleList(CELLS[c["cell"]](i, c["dim"]) for i in sizes[:-1])
        self.left = torch.nn.ModuleList(CELLS[c["cell"]](i, c["dim"]) for i in sizes[:-1])
        self.head = torch.nn.Linear(c["dim"], c["vocab"])
        if c["tied"]:
            self.head.weight = self.embedding.weight
        self.double()

    def states(self, stack, x):
        layers = [x]
        for i, layer in enumerate(stack):
            y = layer(layers[-1].unsqueeze(1))[0].squeeze(1)
            layers.append(y + layers[-1] if self.residual and i > 0 else y)
        return layers

    def directions(self, row):
        """The vectors of a row's tokens, (length, features), of each layer: forward and backward."""
        x = self.embedding(row)
        return self.states(self.right, x), [y.flip(0) for y in self.states(self.left, x.flip(0))]

    def loss(self, rows):
        logits, targets = [], []
        for row in rows:
            forward, backward = self.directions(row)
            logits += [self.head(forward[-1][:-1]), self.head(backward[-1][1:])]
            targets += [row[1:], row[:-1]]
        return torch.nn.functional.cross_entropy(torch.cat(logits), torch.cat(targets))


def our_name(name):
    kind, rest = name.split(".", 1)
    if kind == "embedding":
        return "token_embedding.weight"
    if kind in ("right", "left"):
        return ("forward" if kind == "right" else "backward") + ".layers." + rest[:-len("_l0")]
    return name


def language_model(c, generator):
    model = Bilm(c)
    for parameter in model.parameters():
        parameter.data = 0.4 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    ids = torch.randint(c["vocab"], (len(LENGTHS), max(LENGTHS)), generator=generator)
    rows = [row[:length] for row, length in zip(ids, LENGTHS)]
    tensors = {"ids": ids.int(), "lengths": torch.tensor(LENGTHS, dtype=torch.int32)}
    with torch.no_grad():
        vectors = [[torch.cat(both, 1) for both in zip(*model.directions(row))] for row in rows]
    for j, layer in enumerate(zip(*vectors)):
        tensors[f"layer.{j}"] = torch.nn.utils.rnn.pad_sequence(layer, batch_first=True)
    p = dict(model.named_parameters())
    optimizer = torch.optim.AdamW([
        {"params": [value for value in p.values() if value.dim() > 1], "weight_decay": DECAY},
        {"params": [value for value in p.values() if value.dim() == 1], "weight_decay": 0.0}],
        lr=LR, betas=BETAS, eps=EPS)
    tensors.update(train(p, lambda: model.loss(rows), optimizer,
                         lambda named: {our_name(name): value for name, value in named.items()}))
    return tensors


def main():
    generator = torch.Generator().manual_seed(20240612)
    write_safetensors("bilm.safetensors", {name: language_model(c, generator) for name, c in MODELS.items()})


if __name__ == "__main__":
    main()
