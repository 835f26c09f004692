#!/usr/bin/env python3
"""Writes pieces.json: tokenizers of the kinds that published models have, and their ids by Hugging Face's tokenizers.

Nothing here is needed to build or test. It takes Python and its package tokenizers 0.23; the tokenizers are learned from
text.txt beside it. "base" names a file, and "change" what differs from it (a JSON merge patch), so that a vocabulary is
stored once. Text is encoded with special tokens found in it and none put around it.
  make_pieces.py [TEXTS.json OUT.json]      other texts than those below, to compare many
"""
import json
import os
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = os.path.dirname(os.path.abspath(__file__))
text = open(os.path.join(here, "text.txt"), encoding="utf-8").read()
SIGN = "\u2581"

TEXTS = [line for line in text.split("\n") if line] + [
    "", " ", "  ", "\n", "\t", "a", " a", "  a  b ", "a\n\nb", "\r\n", "x" * 120, "x" * 100, " " * 40 + "x", SIGN, "a" + SIGN + "b " + SIGN,
    "<s>", "<s>hello</s>", "a <s> b", "<s> <s>  </s>x", "<unk>", "<|user|>  hi<|user|>\n\n hi", "x  <keep>  y", "<keep><keep>", "<|user",
    "[CLS] a [SEP]", "x[MASK]y", "  [MASK]  ", "[mask]", "##a", "don't won't it's we've they're I'm", "a.b,c?d!e", "'' ' x'", "$1,234.56",
    "\u00e9\u00e8\u00ea \u00c9COLE \u00c5ngstr\u00f6m", "e\u0301\u0327 a\u0327\u0301 \u1e69\u0323", "\u212b \u2126 \uf900 \U0002f800",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "\u4f60\u597d\u4e16\u754c hello \u3042", "\U00020000x\U0002b820y\U0002b920z", "\u0130\u0131 I\u0307 \u1e9e \u03a3\u03c3\u03c2",
    "\u200b\u200d\ufeff\u00ad\u2066x\u0000y\ufffdz", "a\u00a0b\u2003c\u3000d\u2028e\u0085f", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\u0928\u093f\u0940 \u0e01\u0e33",
    "\u166d\U000111c9\u2e43\u3001\u300c\u00bf", "1a2b 12  3\n4", "x \u00b2\u00bd\u2167 \u0661\u0662", "the The THE tHe", "\U0001d15e\U0001d165\U0001d16d", "\u0f71\u0f72\u0f74 \u0344\u0340",
    "ab " * 60, "\u00fc" * 90, "a\u0301" * 40, "Ich m\u00f6chte \u201eKaffee\u201c\u2026", "\u05d0\u05b0\u05d1 \u0623\u0654\u0628\u064e",
]


def as_json(tokenizer):
    return json.loads(tokenizer.to_str())


def learned(model, trainer, normalizer, pre_tokenizer):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.train_from_iterator(text.split("\n"), trainer)
    return as_json(tokenizer)


def added(index, content, special=True, normalized=False, lstrip=False, rstrip=False):
    return {"id": index, "content": content, "single_word": False, "lstrip": lstrip, "rstrip": rstrip,
            "normalized": normalized, "special": special}


def llama():
    """As Llama 2's file, with its bytes, and tokens of Phi-3's kind behind the vocabulary."""
    found = learned(models.BPE(), trainers.BpeTrainer(vocab_size=420, special_tokens=[], show_progress=False), None,
                    pre_tokenizers.Metaspace(prepend_scheme="always"))["model"]
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    names += [token for token in sorted(found["vocab"], key=found["vocab"].get) if token != "\u00b2"]
    vocab = {name: index for index, name in enumerate(names)}
    end = len(names)
    tokens = [added(index, names[index]) for index in range(3)]
    tokens += [added(end, "<|user|>", rstrip=True), added(end + 1, "<keep>", special=False, lstrip=True)]
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": vocab,
             "merges": [merge for merge in found["merges"] if "\u00b2" not in "".join(merge)]}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SIGN}
    back = {"type": "Replace", "pattern": {"String": SIGN}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    sequence = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    template = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B:1", special_tokens=[("<s>", 1)])
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SIGN}, replace]},
            "pre_tokenizer": None, "post_processor": json.loads(template.__getstate__()),
            "decoder": {"type": "Sequence", "decoders": [back] + sequence + [strip]}, "model": model}


