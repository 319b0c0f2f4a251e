"""Directories that Rungs (and transformers) reads, made from Meta's own LLaMA files.

    python3 convert_meta.py FROM TO         FROM holds params.json, consolidated.00.pth, ..., and tokenizer.model; TO is a new directory
    python3 convert_meta.py --self-test     makes tiny checkpoints of one and two shards and compares logits (needs transformers 4.46)

needs: torch, safetensors.

A model of several files was split for several GPUs: each holds some rows of what is computed for each head or channel (wq, wk, wv, w1,
w3, output), some columns of what sums over them (wo, w2), and a part of the embedding: columns in LLaMA 1 and 2, rows in LLaMA 3.
Norms are whole in each. Meta pairs neighbouring elements of a head for its rotary positions; Hugging Face pairs the
two halves. So the rows of wq and wk change places: rows 2i and 2i + 1 of a head become rows i and i + D/2.
"""
import argparse
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file

ROWS, COLUMNS, WHOLE = 0, 1, None
NAMES = {"attention_norm": ("input_layernorm", WHOLE), "ffn_norm": ("post_attention_layernorm", WHOLE),
         "attention.wq": ("self_attn.q_proj", ROWS), "attention.wk": ("self_attn.k_proj", ROWS),
         "attention.wv": ("self_attn.v_proj", ROWS), "attention.wo": ("self_attn.o_proj", COLUMNS),
         "feed_forward.w1": ("mlp.gate_proj", ROWS), "feed_forward.w3": ("mlp.up_proj", ROWS),
         "feed_forward.w2": ("mlp.down_proj", COLUMNS)}
SHARD_BYTES = 4 << 30


class Problem(Exception):
    """A sentence for the person who runs this."""


def halves(weight, heads):
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def joined(shards, name, axis):
    """One tensor of the parts that the files hold; norms are the same in each."""
    parts = []
    for path, shard in shards:
        if name not in shard:
            raise Problem(f"{path}: {name}: wanted this tensor, found none")
        parts.append(shard[name])
    return parts[0] if axis is WHOLE else torch.cat(parts, axis)


def embedding(shards, width):
    """Columns, unless the parts are as wide as the model: then rows."""
    narrow = len(shards) > 1 and shards[0][1]["tok_embeddings.weight"].shape[1] < width
    return joined(shards, "tok_embeddings.weight", COLUMNS if narrow else ROWS)


def sizes_of(params, embedded, shards):
    """What params.json says, and what only the tensors tell."""
    for key in ("dim", "n_layers", "n_heads", "norm_eps"):
        if key not in params:
            raise Problem(f"params.json: {key}: wanted a value, found none")
    hidden = joined(shards, "layers.0.feed_forward.w1.weight", ROWS).shape[0]
    return {"V": embedded.shape[0], "C": params["dim"], "L": params["n_layers"], "H": params["n_heads"],
            "G": params.get("n_kv_heads") or params["n_heads"], "F": hidden}


def rope_scaling(params):
    """LLaMA 3.1 and later slow the slow pairs by a factor that params.json leaves to the code: 8, and 32 for the small models of 3.2."""
    if not params.get("use_scaled_rope"):
        return None
    return {"rope_type": "llama3", "factor": float(params.get("rope_scaling_factor", 32 if params["dim"] <= 3072 else 8)),
            "low_freq_factor": 1.0, "high_freq_factor": float(params.get("rope_high_freq_factor", 4)), "original_max_position_embeddings": 8192}


def context_of(params, vocabulary):
    if params.get("max_seq_len"):
        return params["max_seq_len"]
    if params.get("use_scaled_rope"):
        return 131072
    return 8192 if vocabulary > 100000 else 4096


