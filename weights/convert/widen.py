"""A trained LLaMA in a larger shape: the same function at the cost of the larger one.

    python3 widen.py FROM TO --width 768 --layers 12 --heads 12 --ffn 2048 [--kv-heads N] [--vocab N] [--context N] [--dtype f32]

needs: numpy. Reads weights in bf16 or f32. Writes bf16, to which the weights that grow are rounded, or f32.

A benchmark of speculative decoding needs two models that agree as trained ones do, and that cost what models of their sizes
cost. Ours are small. So the larger shape holds the small model among zeros (function-preserving growth: Chen, Goodfellow and
Shlens 2016, "Net2Net"), and a product with zeros takes as long as any other:

  width     the channels behind the model's own stay 0. RMSNorm divides by the root of the mean over all channels, which is
            smaller by sqrt(own / all): the norm's weights and its epsilon make up for it.
  heads     further ones have queries, keys and values of 0 and give 0. Keys and values that query heads shared are written
            for each head, where the larger shape shares less.
  head      in a wider head the first pairs turn as before, since the base of the angles becomes
            theta ** (new half / old half), and the others are 0. wq grows by the root of the quotient of widths, which
            attention divides by.
  layers    further ones add 0.
  words     further ones, if --vocab asks for them, are never chosen: one more channel holds a small constant, and their row
            of the output has a large negative number there. The tokenizer gets names for them that no text has.
"""
import argparse
import json
import math
import shutil
import struct
import sys
from pathlib import Path

import numpy as np

CONSTANT = 2 ** -7  # in the channel that every token has: its square changes the mean of squares by less than 1e-6 of it


