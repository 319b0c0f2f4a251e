"""Small LLaMA checkpoints in every kind of file that Rungs reads, with the logits that each must give.

    python3 make_checkpoints.py             writes references/checkpoints/
    python3 make_checkpoints.py --check     makes them again elsewhere and compares: logits to 1e-12, other files exactly

needs: torch, transformers 4.46, safetensors, gguf 0.19. The .bin files are written from the description of llama2.c's format: a header of
seven numbers, then every weight in a fixed order, the rows of q and k in interleaved pairs. Their logits come from transformers
in float64 all the same, which has the pairs as halves: the permutation between the two is part of what the files test. The
weights of the int8 file are those that its numbers stand for: int8 times the scale of the group, rounded to float32.
"""
import argparse
import filecmp
import json
import shutil
import struct
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from make_quantized import random_blocks
from references.case import reference
from references.llama import arithmetic

HERE = Path(__file__).parent / "references" / "checkpoints"
SEED = 3
NORM = dict(input="input_layernorm", ffn="post_attention_layernorm")


def config_of(V, context, C, F, L, H, G, tied, **more):
    return LlamaConfig(vocab_size=V, max_position_embeddings=context, hidden_size=C, intermediate_size=F, num_hidden_layers=L,
                       num_attention_heads=H, num_key_value_heads=G, tie_word_embeddings=tied, rms_norm_eps=1e-5, hidden_act="silu",
                       rope_theta=10000.0, bos_token_id=1, eos_token_id=2, **more)


def random_weights(config, rng):
    """By the names of Hugging Face; float32. Large enough that every part shows in the logits."""
    model = LlamaForCausalLM(config)
    weights = {}
    for name, value in model.state_dict().items():
        if config.tie_word_embeddings and name == "lm_head.weight":
            continue
        shape = tuple(value.shape)
        array = 1 + 0.3 * rng.standard_normal(shape) if len(shape) == 1 else rng.standard_normal(shape) * 1.5 / shape[-1] ** 0.5
        weights[name] = torch.from_numpy(array.astype(np.float32))
    return weights


def model_of(config, weights, dtype):
    with arithmetic(dtype):
        model = LlamaForCausalLM(config).to(dtype).eval()
    tensors = {name: value.to(dtype) for name, value in weights.items()}
    if config.tie_word_embeddings:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    model.load_state_dict(tensors)
    return model


def run_logits(record, a, model):
    with arithmetic(record.dtype):
        record.out("logits", model(a["tokens"][None], use_cache=False).logits[0], "token", "vocabulary")


def save_reference(directory, config, weights, rng):
    """tokens.npy, logits.npy in float64, and error32: what eight float32 runs were off at most, as for every case."""
    tokens = rng.integers(0, config.vocab_size, config.max_position_embeddings).astype("<i4")
    record, errors = reference(run_logits, {"tokens": tokens}, partial(model_of, config, weights))
    np.save(directory / "tokens.npy", tokens)
    np.save(directory / "logits.npy", record.tensors["logits"][2].astype("<f8"))
    (directory / "reference.json").write_text(json.dumps({"error32": float(f"{errors['logits']:.6g}")}) + "\n")


# llama2.c

