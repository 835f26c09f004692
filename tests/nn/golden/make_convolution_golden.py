#!/usr/bin/python3
"""Writes convolution.safetensors, the numbers that tests/nn/layers/test_convolution.cpp compares with:
torch.nn.functional.conv2d and max_pool2d with several kernels, strides and paddings, in f64. For each the file holds the
images, the weights, the output, and the gradients of a contraction with the cotangent.

Needs PyTorch alone: python3 tests/nn/golden/make_convolution_golden.py (made with 1.13)
"""
import torch
import torch.nn.functional as F

from training import write_safetensors

WINDOWS = [(3, 1, 0), (3, 1, 1), (3, 2, 1), (5, 2, 2), (2, 2, 0), (1, 3, 0)]  # kernel, stride, padding


def main():
    generator = torch.Generator().manual_seed(20241124)
    random = lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)
    models = {}
    for kernel, stride, padding in WINDOWS:
        x = random(2, 3, 6, 7).requires_grad_()
        weight, bias = random(4, 3, kernel, kernel).requires_grad_(), random(4).requires_grad_()
        y = F.conv2d(x, weight, bias, stride=stride, padding=padding)
        cotangent = random(*y.shape)
        dx, dweight, dbias = torch.autograd.grad(y, (x, weight, bias), cotangent)
        pool = F.max_pool2d(x, kernel, stride=stride, padding=min(padding, kernel // 2))
        pool_cotangent = random(*pool.shape)
        pool_dx, = torch.autograd.grad(pool, x, pool_cotangent)
        tensors = dict(x=x, weight=weight, bias=bias, y=y, cotangent=cotangent, dx=dx, dweight=dweight, dbias=dbias,
                       pool=pool, pool_cotangent=pool_cotangent, pool_dx=pool_dx)
        models[f"{kernel}.{stride}.{padding}"] = {key: value.detach().clone() for key, value in tensors.items()}
    write_safetensors("convolution.safetensors", models)


if __name__ == "__main__":
    main()
