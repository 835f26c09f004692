"""What the scripts of this folder share: some steps of training in PyTorch, and the file that takes their numbers."""
import json
import math
import pathlib
import struct

import torch

LR, BETAS, EPS, CLIP, STEPS = 3e-3, (0.9, 0.98), 1e-9, 1.0, 10


def train(parameters, loss_of, optimizer, our_names=lambda named: named):
    """Golden tensors of STEPS steps on the loss that loss_of() gives: by our parameters' names their values at the
    start (param/), their gradients there (grad/) and their values at the end (after/); and of each step the loss and
    the gradient's norm before clipping. our_names turns a dict by the names of `parameters` into one by ours."""
    def part(prefix, named):
        return {f"{prefix}/{name}": value.detach().clone() for name, value in our_names(named).items()}

    tensors, losses, norms = part("param", parameters), [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        if step == 0:
            tensors.update(part("grad", {name: value.grad for name, value in parameters.items()}))
        # The definition, not torch.nn.utils.clip_grad_norm_, which divides by the norm + 1e-6.
        norm = math.sqrt(sum(float((value.grad ** 2).sum()) for value in parameters.values()))
        for value in parameters.values():
            value.grad *= min(1.0, CLIP / norm)
        losses.append(float(loss))
        norms.append(norm)
        optimizer.step()
    tensors.update(part("after", parameters))
    tensors["losses"] = torch.tensor(losses, dtype=torch.float64)
    tensors["norms"] = torch.tensor(norms, dtype=torch.float64)
    print("losses", losses, "norms", norms)
    return tensors


def write_safetensors(name, models):
    """Writes the tensors of each model, {model: {key: tensor}}, as model/key into the file NAME beside this one."""
    header, data = {}, b""
    for model, tensors in models.items():
        for key, tensor in tensors.items():
            values = tensor.flatten().tolist()
            code, dtype = ("i", "I32") if tensor.dtype == torch.int32 else ("d", "F64")
            piece = struct.pack(f"<{len(values)}{code}", *values)
            header[f"{model}/{key}"] = {"dtype": dtype, "shape": list(tensor.shape),
                                        "data_offsets": [len(data), len(data) + len(piece)]}
            data += piece
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(__file__).with_name(name).write_bytes(struct.pack("<Q", len(text)) + text + data)