def convert(source, target, context=None):
    source, target = Path(source), Path(target)
    if target.exists():
        raise Problem(f"{target}: wanted a place for a new directory, found something there")
    files = sorted(source.glob("consolidated.*.pth"))
    if not files:
        raise Problem(f"{source}: wanted consolidated.00.pth, found none")
    numbers = [file.name.split(".")[1] for file in files]
    if numbers != [f"{n:02d}" for n in range(len(files))]:
        raise Problem(f"{source}: wanted consolidated.00.pth, .01.pth, ... without a gap, found {', '.join(numbers)}")
    params = json.loads((source / "params.json").read_text())
    shards = [(file, torch.load(file, map_location="cpu")) for file in files]

    embedded = embedding(shards, params["dim"])
    m = sizes_of(params, embedded, shards)
    tensors = {"model.embed_tokens.weight": embedded, "model.norm.weight": joined(shards, "norm.weight", WHOLE)}
    for layer in range(m["L"]):
        for theirs, (ours, axis) in NAMES.items():
            weight = joined(shards, f"layers.{layer}.{theirs}.weight", axis)
            if theirs in ("attention.wq", "attention.wk"):
                weight = halves(weight, m["H"] if theirs == "attention.wq" else m["G"])
            tensors[f"model.layers.{layer}.{ours}.weight"] = weight
    tied = "output.weight" not in shards[0][1]
    if not tied:
        tensors["lm_head.weight"] = joined(shards, "output.weight", ROWS)
    check(tensors, m)

    bos, eos = (128000, [128001, 128008, 128009]) if m["V"] == 128256 else (1, 2)
    dtype = embedded.dtype
    config = {"architectures": ["LlamaForCausalLM"], "attention_bias": False, "bos_token_id": bos, "eos_token_id": eos,
              "head_dim": m["C"] // m["H"], "hidden_act": "silu", "hidden_size": m["C"], "intermediate_size": m["F"],
              "max_position_embeddings": context or context_of(params, m["V"]), "mlp_bias": False, "model_type": "llama",
              "num_attention_heads": m["H"], "num_hidden_layers": m["L"], "num_key_value_heads": m["G"],
              "rms_norm_eps": params["norm_eps"], "rope_scaling": rope_scaling(params), "rope_theta": params.get("rope_theta", 10000.0),
              "tie_word_embeddings": tied, "torch_dtype": str(dtype).removeprefix("torch."), "vocab_size": m["V"]}
    target.mkdir(parents=True)
    save(target, tensors)
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if (source / "tokenizer.model").exists():
        shutil.copy(source / "tokenizer.model", target)


def check(tensors, m):
    """The parts fit together: a wrong axis would show here."""
    C, D = m["C"], m["C"] // m["H"]
    want = {"input_layernorm": (C,), "post_attention_layernorm": (C,), "self_attn.q_proj": (C, C), "self_attn.k_proj": (m["G"] * D, C),
            "self_attn.v_proj": (m["G"] * D, C), "self_attn.o_proj": (C, C), "mlp.gate_proj": (m["F"], C), "mlp.up_proj": (m["F"], C),
            "mlp.down_proj": (C, m["F"])}
    for name, tensor in tensors.items():
        part = ".".join(name.split(".")[3:-1])
        if part in want and tuple(tensor.shape) != want[part]:
            raise Problem(f"{name}: wanted {want[part]}, found {tuple(tensor.shape)}")


