#!/usr/bin/env python3
"""Writes gguf_blocks.json: blocks of each type, with what llama.cpp's package gguf (0.19) reads from them, and what it
makes of values. Nothing here is needed to build or test. It takes Python, numpy and gguf."""
import json
import os

import numpy
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

here = os.path.dirname(os.path.abspath(__file__))
random = numpy.random.default_rng(31)
# Where a block has its scales.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_K": [0, 2], "Q6_K": [208], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
          "Q2_K": [80, 82], "Q3_K": [108], "Q5_K": [0, 2]}


def short(numbers):
    """The fewest digits that are these numbers in single precision."""
    return [float(str(number)) for number in numbers.astype(numpy.float32)]


read = {}
for name, places in SCALES.items():
    blocks = random.integers(0, 256, (2, GGML_QUANT_SIZES[getattr(Type, name)][1]), dtype=numpy.uint8)
    for place in places:
        blocks[:, place:place + 2] = random.normal(0, 0.1, 2).astype(numpy.float16).view(numpy.uint8).reshape(2, 2)
    values = dequantize(blocks, getattr(Type, name)).reshape(-1)
    read[name] = {"bytes": blocks.reshape(-1).tobytes().hex(), "values": short(values)}

values = numpy.concatenate([random.normal(0, 1, 32), random.normal(0, 1e-6, 32), numpy.zeros(32),
                            [1, -1, 65504, 0.1, 2**-24, 2**-25, 3 * 2**-25, 1 + 2**-11, 1 + 3 * 2**-11, 2047.5] + 22 * [-0.3]])
values = values.astype(numpy.float32)
written = {name: quantize(values, getattr(Type, name)).view(numpy.uint8).tobytes().hex() for name in ("F16", "BF16", "Q8_0")}
with open(os.path.join(here, "gguf_blocks.json"), "w", encoding="utf-8") as file:
    json.dump({"read": read, "values": short(values), "written": written}, file)
    file.write("\n")