def bert():
    """As BERT's file, uncased; the vocabulary has upper-case letters too, for the variants."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=700, special_tokens=special, show_progress=False)
    file = learned(models.WordPiece(unk_token="[UNK]"), trainer, normalizers.BertNormalizer(lowercase=False, strip_accents=False),
                   pre_tokenizers.BertPreTokenizer())
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return as_json(tokenizer)


def merged(file, change):
    if not isinstance(change, dict):
        return change
    out = dict(file) if isinstance(file, dict) else {}
    for key, value in change.items():
        out[key] = merged(out.get(key), value) if value is not None else None
    return out


def variants(files):
    metaspace = lambda scheme, split: {"normalizer": None, "pre_tokenizer": {
        "type": "Metaspace", "replacement": SIGN, "prepend_scheme": scheme, "split": split}}
    replace = files["llama"]["normalizer"]["normalizers"][1]
    tokens = files["llama"]["added_tokens"]
    normalized = [dict(token, normalized=True, lstrip=False, rstrip=False) for token in tokens]
    bert_rules = lambda **rules: {"normalizer": merged(files["bert"]["normalizer"], rules)}
    split = lambda regex: {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    byte_level = lambda regex: {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": regex}
    qwen2 = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
             "\\s+(?!\\S)|\\s+")
    return [
        ("llama", "llama", {}),
        ("normalized tokens", "llama", {"added_tokens": normalized}),
        ("gemma", "llama", {"normalizer": replace, "pre_tokenizer": {
            "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
            "decoder": {"type": "Sequence", "decoders": files["llama"]["decoder"]["decoders"][:3]}}),
        ("metaspace first", "llama", metaspace("first", False)),
        ("metaspace always", "llama", metaspace("always", True)),
        ("metaspace never", "llama", dict(metaspace("never", False), decoder={"type": "Sequence", "decoders": [
            {"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": SIGN, "prepend_scheme": "never", "split": False}]})),
        ("metaspace of normalized tokens", "llama", dict(metaspace("always", True), added_tokens=normalized)),
        ("unknown characters", "llama", {"model": {"byte_fallback": False}}),
        ("unknown characters one by one", "llama", {"model": {"byte_fallback": False, "fuse_unk": False}}),
        ("bert", "bert", {}),
        ("cased", "bert", bert_rules(lowercase=False)),
        ("lower case with accents", "bert", bert_rules(strip_accents=False)),
        ("without accents", "bert", bert_rules(strip_accents=True, lowercase=False)),
        ("not cleaned", "bert", bert_rules(clean_text=False, handle_chinese_chars=False)),
        ("short words", "bert", {"model": {"max_input_chars_per_word": 6}, "decoder": {"cleanup": False}}),
        ("qwen2", "gpt2", {"normalizer": {"type": "NFC"}, "pre_tokenizer": {
            "type": "Sequence", "pretokenizers": [split(qwen2), byte_level(False)]}}),
        ("smollm", "gpt2", {"pre_tokenizer": {
            "type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level(True)]}}),
    ]


def main():
    texts = json.load(open(sys.argv[1], encoding="utf-8")) if len(sys.argv) > 1 else TEXTS
    out = sys.argv[2] if len(sys.argv) > 1 else os.path.join(here, "pieces.json")
    files = {"llama": llama(), "bert": bert()}
    known = dict(files, gpt2=json.load(open(os.path.join(here, "gpt2.json"), encoding="utf-8")))
    tokenizers = []
    for name, base, change in variants(files):
        tokenizer = Tokenizer.from_str(json.dumps(merged(known[base], change)))
        ids = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
        decoded = [tokenizer.decode(list_of_ids, skip_special_tokens=False) for list_of_ids in ids]
        tokenizers.append({"name": name, "base": base, "change": change, "ids": ids, "decoded": decoded})
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"texts": texts, "files": files, "tokenizers": tokenizers}, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


main()
