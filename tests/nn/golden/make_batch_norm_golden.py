#!/usr/bin/python3
"""Writes batch_norm.safetensors, the numbers that tests/nn/layers/test_batch_norm.cpp compares with: torch.nn.BatchNorm1d
over the tokens of rows that are no padding, in f64. After two batches of training, the file holds for each of them the
output, and the gradients of a contraction with the cotangent; the running statistics; and the output and the gradients
in evaluation.

Needs PyTorch alone: python3 tests/nn/golden/make_batch_norm_golden.py (made with 1.13)
"""
import torch

from training import write_safetensors

BATCH, LENGTH, DIM, LENGTHS, EPS = 3, 5, 6, [5, 2, 4], 1e-3


def main():
    generator = torch.Generator().manual_seed(20240614)
    random = lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)
    norm = torch.nn.BatchNorm1d(DIM, eps=EPS, dtype=torch.float64)
    with torch.no_grad():
        norm.weight.copy_(1 + 0.3 * random(DIM))
        norm.bias.copy_(0.3 * random(DIM))
    lengths = torch.tensor(LENGTHS)
    tokens = torch.arange(LENGTH) < lengths[:, None]
    tensors = {"lengths": lengths.int(), "weight": norm.weight.detach().clone(), "bias": norm.bias.detach().clone()}

    def pass_of(name):
        x = (1 + 2 * random(BATCH, LENGTH, DIM)).requires_grad_()
        cotangent = random(BATCH, LENGTH, DIM)
        norm.zero_grad()
        y = torch.zeros(BATCH, LENGTH, DIM, dtype=torch.float64)
        y[tokens] = norm(x[tokens])
        (y * cotangent).sum().backward()
        for key, value in dict(x=x, cotangent=cotangent, y=y, dx=x.grad, dweight=norm.weight.grad,
                               dbias=norm.bias.grad, running_mean=norm.running_mean,
                               running_var=norm.running_var).items():
            tensors[f"{name}/{key}"] = value.detach().clone()

    pass_of("first")
    pass_of("second")
    norm.eval()
    pass_of("evaluation")
    write_safetensors("batch_norm.safetensors", {"batch_norm": tensors})


if __name__ == "__main__":
    main()
