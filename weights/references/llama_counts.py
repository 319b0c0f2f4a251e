"""Counts of parameters and cached bytes for lesson 22: every tensor is made, cut or filled, and its elements are counted.

needs: torch 1.13 or newer, transformers 4.46. Models stand on the device "meta", whose tensors have a shape and no memory, so that
one of 70 billion parameters takes no more than a small one.

    parameters          those of transformers' LlamaForCausalLM; of weights/stories those that its file holds
    course_parameters   those of a stack of torch modules, put together as the course counts
    size_of_cache       of the keys and values that LlamaForCausalLM hands back for a prompt of that length
    per_gpu             the parameters cut into the parts that each GPU holds, and the fullest GPU taken
"""
import json
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path

import torch
from safetensors import safe_open
from torch import nn
from torch.overrides import TorchFunctionMode
from transformers import LlamaConfig, LlamaForCausalLM

from references.values import Sizes

STORIES = "stories"
COUNT_TYPES = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32}  # of a cached element, by its bytes

# Published shapes with the number of parameters that is published beside them, and shapes of ours: a head whose width
# is not C/H, tied and not, G of 1, a vocabulary that nobody can deal out evenly, and an F that some cannot.
SHAPES = {
    "tinyllama": dict(L=22, H=32, G=4, C=2048, F=5632, V=32000, context=2048, published=1_100_048_384),
    "llama_2_7b": dict(L=32, H=32, G=32, C=4096, F=11008, V=32000, context=4096, published=6_738_415_616),
    "llama_2_13b": dict(L=40, H=40, G=40, C=5120, F=13824, V=32000, context=4096, published=13_015_864_320),
    "llama_2_70b": dict(L=80, H=64, G=8, C=8192, F=28672, V=32000, context=4096, published=68_976_648_192),
    "llama_3_8b": dict(L=32, H=32, G=8, C=4096, F=14336, V=128256, context=8192, published=8_030_261_248),
    "llama_3_70b": dict(L=80, H=64, G=8, C=8192, F=28672, V=128256, context=8192, published=70_553_706_496),
    "llama_3_2_1b": dict(L=16, H=32, G=8, C=2048, F=8192, V=128256, context=131072, tied=True, published=1_235_814_400),
    "llama_3_2_3b": dict(L=28, H=24, G=8, C=3072, F=8192, V=128256, context=131072, tied=True, published=3_212_749_824),
    "small": dict(L=2, H=4, G=2, C=12, D=6, F=17, V=29, context=24),
    "small_tied": dict(L=3, H=6, G=2, C=10, D=4, F=26, V=31, context=40, tied=True),
    "small_wide": dict(L=1, H=12, G=6, C=8, D=8, F=22, V=37, context=18),
    "small_mqa": dict(L=5, H=8, G=1, C=14, D=2, F=15, V=23, context=32),
}


def path_of(name):
    return name if name == STORIES else f"references/models/shape_{name}"


def shape(name, seed):
    """The sizes of a model. Another seed than the committed one has other sizes where they are ours."""
    sizes, m = Sizes(seed), dict(SHAPES[name])
    if "published" in m:
        return m
    if name != "small_mqa":
        m["H"], m["G"] = sizes.heads(m["H"], m["G"])
    m["D"] = sizes.width(m["D"])
    for letter in ("L", "C", "context", "F", "F", "V", "V"):  # F and V stay odd where they were
        m[letter] += sizes.more
    return m