def save(target, tensors):
    """One file, or shards of 4 GiB with their index."""
    groups, size = [[]], 0
    for name, tensor in tensors.items():
        bytes_ = tensor.numel() * tensor.element_size()
        if groups[-1] and size + bytes_ > SHARD_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(name)
        size += bytes_
    contiguous = lambda names: {name: tensors[name].contiguous() for name in names}
    if len(groups) == 1:
        return save_file(contiguous(groups[0]), target / "model.safetensors", {"format": "pt"})
    where = {}
    for n, names in enumerate(groups):
        shard = f"model-{n + 1:05d}-of-{len(groups):05d}.safetensors"
        save_file(contiguous(names), target / shard, {"format": "pt"})
        where |= {name: shard for name in names}
        print(f"{shard} written", file=sys.stderr)
    total = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (target / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


# The self-test: a forward pass with neighbouring pairs, as complex numbers turn them, beside transformers on the converted files.

def rms_norm(x, weight, epsilon):
    return x / (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt() * weight


def turned(x, theta):
    """x: (T, heads, D). Neighbours are the real and imaginary part of one number."""
    T, _, D = x.shape
    frequency = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    angle = torch.arange(T, dtype=torch.float64)[:, None, None] * frequency
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], D // 2, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def forward(w, params, tokens):
    """Meta's names, whole tensors, float64 -> logits (T, V)."""
    H, G, epsilon, theta = params["n_heads"], params.get("n_kv_heads") or params["n_heads"], params["norm_eps"], params.get("rope_theta", 10000.0)
    x = w["tok_embeddings.weight"][tokens]
    T, C = x.shape
    hidden = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    for i in range(params["n_layers"]):
        part = lambda name: w[f"layers.{i}.{name}.weight"]
        h = rms_norm(x, part("attention_norm"), epsilon)
        q, k, v = ((h @ part(f"attention.w{letter}").T).reshape(T, heads, C // H) for letter, heads in (("q", H), ("k", G), ("v", G)))
        q, k = turned(q, theta), turned(k, theta)
        k, v = k.repeat_interleave(H // G, 1), v.repeat_interleave(H // G, 1)
        scores = torch.einsum("thd,shd->hts", q, k) / math.sqrt(C // H)
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        x = x + torch.einsum("hts,shd->thd", weights, v).reshape(T, C) @ part("attention.wo").T
        h = rms_norm(x, part("ffn_norm"), epsilon)
        x = x + (torch.nn.functional.silu(h @ part("feed_forward.w1").T) * (h @ part("feed_forward.w3").T)) @ part("feed_forward.w2").T
    return rms_norm(x, w["norm.weight"], epsilon) @ w.get("output.weight", w["tok_embeddings.weight"]).T


def fake_checkpoint(directory, shards, params, V, F, tied, embedding_rows):
    """Random weights under Meta's names, split as Meta splits them; gives the whole tensors."""
    torch.manual_seed(len(shards) + V)
    C, kv = params["dim"], (params.get("n_kv_heads") or params["n_heads"]) * params["dim"] // params["n_heads"]
    shapes = {"tok_embeddings.weight": ((V, C), ROWS if embedding_rows else COLUMNS), "norm.weight": ((C,), WHOLE)}
    if not tied:
        shapes["output.weight"] = ((V, C), ROWS)
    rows = {"wq": C, "wk": kv, "wv": kv}
    for i in range(params["n_layers"]):
        for name, (_, axis) in NAMES.items():
            last = name.split(".")[-1]
            shape = (C,) if axis is WHOLE else (rows[last], C) if last in rows else (C, C) if last == "wo" else (C, F) if last == "w2" else (F, C)
            shapes[f"layers.{i}.{name}.weight"] = (shape, axis)
    whole = {name: 1 + 0.2 * torch.randn(shape) if len(shape) == 1 else torch.randn(shape) * 1.5 / shape[-1] ** 0.5 for name, (shape, _) in shapes.items()}
    for n in shards:
        part = {name: tensor.clone() if shapes[name][1] is WHOLE else tensor.chunk(len(shards), shapes[name][1])[n].clone()
                for name, tensor in whole.items()}
        part["rope.freqs"] = torch.zeros(2)  # old files have it; nobody needs it
        torch.save(part, directory / f"consolidated.{n:02d}.pth")
    (directory / "params.json").write_text(json.dumps(params))
    return whole


def self_test():
    from transformers import LlamaForCausalLM
    llama2 = dict(dim=24, n_layers=2, n_heads=4, norm_eps=1e-5, vocab_size=-1)
    llama3 = dict(dim=32, n_layers=2, n_heads=4, n_kv_heads=2, norm_eps=1e-6, rope_theta=500000.0)
    for params, count, V, F, tied, embedding_rows in ((llama2, 1, 30, 40, False, False), (llama2, 2, 30, 40, False, False),
                                                      (llama3, 1, 36, 48, True, True), (llama3, 2, 36, 48, False, True)):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "meta", Path(folder) / "hf"
            source.mkdir()
            whole = fake_checkpoint(source, range(count), params, V, F, tied, embedding_rows)
            convert(source, target, context=16)
            tokens = torch.randint(0, V, (16,))
            want = forward({name: tensor.double() for name, tensor in whole.items()}, params, tokens)
            model = LlamaForCausalLM.from_pretrained(target, attn_implementation="eager").eval()
            with torch.no_grad():
                got = model(tokens[None]).logits[0].double()
            error = (got - want).abs().max().item()
            print(f"{count} shard(s), {'tied' if tied else 'untied'}: logits up to {want.abs().max():.2f} differ by {error:.2g}")
            assert error < 2e-5, "the converted model is another one"
            wrong = dict(whole, **{name: halves(tensor, params["n_heads"]) for name, tensor in whole.items() if "wq" in name})
            changed = (forward({name: tensor.double() for name, tensor in wrong.items()}, params, tokens) - want).abs().max().item()
            assert changed > 100 * 2e-5, "the test would not see rows of wq in the wrong places"
            (source / "consolidated.00.pth").rename(source / "consolidated.07.pth")
            try:
                convert(source, Path(folder) / "gap")
                raise AssertionError("a gap between the files was not seen")
            except Problem:
                pass
    print("the same")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", metavar="FROM")
    parser.add_argument("target", nargs="?", metavar="TO")
    parser.add_argument("--context", type=int, help="positions that the model knows, which Meta's files do not say")
    parser.add_argument("--self-test", action="store_true")
    a = parser.parse_args()
    if a.self_test:
        return self_test()
    if not a.target:
        parser.error("FROM and TO are wanted")
    try:
        convert(a.source, a.target, a.context)
    except (Problem, OSError) as problem:
        raise SystemExit(f"convert_meta: {problem}") from None


if __name__ == "__main__":
    main()
