#!/usr/bin/python3
"""Writes the folders beside it: tiny models with random weights, made and saved by Hugging Face's transformers, and for
each the logits that transformers computes (expected.safetensors), in f32 of the weights as they were saved. The tests of
tests/train/interchange read them.

Needs transformers and PyTorch: python3 make_golden.py (made with transformers 5.12, PyTorch 2.14)
"""
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertForMaskedLM, BertForPreTraining, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

HERE = pathlib.Path(__file__).parent
SPECIAL = ["<|endoftext|>", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = list(" abcdefghijklmnopqrstuvw")
VOCAB = len(LETTERS) + len(SPECIAL) + 2  # two more than the tokenizer has, as models often have
GATED = dict(vocab_size=VOCAB, hidden_size=12, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, max_position_embeddings=64, bos_token_id=None, eos_token_id=None, pad_token_id=None)
ONE = dict(num_hidden_layers=1)
BERT = dict(vocab_size=VOCAB, hidden_size=12, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
            max_position_embeddings=16, pad_token_id=len(LETTERS) + 1)
# The scaling of Llama 3.1, with an original context so short that all three of its cases occur.
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=24)

# name: (model, dtype, options of save_pretrained)
MODELS = {
    "gpt2": (GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=16, n_embd=12, n_layer=2, n_head=2, n_inner=20,
                                        bos_token_id=24, eos_token_id=24)), torch.float32, dict(max_shard_size="6KB")),
    "gpt2-erf": (GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=16, n_embd=8, n_layer=1, n_head=2,
                                            activation_function="gelu", layer_norm_epsilon=0.01,
                                            scale_attn_weights=False, tie_word_embeddings=False, bos_token_id=24,
                                            eos_token_id=24)), torch.float16, {}),
    "llama": (LlamaForCausalLM(LlamaConfig(**GATED, rope_parameters=LLAMA3, attention_bias=True, mlp_bias=True)),
              torch.bfloat16, {}),
    "llama-tied": (LlamaForCausalLM(LlamaConfig(**(GATED | ONE | dict(num_key_value_heads=2)), tie_word_embeddings=True,
                                                rms_norm_eps=0.01)), torch.float16, {}),
    "qwen2": (Qwen2ForCausalLM(Qwen2Config(**(GATED | ONE), rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=2.0))),
              torch.bfloat16, {}),
    "qwen3": (Qwen3ForCausalLM(Qwen3Config(**(GATED | ONE), head_dim=8, tie_word_embeddings=True)), torch.bfloat16, {}),
    "bert": (BertForPreTraining(BertConfig(**BERT, layer_norm_eps=0.01)), torch.bfloat16, {}),
    "bert-untied": (BertForMaskedLM(BertConfig(**BERT, tie_word_embeddings=False)), torch.float16, {}),
}


def write_tokenizer():
    """One token for each letter, in the format of the library `tokenizers`."""
    vocab = {text: i for i, text in enumerate(LETTERS + SPECIAL)}
    added = [dict(id=vocab[text], content=text, single_word=False, lstrip=False, rstrip=False, normalized=False,
                  special=True) for text in SPECIAL]
    split = dict(type="Split", pattern=dict(Regex=r"[\s\S]"), behavior="Isolated", invert=False)
    file = dict(version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None, pre_tokenizer=split,
                post_processor=None, decoder=dict(type="Fuse"),
                model=dict(type="WordLevel", vocab=vocab, unk_token="<unk>"))
    (HERE / "tokenizer.json").write_text(json.dumps(file, ensure_ascii=False))


def main():
    write_tokenizer()
    for number, (name, (model, dtype, options)) in enumerate(MODELS.items()):
        generator = torch.Generator().manual_seed(number)
        with torch.no_grad():
            for parameter_name, parameter in model.named_parameters():
                mean = 1.0 if parameter.dim() == 1 and parameter_name.endswith("weight") else 0.0
                parameter.copy_(mean + 0.3 * torch.randn(parameter.shape, generator=generator))
            model.to(dtype)
            if name == "bert-untied":  # the scores have one bias, which the file has twice
                model.cls.predictions.bias.copy_(model.cls.predictions.decoder.bias)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder, **options)
        (folder / "generation_config.json").unlink(missing_ok=True)
        # Read again: the conversion has rounded the constants of the rotary positions too.
        model = type(model).from_pretrained(folder, dtype=torch.float32).eval()
        length = model.config.max_position_embeddings
        ids = torch.randint(0, len(LETTERS), (2, 16) if length == 16 else (1, 32), generator=generator)
        tensors = dict(ids=ids.int())
        with torch.no_grad():
            if "bert" in name:
                tensors["segments"] = (torch.arange(length) >= length // 2).int().expand_as(ids).contiguous()
                out = model(ids, token_type_ids=tensors["segments"].long())
                tensors["logits"] = getattr(out, "logits", None) if name != "bert" else out.prediction_logits
                if name == "bert":
                    tensors["next_sentence"] = out.seq_relationship_logits
            else:
                tensors["logits"] = model(ids).logits
        save_file({key: value.contiguous() for key, value in tensors.items()}, folder / "expected.safetensors")


main()