def interleaved(weight, heads):
    """Rows of a head from halves (i and i + D/2 are a pair) to neighbours (2i and 2i + 1 are)."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)


def in_layers(config, weights, name):
    return [weights[f"model.layers.{i}.{name}.weight"] for i in range(config.num_hidden_layers)]


def matrices(config, weights):
    q = [interleaved(w, config.num_attention_heads) for w in in_layers(config, weights, "self_attn.q_proj")]
    k = [interleaved(w, config.num_key_value_heads) for w in in_layers(config, weights, "self_attn.k_proj")]
    rest = [w for name in ("self_attn.v_proj", "self_attn.o_proj") for w in in_layers(config, weights, name)]
    ffn = [w for name in ("gate", "down", "up") for w in in_layers(config, weights, f"mlp.{name}_proj")]
    return q + k + rest, ffn


def sizes(config, vocabulary):
    return struct.pack("<7i", config.hidden_size, config.intermediate_size, config.num_hidden_layers, config.num_attention_heads,
                       config.num_key_value_heads, vocabulary, config.max_position_embeddings)


def header(config, version, *more):
    start = struct.pack("<Ii", 0x616B3432, version) + sizes(config, config.vocab_size) + struct.pack("<B", config.tie_word_embeddings)
    return (start + b"".join(more)).ljust(256, b"\0")


def floats(tensors):
    return b"".join(tensor.numpy().astype("<f4").tobytes() for tensor in tensors)


def legacy_bin(config, weights):
    V, D = config.vocab_size, config.hidden_size // config.num_attention_heads
    attention, ffn = matrices(config, weights)
    angle = np.outer(np.arange(config.max_position_embeddings), 10000.0 ** (-np.arange(0, D, 2) / D))
    angles = [torch.from_numpy(np.cos(angle)), torch.from_numpy(np.sin(angle))]
    return sizes(config, V if config.tie_word_embeddings else -V) + floats(
        [weights["model.embed_tokens.weight"], *in_layers(config, weights, NORM["input"]), *attention,
         *in_layers(config, weights, NORM["ffn"]), *ffn, weights["model.norm.weight"], *angles] + output(config, weights))


def output(config, weights):
    return [] if config.tie_word_embeddings else [weights["lm_head.weight"]]


def norms(config, weights):
    return [*in_layers(config, weights, NORM["input"]), *in_layers(config, weights, NORM["ffn"]), weights["model.norm.weight"]]


def version1_bin(config, weights):
    attention, ffn = matrices(config, weights)
    return header(config, 1) + floats([*norms(config, weights), weights["model.embed_tokens.weight"], *attention, *ffn,
                                       *output(config, weights)])


def quantize(weight, group):
    """int8 and the scale of each group: the largest value of a group is 127 scales."""
    groups = weight.reshape(-1, group)
    scales = groups.abs().amax(1) / 127.0
    return torch.round(groups / scales[:, None]).to(torch.int8), scales


def quantized(weights, group):
    """What the int8 file holds, as float32. The groups of a row of q stay together when rows change places."""
    result = {}
    for name, weight in weights.items():
        if weight.dim() == 2:
            numbers, scales = quantize(weight, group)
            weight = (numbers.float() * scales[:, None]).reshape(weight.shape)
        result[name] = weight
    return result


def version2_bin(config, weights, group):
    attention, ffn = matrices(config, weights)
    data = header(config, 2, struct.pack("<i", group)) + floats(norms(config, weights))
    for weight in [weights["model.embed_tokens.weight"], *attention, *ffn, *output(config, weights)]:
        numbers, scales = quantize(weight, group)
        data += numbers.numpy().tobytes() + floats([scales])
    return data


# Hugging Face

def save_directory(directory, config, weights, dtype, shards):
    """In as many files as `shards` says, with their index; one file has no index."""
    config.torch_dtype = dtype
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(directory)
    tensors = {name: value.to(dtype) for name, value in weights.items()}
    if shards == 1:
        return save_file(tensors, directory / "model.safetensors", {"format": "pt"})
    files, names = {}, list(tensors)
    for n in range(shards):
        shard = f"model-{n + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: tensors[name] for name in names[n::shards]}
        save_file(part, directory / shard, {"format": "pt"})
        files |= {name: shard for name in part}
    total = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(files.items()))}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


# GGUF

GGUF_NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
              "post_attention_layernorm": "ffn_norm"}


def gguf_name(name):
    if not name.startswith("model.layers."):
        return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}[name]
    layer, part = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
    return f"blk.{layer}.{GGUF_NAMES[part]}.weight"


def stored_matrix(weight, kind, rng):
    """Its bytes in a file, a row each. The package makes no K-quants: those are random, and about as large as the weight."""
    from gguf import GGMLQuantizationType, quants
    if not kind.endswith("_K"):
        return quants.quantize(weight.numpy(), GGMLQuantizationType[kind])
    rows, columns = weight.shape
    scale = float(weight.std()) / {"Q4_K": 200, "Q6_K": 1350}[kind]
    return random_blocks(rng, kind, rows * columns // 256, scale).reshape(rows, -1)


def save_gguf(path, config, weights, kind_of, rng):
    """Writes the file with the gguf package; norms are f32. Gives the weights that it stands for, under the names of Hugging Face.
    kind_of: the type of a matrix, by its name"""
    from gguf import GGMLQuantizationType, GGUFWriter, quants
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_rope_dimension_count(config.head_dim)
    if config.head_dim != config.hidden_size // config.num_attention_heads:
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    stored = {}
    for name, weight in weights.items():
        if weight.dim() == 1:
            stored[name] = weight
            writer.add_tensor(gguf_name(name), weight.numpy())
            continue
        kind = GGMLQuantizationType[kind_of(name)]
        data = stored_matrix(weight, kind.name, rng)
        stored[name] = torch.from_numpy(quants.dequantize(data, kind).copy())
        data = next((interleaved(torch.from_numpy(data), n).numpy() for part, n in heads.items() if part in name), data)
        writer.add_tensor(gguf_name(name), data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored


def rounded(weights, dtype):
    return {name: value.to(dtype).float() for name, value in weights.items()}


def make(root):
    def begin(name, number):
        directory = root / name
        directory.mkdir(parents=True)
        return directory, np.random.default_rng([SEED, number])

    bins = [("bin_0", config_of(31, 20, 16, 22, 2, 4, 2, True), legacy_bin),
            ("bin_0_untied", config_of(23, 14, 24, 18, 1, 3, 3, False), legacy_bin),
            ("bin_1", config_of(29, 18, 24, 20, 2, 6, 2, False), version1_bin),
            ("bin_1_tied", config_of(26, 12, 16, 18, 1, 2, 1, True), version1_bin)]
    for number, (name, config, to_bytes) in enumerate(bins):
        directory, rng = begin(name, number)
        weights = random_weights(config, rng)
        (directory / "model.bin").write_bytes(to_bytes(config, weights))
        save_reference(directory, config, weights, rng)

    for number, (name, config, group) in enumerate([("bin_2", config_of(30, 16, 24, 16, 2, 4, 2, False), 8),
                                                    ("bin_2_tied", config_of(27, 10, 16, 32, 1, 2, 1, True), 16)]):
        directory, rng = begin(name, 10 + number)
        weights = random_weights(config, rng)
        (directory / "model.bin").write_bytes(version2_bin(config, weights, group))
        save_reference(directory, config, quantized(weights, group), rng)

    for number, (name, dtype, shards, tied) in enumerate([("sharded_f32", torch.float32, 3, False), ("sharded_bf16", torch.bfloat16, 2, True),
                                                          ("single_f16", torch.float16, 1, False)]):
        directory, rng = begin(name, 20 + number)
        config = config_of(28 + number, 16, 16, 20, 2, 4, 2, tied, head_dim=6)
        weights = rounded(random_weights(config, rng), dtype)
        save_directory(directory, config, weights, dtype, shards)
        save_reference(directory, config, weights, rng)


    for number, kind in enumerate(["F32", "F16", "BF16", "Q8_0", "Q4_0"]):
        directory, rng = begin(f"gguf_{kind.lower()}", 30 + number)
        config = config_of(40 + number, 20, 32, 64, 2, 4, 2, number % 2 == 1)
        weights = random_weights(config, rng)
        save_reference(directory, config, save_gguf(directory / "model.gguf", config, weights, lambda _: kind, rng), rng)

    directory, rng = begin("gguf_q4_k_m", 35)  # types mixed, as files called Q4_K_M have them; the rows of o are too short
    config = config_of(40, 20, 256, 256, 1, 2, 1, False, head_dim=16)
    in_6_bits = ("v_proj", "down_proj", "embed_tokens", "lm_head")
    save_reference(directory, config, save_gguf(
        directory / "model.gguf", config, random_weights(config, rng),
        lambda name: "Q8_0" if "o_proj" in name else "Q6_K" if any(part in name for part in in_6_bits) else "Q4_K", rng), rng)


def check(root):
    problems = []
    for path in sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file()):
        ours, theirs = root / path, HERE / path
        if path.name == "logits.npy":
            if not np.allclose(np.load(ours), np.load(theirs), rtol=0, atol=1e-12):
                problems.append(path)
        elif path.name not in ("reference.json", "config.json") and not filecmp.cmp(ours, theirs, shallow=False):
            problems.append(path)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    if not parser.parse_args().check:
        shutil.rmtree(HERE, ignore_errors=True)
        return make(HERE)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "made")
        problems = check(Path(folder) / "made")
    print("differs: " + ", ".join(map(str, problems)) if problems else "the same")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