def read(folder):
    with open(folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        raw = data[begin:end]
        if about["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        elif about["dtype"] == "F32":
            values = np.frombuffer(raw, "<f4")
        else:
            sys.exit(f"{folder}: {name}: wanted BF16 or F32, found {about['dtype']}")
        tensors[name] = values.reshape(about["shape"]).astype(np.float64)
    return tensors


def in_bf16(values):
    bits = values.astype("<f4").view("<u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("<u2")  # to the nearest, of two to the even one


def write(folder, tensors, dtype):
    header, at = {}, 0
    for name, values in tensors.items():
        size = values.size * (2 if dtype == "bf16" else 4)
        header[name] = {"dtype": dtype.upper(), "shape": list(values.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write((in_bf16(values) if dtype == "bf16" else values.astype("<f4")).tobytes())


def among_zeros(block, rows, columns):
    out = np.zeros((rows, columns))
    out[:block.shape[0], :block.shape[1]] = block
    return out


def heads_of(weight, old_head, new_head, share, heads):
    """Rows of each head (old_head, C) among those of a wider one; each head is written `share` times. What a head's rows
    are paired with, half a head away, stays half a head away."""
    columns = weight.shape[1]
    out = np.zeros((heads, 2, new_head // 2, columns))
    old = weight.reshape(-1, 2, old_head // 2, columns)
    old = np.repeat(old, share, axis=0)
    out[:old.shape[0], :, :old_head // 2] = old
    return out.reshape(heads * new_head, columns)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    for option in ("width", "layers", "heads", "ffn"):
        parser.add_argument(f"--{option}", type=int, required=True)
    for option in ("kv-heads", "vocab", "context"):
        parser.add_argument(f"--{option}", type=int, default=0)
    parser.add_argument("--dtype", choices=("bf16", "f32"), default="bf16")
    wanted = parser.parse_args()

    config = json.loads((wanted.source / "config.json").read_text())
    small = read(wanted.source)
    C, L, H = config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"]
    G, D, V = config["num_key_value_heads"], config.get("head_dim") or C // H, config["vocab_size"]
    F = config["intermediate_size"]
    width, heads, words = wanted.width, wanted.heads, wanted.vocab or V
    kv_heads, head = wanted.kv_heads or heads, width // heads
    more_words = words > V
    if width % heads or heads % kv_heads or head % 2:
        sys.exit("the width must be a multiple of the heads, these of the kv-heads, and a head's width even")
    if (width < C + more_words or wanted.layers < L or heads < H or wanted.ffn < F or words < V or head < D
            or (H // G) % (heads // kv_heads) or kv_heads < G * (H // G) // (heads // kv_heads)):
        sys.exit(f"{wanted.source} does not fit into that shape: it has width {C}, {L} layers, {H} heads of {D} for {G} of keys, "
                 f"ffn {F}, {V} words")
    share = (H // G) // (heads // kv_heads)  # how often the keys of a head are written
    norm_scale = math.sqrt(C / width)

    def norm(weight):
        out = np.zeros(width)
        out[:C] = weight * norm_scale
        return out

    embedding = among_zeros(small["model.embed_tokens.weight"], words, width)
    output = among_zeros(small.get("lm_head.weight", small["model.embed_tokens.weight"]), words, width)
    final = norm(small["model.norm.weight"])
    if more_words:
        embedding[:, C] = CONSTANT
        final[C] = 1
        output[V:, C] = -2 ** 20  # times that constant over the root of the mean: far below any logit
    tensors = {"model.embed_tokens.weight": embedding}
    for i in range(wanted.layers):
        name = f"model.layers.{i}."

        def own(part, rows, columns):
            return small[name + part] if i < L else np.zeros((rows, columns))

        q = heads_of(own("self_attn.q_proj.weight", H * D, C), D, head, 1, heads) * math.sqrt(head / D)
        k = heads_of(own("self_attn.k_proj.weight", G * D, C), D, head, share, kv_heads)
        v = heads_of(own("self_attn.v_proj.weight", G * D, C), D, head, share, kv_heads)
        o = heads_of(own("self_attn.o_proj.weight", C, H * D).T, D, head, 1, heads).T
        for part, weight, rows, columns in (("self_attn.q_proj", q, heads * head, width), ("self_attn.k_proj", k, kv_heads * head, width),
                                            ("self_attn.v_proj", v, kv_heads * head, width), ("self_attn.o_proj", o, width, heads * head),
                                            ("mlp.gate_proj", own("mlp.gate_proj.weight", F, C), wanted.ffn, width),
                                            ("mlp.up_proj", own("mlp.up_proj.weight", F, C), wanted.ffn, width),
                                            ("mlp.down_proj", own("mlp.down_proj.weight", C, F), width, wanted.ffn)):
            tensors[name + part + ".weight"] = among_zeros(weight, rows, columns)
        for part in ("input_layernorm", "post_attention_layernorm"):
            tensors[name + part + ".weight"] = norm(small[name + part + ".weight"] if i < L else np.ones(C))
    tensors["model.norm.weight"] = final
    tensors["lm_head.weight"] = output

    config.update(hidden_size=width, num_hidden_layers=wanted.layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
                  head_dim=head, intermediate_size=wanted.ffn, vocab_size=words, tie_word_embeddings=False,
                  torch_dtype={"bf16": "bfloat16", "f32": "float32"}[wanted.dtype],
                  rms_norm_eps=config["rms_norm_eps"] * C / width, rope_theta=config["rope_theta"] ** (head / D),
                  max_position_embeddings=wanted.context or config["max_position_embeddings"])
    wanted.target.mkdir(parents=True, exist_ok=True)
    write(wanted.target, tensors, wanted.dtype)
    (wanted.target / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for name in ("tokenizer_config.json", "generation_config.json"):
        if (wanted.source / name).exists():
            shutil.copy(wanted.source / name, wanted.target / name)
    tokenizer = json.loads((wanted.source / "tokenizer.json").read_text())
    tokenizer.setdefault("added_tokens", []).extend(
        {"id": i, "content": f"<unused {i}>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i in range(V, words))
    (wanted.target / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))


if __name__ == "__main__":
    main()
