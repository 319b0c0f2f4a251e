"""Tiny LLaMAs in the layout of Hugging Face for lessons 15 and 20, run by transformers' LlamaForCausalLM in float64.

needs: torch, transformers 4.46.
"""
import json
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from references.head_cases import rms_norm, apply_rope, split_heads
from references.values import Sizes, linear_weight, norm_weight, normal
from train.hybrid import sdpa

# The models. Between them: G = H, 1 < G < H and G = 1; D = C/H and not; tied and not; every kind of rope scaling; f32,
# f16 and bf16; config.json as old files have it, as newer ones do, and as the newest do.

MODELS = {
    "mha": dict(V=31, context=24, C=12, F=20, L=2, H=3, G=3, D=4, epsilon=1e-5, form="old"),
    "gqa": dict(V=37, context=32, C=16, F=22, L=2, H=4, G=2, D=4, epsilon=1e-6, theta=500000.0, tied=True),
    "mqa": dict(V=29, context=28, C=10, F=14, L=3, H=5, G=1, D=6, epsilon=1e-5, theta=100.0),
    "wide": dict(V=33, context=30, C=18, F=16, L=2, H=6, G=3, D=8, epsilon=0.01, tied=True, form="newest"),
    "linear": dict(V=26, context=40, C=12, F=18, L=2, H=4, G=2, D=6, epsilon=1e-5, form="old", dtype="float16",
                   scaling={"type": "linear", "factor": 2.5}),
    "llama3": dict(V=35, context=48, C=14, F=24, L=2, H=6, G=2, D=16, epsilon=1e-5, theta=500.0, eos=[2, 4, 7],
                   scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                            "original_max_position_embeddings": 32}),
    "dynamic": dict(V=27, context=36, C=12, F=20, L=2, H=3, G=1, D=8, epsilon=1e-5, scaling={"type": "dynamic", "factor": 4.0}),
    "bf16": dict(V=41, context=26, C=16, F=28, L=2, H=4, G=2, D=8, epsilon=1e-5, theta=500000.0, tied=True, dtype="bfloat16"),
    "newest_llama3": dict(V=30, context=40, C=12, F=16, L=1, H=2, G=1, D=12, epsilon=1e-5, theta=200.0, dtype="bfloat16", form="newest",
                          scaling={"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
                                   "original_max_position_embeddings": 24}),
}
STORIES = "stories"
BOS = 1


def path_of(name):
    return name if name == STORIES else f"references/models/llama_{name}"


def shape(name, seed):
    """The sizes of a model. Another seed than the committed one has other sizes."""
    sizes, m = Sizes(seed), dict(MODELS[name])
    if sizes.more:
        m["H"], m["G"] = sizes.heads(m["H"], m["G"])
        m["D"] = sizes.width(m["D"])
        m |= {letter: m[letter] + sizes.more for letter in ("V", "context", "C", "F")}
    return m


def config_json(m):
    """What config.json of such a model says, in the form of its time."""
    form, dtype, theta, scaling = m.get("form", "newer"), m.get("dtype", "float32"), m.get("theta", 10000.0), m.get("scaling")
    config = {"architectures": ["LlamaForCausalLM"], "bos_token_id": BOS, "eos_token_id": m.get("eos", 2), "hidden_act": "silu",
              "hidden_size": m["C"], "initializer_range": 0.02, "intermediate_size": m["F"], "max_position_embeddings": m["context"],
              "model_type": "llama", "num_attention_heads": m["H"], "num_hidden_layers": m["L"], "pretraining_tp": 1,
              "rms_norm_eps": m["epsilon"], "rope_scaling": scaling, "tie_word_embeddings": m.get("tied", False),
              "torch_dtype": dtype, "use_cache": True, "vocab_size": m["V"]}
    if form == "old" and m["G"] == m["H"] and m["D"] * m["H"] == m["C"] and theta == 10000.0:
        return config
    config |= {"attention_bias": False, "head_dim": m["D"], "mlp_bias": False, "num_key_value_heads": m["G"], "rope_theta": theta}
    if form == "newest":
        rope = {"rope_theta": config.pop("rope_theta"), "rope_type": "default", **(config.pop("rope_scaling") or {})}
        config |= {"rope_parameters": rope, "dtype": config.pop("torch_dtype")}
    return dict(sorted(config.items()))


def read_config(directory):
    """LlamaConfig of a directory; the newest form is put into the words of transformers 4.46."""
    config = json.loads((directory / "config.json").read_text())
    rope = config.pop("rope_parameters", None)
    if rope:
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    return LlamaConfig(**config, attn_implementation="eager")


def random_weights(rng, model):
    """Distinct heads, norms away from 1, scores that spread, no token that wins everywhere."""
    tensors = {}
    for name, value in sorted(model.state_dict().items()):
        if name.endswith("norm.weight"):
            array = norm_weight(rng, len(value))
        elif "embed_tokens" in name:
            array = normal(rng, *value.shape, scale=0.7 if model.config.tie_word_embeddings else 1.5)
        else:
            array = linear_weight(rng, *value.shape, 1.6 if "q_proj" in name or "k_proj" in name else 2.0 if "lm_head" in name else 1.3)
        tensors[name] = torch.from_numpy(array)
    if model.config.tie_word_embeddings:
        del tensors["lm_head.weight"]
    return tensors


