#!/usr/bin/python3
"""Writes bert.safetensors, the numbers that tests/nn/test_golden_transformers.cpp compares with: BERT with segments, padding and both
heads of its pre-training, made of torch.nn.TransformerEncoderLayer, in f64.

The embeddings of token, position and segment are added and normalised; post-norm layers with GELU follow; the masked
tokens' head is LN(GELU(h W + b)) E^T + b', where E is the token embedding; and tanh(h W + b) of the first token gives
the logits of next-sentence prediction. The loss is the sum of the mean cross-entropies of the chosen tokens and of the
sentence labels. The file holds the inputs, the vectors of each layer (zeros at padding), the logits of the chosen tokens
and of the sentences, and, from ten steps on them, what training.train says.

Needs PyTorch alone: python3 tests/nn/golden/make_bert_golden.py (made with 1.13)
"""
import torch

from training import BETAS, EPS, LR, train, write_safetensors

DECAY = 0.1
VOCAB, CONTEXT, DIM, HEADS, FF, LAYERS, NORM_EPS = 19, 9, 12, 3, 20, 2, 1e-12
LENGTHS = [8, 5, 7]


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = torch.nn.Embedding(VOCAB, DIM)
        self.position_embedding = torch.nn.Embedding(CONTEXT, DIM)
        self.segment_embedding = torch.nn.Embedding(2, DIM)
        self.embedding_norm = torch.nn.LayerNorm(DIM, eps=NORM_EPS)
        self.blocks = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(DIM, HEADS, FF, dropout=0, activation="gelu", layer_norm_eps=NORM_EPS,
                                             batch_first=True) for _ in range(LAYERS))
        self.pooler = torch.nn.Linear(DIM, DIM)
        self.next_sentence = torch.nn.Linear(DIM, 2)
        self.transform = torch.nn.Linear(DIM, DIM)
        self.head_norm = torch.nn.LayerNorm(DIM, eps=NORM_EPS)
        self.head_bias = torch.nn.Parameter(torch.zeros(VOCAB))
        self.double()

    def layers(self, ids, segments, padding):
        places = torch.arange(ids.shape[1])
        x = self.token_embedding(ids) + self.position_embedding(places) + self.segment_embedding(segments)
        vectors = [self.embedding_norm(x)]
        for block in self.blocks:
            vectors.append(block(vectors[-1], src_key_padding_mask=padding))
        return vectors

    def logits(self, features):
        x = self.head_norm(torch.nn.functional.gelu(self.transform(features)))
        return x @ self.token_embedding.weight.T + self.head_bias

    def sentence_logits(self, features):
        return self.next_sentence(torch.tanh(self.pooler(features[:, 0])))


OUR_PARTS = {"self_attn.in_proj_": "attention.qkv.", "self_attn.out_proj.": "attention.out.",
             "norm1.": "attention_norm.", "linear1.": "feed_forward.up.", "linear2.": "feed_forward.down.",
             "norm2.": "feed_forward_norm.", "transform.": "head.transform.", "head_norm.": "head.norm.",
             "head_bias": "head.bias"}


def our_name(name):
    for theirs, ours in OUR_PARTS.items():
        name = name.replace(theirs, ours)
    return name


def main():
    generator = torch.Generator().manual_seed(20240613)
    model = Bert()
    model.train()  # evaluation would take the fused path of the layers
    for name, parameter in model.named_parameters():
        parameter.data = 0.4 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        if "norm" in name and name.endswith("weight"):
            parameter.data += 1
    ids = torch.randint(VOCAB, (len(LENGTHS), max(LENGTHS)), generator=generator)
    lengths = torch.tensor(LENGTHS)
    padding = torch.arange(max(LENGTHS)) >= lengths[:, None]
    segments = ((torch.arange(max(LENGTHS)) >= 3) & ~padding).long()
    targets = torch.full_like(ids, -1)
    for row, place in [(0, 1), (0, 5), (1, 2), (2, 3), (2, 6)]:
        targets[row, place] = torch.randint(VOCAB, (), generator=generator)
    labels = torch.tensor([0, 1, 1])
    chosen = targets >= 0

    def loss():
        features = model.layers(ids, segments, padding)[-1]
        cross_entropy = torch.nn.functional.cross_entropy
        return (cross_entropy(model.logits(features[chosen]), targets[chosen])
                + cross_entropy(model.sentence_logits(features), labels))

    tensors = {"ids": ids.int(), "lengths": lengths.int(), "segments": segments.int(), "targets": targets.int(),
               "labels": labels.int()}
    with torch.no_grad():
        vectors = model.layers(ids, segments, padding)
        for j, layer in enumerate(vectors):
            tensors[f"layer.{j}"] = layer.masked_fill(padding[:, :, None], 0)
        tensors["logits"] = model.logits(vectors[-1][chosen])
        tensors["sentence_logits"] = model.sentence_logits(vectors[-1])
    p = dict(model.named_parameters())
    optimizer = torch.optim.AdamW([
        {"params": [value for value in p.values() if value.dim() > 1], "weight_decay": DECAY},
        {"params": [value for value in p.values() if value.dim() == 1], "weight_decay": 0.0}],
        lr=LR, betas=BETAS, eps=EPS)
    tensors.update(train(p, loss, optimizer, lambda named: {our_name(name): value for name, value in named.items()}))
    write_safetensors("bert.safetensors", {"bert": tensors})


if __name__ == "__main__":
    main()