def save_shapes(root, seed):
    for name in SHAPES:
        m, directory = shape(name, seed), root / "models" / Path(path_of(name)).name
        directory.mkdir(parents=True, exist_ok=True)
        config = {"architectures": ["LlamaForCausalLM"], "head_dim": m.get("D", m["C"] // m["H"]), "hidden_act": "silu",
                  "hidden_size": m["C"], "intermediate_size": m["F"], "max_position_embeddings": m["context"], "model_type": "llama",
                  "num_attention_heads": m["H"], "num_hidden_layers": m["L"], "num_key_value_heads": m["G"], "rms_norm_eps": 1e-05,
                  "rope_theta": 500000.0, "tie_word_embeddings": m.get("tied", False), "torch_dtype": "bfloat16", "vocab_size": m["V"]}
        (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")


# Models without memory

class OnMeta(TorchFunctionMode):
    """New tensors have a shape and no memory."""

    MAKERS = {torch.empty, torch.zeros, torch.ones, torch.full, torch.arange, torch.tensor, torch.rand, torch.randn}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function in self.MAKERS and kwargs.get("device") is None:
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


@contextmanager
def on_meta():
    """torch 1.13 knows no autocast for this device; transformers only asks for none."""
    autocast, torch.autocast = torch.autocast, lambda *_, **__: nullcontext()
    try:
        with OnMeta(), torch.no_grad():
            yield
    finally:
        torch.autocast = autocast


@lru_cache(maxsize=None)
def llama(directory):
    config = LlamaConfig(**json.loads((directory / "config.json").read_text()), attn_implementation="eager")
    with on_meta():
        return LlamaForCausalLM(config).eval()


def count(tensors):
    return sum(tensor.numel() for tensor in tensors)


PARTS = {"embedding": "embed_tokens", "attention": "self_attn", "feed_forward": "mlp", "norms": "norm", "output": "lm_head"}


def parts_of(named):
    """Counts of named tensors by part. A tied output is a tensor that has a name already, and comes once."""
    counts = {part: count(tensor for name, tensor in named if f".{word}." in f".{name}".replace("_layernorm", ".norm"))
              for part, word in PARTS.items()}
    assert sum(counts.values()) == count(tensor for _, tensor in named)
    return counts


def parameters(directory):
    if not (directory / "model.safetensors").exists():
        return parts_of(list(llama(directory).named_parameters()))
    with safe_open(directory / "model.safetensors", "pt") as file:
        stored = [(name, file.get_tensor(name)) for name in file.keys()]
    assert parts_of(stored) == parts_of(list(llama(directory).named_parameters()))
    return parts_of(stored)


def course_parameters(directory):
    c = llama(directory).config
    D = c.head_dim
    plain = lambda width: nn.Linear(c.hidden_size, width, bias=False)
    with on_meta():
        tables = nn.ModuleList([nn.Embedding(c.vocab_size, c.hidden_size), plain(c.vocab_size)])
        attention = nn.ModuleList([nn.ModuleDict({"q": plain(c.num_attention_heads * D), "k": plain(c.num_key_value_heads * D),
                                                  "v": plain(c.num_key_value_heads * D)}) for _ in range(c.num_hidden_layers)])
        feed_forward = nn.ModuleList([nn.Sequential(nn.Linear(c.hidden_size, c.intermediate_size), nn.ReLU(),
                                                    nn.Linear(c.intermediate_size, c.hidden_size))
                                      for _ in range(c.num_hidden_layers)])
    return {"tables": count(tables.parameters()), "attention": count(attention.parameters()),
            "feed_forward": count(feed_forward.parameters())}


def cached(directory, tokens):
    """(key, value) of every layer, each (1, G, tokens, D)."""
    with on_meta():
        return llama(directory)(torch.zeros(1, tokens, dtype=torch.int64), use_cache=True).past_key_values


def size_of_cache(tensors, element_bytes):
    with on_meta():
        stored = [tensor.to(COUNT_TYPES[element_bytes]) for tensor in tensors]
    return sum(tensor.numel() * tensor.element_size() for tensor in stored)


# One GPU of several. A matrix is cut by the rows that it makes, or by the columns that it reads.

def dealt(tensor, gpus, dim):
    return torch.tensor_split(tensor, gpus, dim)


def heads_dealt(tensor, heads, gpus):
    """The rows of whole heads; where there are more GPUs than heads, several GPUs hold the same one."""
    by_head = tensor.reshape(heads, -1, tensor.shape[1])
    if gpus > heads:
        by_head = torch.cat([head for head in by_head.split(1) for _ in range(gpus // heads)])
    return dealt(by_head, gpus, 0)


def on_gpu(model, gpu, gpus):
    c = model.config
    for name, tensor in model.named_parameters():
        kind = name.split(".")[-2]
        if kind in ("q_proj", "k_proj", "v_proj"):
            tensor = heads_dealt(tensor, c.num_attention_heads if kind == "q_proj" else c.num_key_value_heads, gpus)[gpu]
        elif kind == "o_proj":
            tensor = heads_dealt(tensor.t(), c.num_attention_heads, gpus)[gpu]
        elif kind in ("gate_proj", "up_proj", "embed_tokens", "lm_head"):
            tensor = dealt(tensor, gpus, 0)[gpu]
        elif kind == "down_proj":
            tensor = dealt(tensor, gpus, 1)[gpu]
        else:
            assert tensor.dim() == 1, name  # a norm, which every GPU needs whole
        yield name, tensor


def per_gpu(directory, gpus, context, weight_bytes, element_bytes):
    model = llama(directory)
    heads = model.config.num_key_value_heads
    with on_meta():
        shares = [list(on_gpu(model, gpu, gpus)) for gpu in range(gpus)]
        fullest = max(shares, key=lambda share: count(tensor for _, tensor in share))
        cache = [heads_dealt(tensor[0].reshape(heads * context, -1), heads, gpus)[0]
                 for layer in cached(directory, context) for tensor in layer]
    counts = parts_of(fullest)
    return counts, sum(counts.values()) * weight_bytes, size_of_cache(cache, element_bytes)