# transformers in float64

@contextmanager
def arithmetic(dtype):
    """LlamaForCausalLM names float32 for its norms, softmax and angles. In a float64 run that name means float64."""
    to_float, float32 = torch.Tensor.float, torch.float32
    if dtype == torch.float64:
        torch.Tensor.float, torch.float32 = torch.Tensor.double, torch.float64
    try:
        yield
    finally:
        torch.Tensor.float, torch.float32 = to_float, float32


@lru_cache(maxsize=2)
def load(directory, dtype):
    """Weights in whatever dtype they are stored, exactly; arithmetic in `dtype`."""
    tensors = {name: value.float() for name, value in load_file(Path(directory) / "model.safetensors").items()}
    config = read_config(Path(directory))
    if config.tie_word_embeddings:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    with arithmetic(dtype):
        model = LlamaForCausalLM(config).to(dtype).eval()
    model.load_state_dict(tensors)
    return model


def forward(model, dtype, tokens, cache=None):
    """Tokens of one sequence -> logits (T, V), and what stands between: x, layers.I.x, normed, each (T, C)."""
    between = {}
    keep = lambda name: lambda module, inputs, output: between.update({name: (output[0] if isinstance(output, tuple) else output)[0]})
    named = {"x": model.model.embed_tokens, "normed": model.model.norm}
    named |= {f"layers.{i}.x": layer for i, layer in enumerate(model.model.layers)}
    hooks = [module.register_forward_hook(keep(name)) for name, module in named.items()]
    with arithmetic(dtype):
        logits = model(torch.as_tensor(tokens, dtype=torch.int64)[None], past_key_values=cache, use_cache=cache is not None).logits[0]
    for hook in hooks:
        hook.remove()
    return logits, between


def check_llama(directory):
    """transformers' model in float64 equals one put together from the parts of lessons 10 to 13 and the scalings of their papers."""
    model = load(directory, torch.float64)
    c, w = model.config, model.state_dict()
    D, context = model.model.layers[0].self_attn.head_dim, c.max_position_embeddings
    tokens = torch.arange(context) % c.vocab_size
    frequency = c.rope_theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    scaling = c.rope_scaling or {}
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind == "linear":
        frequency = frequency / scaling["factor"]
    if kind == "llama3":
        turns = scaling["original_max_position_embeddings"] * frequency / (2 * np.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        frequency = torch.lerp(frequency / scaling["factor"], frequency, ((turns - low) / (high - low)).clamp(0, 1))
    angle = torch.outer(torch.arange(context).double(), frequency)
    x = w["model.embed_tokens.weight"][tokens]
    linear = lambda y, name: functional.linear(y, w[f"{name}.weight"])
    for i in range(c.num_hidden_layers):
        layer = f"model.layers.{i}."
        normed = rms_norm(x, w[layer + "input_layernorm.weight"], c.rms_norm_eps)
        q, k, v = (split_heads(linear(normed, f"{layer}self_attn.{name}_proj"), heads) for name, heads in
                   (("q", c.num_attention_heads), ("k", c.num_key_value_heads), ("v", c.num_key_value_heads)))
        q, k = (apply_rope(t, angle.cos(), angle.sin(), 0) for t in (q, k))
        x = x + linear(sdpa(q, k, v).flatten(1), layer + "self_attn.o_proj")
        normed = rms_norm(x, w[layer + "post_attention_layernorm.weight"], c.rms_norm_eps)
        hidden = functional.silu(linear(normed, layer + "mlp.gate_proj")) * linear(normed, layer + "mlp.up_proj")
        x = x + linear(hidden, layer + "mlp.down_proj")
    with torch.no_grad():
        got = linear(rms_norm(x, w["model.norm.weight"], c.rms_norm_eps), "lm_head")
        assert (got - forward(model, torch.float64, tokens)[0]).abs().max() < 1e-12, directory


def save_models(root, seed):
    """Write the models of lessons 15 and 20."""
    for number, name in enumerate(MODELS):
        m, directory = shape(name, seed), root / "models" / f"llama_{name}"
        directory.mkdir(parents=True, exist_ok=True)
        config = config_json(m)
        (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        generation = {"_from_model_config": True, "bos_token_id": BOS, "eos_token_id": config["eos_token_id"]}
        (directory / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
        tensors = random_weights(np.random.default_rng([seed, 15, number]), LlamaForCausalLM(read_config(directory)))
        dtype = getattr(torch, m.get("dtype", "float32"))
        save_file({key: value.to(dtype) for key, value in tensors.items()}, directory / "model.safetensors", {"format": "pt"})
        check_llama(directory)
