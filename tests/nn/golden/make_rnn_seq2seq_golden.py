#!/usr/bin/python3
"""Writes rnn_seq2seq.safetensors, the numbers that tests/nn/test_golden_recurrent.cpp compares with: small recurrent
encoder-decoders in f64, each way of scoring in each order (and none), over all cells, directions and tied embeddings.

The encoder is torch.nn.LSTM, GRU or RNN on packed sentences, the decoder's layers are cells of torch.nn, and what is
between them stands in Model below as nn/models/rnn_seq2seq.h writes it. The file holds a padded batch and, from ten steps
of torch.optim.Adam on it, what training.train says.

Needs PyTorch alone: python3 tests/nn/golden/make_rnn_seq2seq_golden.py (made with 1.13)
"""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from training import BETAS, EPS, LR, train, write_safetensors

STACKS = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}
CELLS = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "tanh": nn.RNNCell}
EMBEDDING, DIM = 3, 4
MODELS = {
    "previous_dot": dict(cell="gru", layers=1, score="dot", order="previous", both=True, tied="none"),
    "previous_bilinear": dict(cell="lstm", layers=2, score="bilinear", order="previous", both=True, tied="output"),
    "previous_additive": dict(cell="gru", layers=1, score="additive", order="previous", both=True, tied="all"),
    "current_dot": dict(cell="lstm", layers=2, score="dot", order="current", both=False, tied="none"),
    "current_bilinear": dict(cell="gru", layers=2, score="bilinear", order="current", both=True, tied="output"),
    "current_additive": dict(cell="tanh", layers=1, score="additive", order="current", both=False, tied="all"),
    "no_attention": dict(cell="gru", layers=2, score="none", order="previous", both=False, tied="none"),
}
SOURCE_LENGTHS, TARGET_LENGTHS = (5, 2, 4), (3, 5, 4)
SOURCE_VOCAB, TARGET_VOCAB = 7, 9


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        attends, previous = c["score"] != "none", c["order"] == "previous"
        source_vocab = TARGET_VOCAB if c["tied"] == "all" else SOURCE_VOCAB
        self.source_embedding = nn.Embedding(source_vocab, EMBEDDING)
        self.target_embedding = self.source_embedding if c["tied"] == "all" else nn.Embedding(TARGET_VOCAB, EMBEDDING)
        self.encoder = STACKS[c["cell"]](EMBEDDING, DIM // (2 if c["both"] else 1), c["layers"],
                                         bidirectional=c["both"])
        if c["both"]:
            self.bridges = nn.ModuleList(nn.Linear(DIM // 2, DIM, bias=False) for _ in range(c["layers"]))
        if c["score"] in ("bilinear", "additive"):
            self.key = nn.Linear(DIM, DIM, bias=False)
        if c["score"] == "additive":
            self.query = nn.Linear(DIM, DIM, bias=False)
            self.score = nn.Parameter(torch.empty(DIM))
        extra = (DIM if previous else EMBEDDING) if attends else 0
        self.layers = nn.ModuleList(CELLS[c["cell"]](EMBEDDING + extra if i == 0 else DIM, DIM)
                                    for i in range(c["layers"]))
        self.readout = nn.Linear(DIM + (EMBEDDING if previous else 0) + (DIM if attends else 0), EMBEDDING)
        self.head = nn.Linear(EMBEDDING, TARGET_VOCAB)
        if c["tied"] != "none":
            self.head.weight = self.target_embedding.weight
        self.double()

    def context(self, state, hidden, padding):
        score, keys = self.c["score"], hidden
        if score in ("bilinear", "additive"):
            keys = self.key(hidden)
        if score == "additive":
            scores = torch.tanh(self.query(state)[:, None] + keys) @ self.score
        else:
            scores = (keys @ state[:, :, None])[:, :, 0]
        weights = torch.softmax(scores.masked_fill(padding, float("-inf")), 1)
        return (weights[:, None] @ hidden)[:, 0]

    def forward(self, source, inputs):
        c, lstm = self.c, self.c["cell"] == "lstm"
        packed = pack_padded_sequence(self.source_embedding(source), SOURCE_LENGTHS, batch_first=True,
                                      enforce_sorted=False)
        packed, last = self.encoder(packed)
        hidden, _ = pad_packed_sequence(packed, batch_first=True)
        padding = torch.arange(source.shape[1])[None] >= torch.tensor(SOURCE_LENGTHS)[:, None]
        h, cell = last if lstm else (last, None)
        if c["both"]:  # the backward direction's
            h = [torch.tanh(bridge(h[2 * i + 1])) for i, bridge in enumerate(self.bridges)]
            cell = h
        states = [(h[i], cell[i]) if lstm else h[i] for i in range(c["layers"])]
        attends, previous = c["score"] != "none", c["order"] == "previous"
        fed, logits = torch.zeros(len(source), EMBEDDING, dtype=torch.float64), []
        for t in range(inputs.shape[1]):
            y = self.target_embedding(inputs[:, t])
            context = []
            if attends and previous:
                top = states[-1][0] if lstm else states[-1]
                context = [self.context(top, hidden, padding)]
            x = torch.cat([y] + (context if previous else [fed] if attends else []), 1)
            for i, layer in enumerate(self.layers):
                states[i] = layer(x, states[i])
                x = states[i][0] if lstm else states[i]
            if attends and not previous:
                context = [self.context(x, hidden, padding)]
            fed = torch.tanh(self.readout(torch.cat([x] + ([y] if previous else []) + context, 1)))
            logits.append(self.head(fed))
        return torch.stack(logits, 1)


def our_name(name):
    if name.startswith("encoder."):
        kind, layer = name[len("encoder."):].replace("_reverse", "").rsplit("_l", 1)
        direction = "backward" if name.endswith("_reverse") else "forward"
        return f"encoder.layers.{layer}.{direction}.{kind}"
    if name == "score":
        return "decoder.attention.score.weight"
    if name.split(".")[0] in ("key", "query"):
        return f"decoder.attention.{name}"
    return name if "embedding" in name or name.startswith("head") else f"decoder.{name}"


def golden(c, generator):
    model = Model(c)
    for parameter in model.parameters():
        parameter.data = 0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    rows = len(SOURCE_LENGTHS)

    def ids(vocab, length):
        return torch.randint(vocab, (rows, length), generator=generator)

    source = ids(SOURCE_VOCAB, max(SOURCE_LENGTHS))
    inputs, targets = ids(TARGET_VOCAB, max(TARGET_LENGTHS)), ids(TARGET_VOCAB, max(TARGET_LENGTHS))
    for row, length in enumerate(TARGET_LENGTHS):
        targets[row, length:] = -1
    parameters = dict(model.named_parameters())
    optimizer = torch.optim.Adam(parameters.values(), lr=LR, betas=BETAS, eps=EPS)

    def loss_of():
        return nn.functional.cross_entropy(model(source, inputs).flatten(0, 1), targets.flatten(), ignore_index=-1)

    tensors = {"source": source.int(), "source_lengths": torch.tensor(SOURCE_LENGTHS, dtype=torch.int32),
               "inputs": inputs.int(), "targets": targets.int()}
    tensors.update(train(parameters, loss_of, optimizer,
                         lambda named: {our_name(name): value for name, value in named.items()}))
    return tensors


def main():
    generator = torch.Generator().manual_seed(20240612)
    write_safetensors("rnn_seq2seq.safetensors", {name: golden(c, generator) for name, c in MODELS.items()})


if __name__ == "__main__":
    main()
