"""The cases of lesson 22, counted rather than calculated: every tensor is made, cut or filled, and its elements are counted.

needs: torch 1.13 or newer, transformers 4.46. Models stand on the device "meta", whose tensors have a shape and no memory, so that
one of 70 billion parameters takes no more than a small one.

    parameters          those of transformers' LlamaForCausalLM; of weights/stories those that its file holds
    course_parameters   those of a stack of torch modules, put together as the course counts
    cache_bytes         of the keys and values that LlamaForCausalLM hands back for a prompt of that length
    largest_batch       one request after another, until the next one would not fit
    per_gpu             the parameters cut into the parts that each GPU holds, and the fullest GPU taken
"""
import json
import math
import shutil
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import nn
from torch.overrides import TorchFunctionMode
from transformers import LlamaConfig, LlamaForCausalLM

from reference_case import UNIT, Lesson, model_path
from reference_parts import HeadSizes

LESSON, STORIES, GB = "22_memory", "stories", 2**30
COUNT_TYPES = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32}  # of a cached element, by its bytes

# The tables of the lesson: two bytes a weight and two a cached element, on 80 GB. Context or GPUs (of 1024 tokens) -> the largest
# batch as the course counts, and as it is.
TABLE_MODEL = "llama_3_8b"
TABLE = {1024: (556, 520), 2048: (278, 260), 4096: (139, 130)}
TABLE_GPUS = {2: (1196, 1160), 4: (2476, 2440), 8: (5036, 5000)}

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
    sizes, m = HeadSizes(seed), dict(SHAPES[name])
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


# Cases

class Cases:
    """Writes cases whose inputs and answers are counts."""

    def __init__(self, root, seed):
        self.root, self.seed, self.count = root, seed, 0

    def rng(self, what):
        return Lesson(self.root, LESSON, self.seed).rng(what)

    def directory(self, model):
        return model_path(self.root, path_of(model))

    def add(self, run, what, says, inputs, out, taps=None, model=None, error=None):
        self.count += 1
        directory = self.root / LESSON / f"{self.count:02d}_{run}_{what}"
        for name, value in inputs.items():
            Lesson._save(directory / "in" / name, np.array(value, "<i8"))
        entries = []
        for folder, values in (("taps", taps or {}), ("out", out)):
            for name, value in values.items():
                Lesson._save(directory / folder / name, np.array(value, "<f8" if isinstance(value, float) else "<i8"))
                entries.append({"name": name, "dims": [], "error32": 4 * UNIT * value if isinstance(value, float) else 0.0})
        Lesson._describe(directory, run, says, path_of(model) if model else None, {"error": error} if error else {}, entries)

    def parameters(self, model, says):
        counts = parameters(self.directory(model))
        total = sum(counts.values())
        assert total == SHAPES.get(model, {}).get("published", total), f"{model} has {total}"
        self.add("parameters", model, says, {}, {"parameters": total}, counts, model)

    def course_parameters(self, model, says):
        counts = course_parameters(self.directory(model))
        self.add("course_parameters", model, says, {}, {"parameters": sum(counts.values())}, counts, model)

    def cache_bytes(self, what, model, context, element_bytes, says):
        row = count(cached(self.directory(model), 1)[0])
        size = size_of_cache([tensor for layer in cached(self.directory(model), context) for tensor in layer], element_bytes)
        self.add("cache_bytes", what, says, {"context": context, "element_bytes": element_bytes}, {"bytes": size}, {"row": row}, model)

    def batch_bytes(self, what, parameter_bytes, cache_bytes, batch, says):
        held = [parameter_bytes] + [cache_bytes for _ in range(batch)]
        self.add("batch_bytes", what, says, {"parameter_bytes": parameter_bytes, "cache_bytes": cache_bytes, "batch": batch},
                 {"bytes": sum(held)})

    def largest_batch(self, what, memory, parameter_bytes, cache_bytes, says):
        left, batch = 0, 0
        if parameter_bytes <= memory:
            left = free = memory - parameter_bytes
            while free >= cache_bytes:
                free, batch = free - cache_bytes, batch + 1
        self.add("largest_batch", what, says, {"memory": memory, "parameter_bytes": parameter_bytes, "cache_bytes": cache_bytes},
                 {"batch": batch}, {"left": left})
        return batch

    def per_gpu(self, what, model, gpus, context, weight_bytes, element_bytes, says):
        inputs = {"gpus": gpus, "context": context, "weight_bytes": weight_bytes, "element_bytes": element_bytes}
        counts, parameter_bytes, cache = per_gpu(self.directory(model), *inputs.values())
        row = 2 * count(heads_dealt(cached(self.directory(model), 1)[0][0][0, :, 0], self.kv_heads(model), gpus)[:1])
        self.add("per_gpu", what, says, inputs, {"parameter_bytes": parameter_bytes, "cache_bytes": cache}, counts | {"row": row}, model)

    def kv_heads(self, model):
        return llama(self.directory(model)).config.num_key_value_heads


def counting_cases(c):
    for what, value, says in (("one", GB, "2^30 bytes"), ("half", GB // 2, "a fraction is not cut off"),
                              ("ten", 10 * GB, "ten of them"), ("weights_8b", 16_060_522_496, "Llama 3 8B in bf16"),
                              ("one_byte_less", 80 * GB - 1, "just under 80 GB")):
        c.add("gigabytes", what, says, {"bytes": value}, {"gigabytes": math.ldexp(value, -30)})
    for model, says in (("small_wide", "one layer, and H times D is far from C"), ("small", "two layers, small enough for a pencil"),
                        ("small_tied", "the output projection is the embedding, stored once"), ("small_mqa", "one key/value head for all"),
                        ("stories", "a trained model: what its file holds"), ("tinyllama", "published: 1.1 billion"),
                        ("llama_2_7b", "as many key/value heads as query heads"), ("llama_2_13b", "forty layers"),
                        ("llama_2_70b", "eight key/value heads for 64"), ("llama_3_8b", "the model of the tables: 8,030,261,248"),
                        ("llama_3_70b", "far beyond 32 bits"), ("llama_3_2_1b", "tied, with a large vocabulary"),
                        ("llama_3_2_3b", "tied; 24 heads")):
        c.parameters(model, says)
    for model, says in (("small_wide", "one layer"), ("small", "two layers, small enough for a pencil"),
                        ("small_tied", "two tables even so"), ("small_mqa", "one key/value head"),
                        ("llama_3_8b", "the model of the tables: 5,614,665,728"), ("llama_2_7b", "G = H"),
                        ("llama_3_2_1b", "a tied model is counted with two tables"), ("llama_2_70b", "beyond 32 bits")):
        c.course_parameters(model, says)


def cache_cases(c):
    for what, model, context, width, says in (
            ("one_token", "small", 1, 2, "what one token leaves behind"), ("five_tokens", "small", 5, 2, "five times as much"),
            ("one_layer", "small_wide", 7, 4, "one layer, in f32"), ("bytes", "small_tied", 6, 1, "an element of one byte"),
            ("f32", "small_tied", 6, 4, "the same in f32"), ("one_head", "small_mqa", 9, 2, "one key/value head"),
            ("stories", "stories", 512, 2, "the trained model, at its whole context"),
            ("llama_2_7b", "llama_2_7b", 4096, 2, "without grouped queries: 2 GB a request"),
            ("long", "llama_3_2_1b", 131072, 2, "a request as long as the model allows: 4 GB"),
            ("llama_3_70b", "llama_3_70b", 2048, 2, "eighty layers")):
        c.cache_bytes(what, model, context, width, says)
    for context in TABLE:
        c.cache_bytes(f"row_{context}", TABLE_MODEL, context, 2, f"the table's row of {context} tokens")


def batch_cases(c):
    rng = c.rng("batch")
    small = [int(n) for n in rng.integers(1000, 9000, 2)]
    c.batch_bytes("one", *small, 1, "one request")
    c.batch_bytes("three", *small, 3, "three requests: the parameters stay one")
    c.batch_bytes("none", *small, 0, "no request: the model alone")
    c.batch_bytes("llama_3_8b", 16_060_522_496, GB // 4, 16, "Llama 3 8B, sixteen requests of 2048 tokens")

    size = int(rng.integers(100, 200))
    c.largest_batch("fits_exactly", 1000 + 7 * size, 1000, size, "the seventh fills the last byte")
    c.largest_batch("one_byte_short", 999 + 7 * size, 1000, size, "the seventh lacks one byte")
    c.largest_batch("half", 1000 + 7 * size + size // 2, 1000, size, "half a cache is left over")
    c.largest_batch("nearly_one_more", 1000 + 8 * size - 1, 1000, size, "nearly a whole cache is left over")
    c.largest_batch("none", 1000 + size - 1, 1000, size, "the model fits, a request does not")
    c.largest_batch("too_large", 1000, 1000 + 5 * size, size, "the model does not fit: not a negative number of requests")
    directory = c.directory(TABLE_MODEL)
    course, exact = (2 * sum(counts(directory).values()) for counts in (course_parameters, parameters))
    for context, wanted in TABLE.items():
        cache = size_of_cache([tensor for layer in cached(directory, context) for tensor in layer], 2)
        found = tuple(c.largest_batch(f"row_{context}_{formula}", 80 * GB, total, cache, f"the table's row of {context} tokens, {formula}")
                      for formula, total in (("course", course), ("exact", exact)))
        assert found == wanted, found
    for gpus, wanted in TABLE_GPUS.items():
        shares = {"course": (course // gpus, GB // 8 // gpus), "exact": per_gpu(directory, gpus, 1024, 2, 2)[1:]}
        found = tuple(c.largest_batch(f"row_{gpus}_gpus_{formula}", 80 * GB, *share, f"the table's row of {gpus} GPUs, {formula}")
                      for formula, share in shares.items())
        assert found == wanted, found


def gpu_cases(c):
    G = {model: c.kv_heads(model) for model in ("small", "small_tied", "small_wide")}  # of another seed they differ
    some = max(gpus for gpus in range(1, G["small_wide"]) if G["small_wide"] % gpus == 0)
    for what, model, gpus, context, weight, element, says in (
            ("one", "small", 1, 5, 2, 2, "one GPU holds everything"),
            ("two", "small", G["small"], 5, 2, 4, "norms stand on both; V and F are odd"),
            ("tied", "small_tied", G["small_tied"], 3, 4, 2, "a tied table is dealt out once"),
            ("four", "small", 2 * G["small"], 5, 4, 2, "more GPUs than key/value heads: each has one"),
            ("one_head", "small_mqa", 4, 6, 2, 1, "one key/value head, copied four times"),
            ("wide", "small_wide", some, 4, 1, 2, "fewer GPUs than key/value heads"),
            ("sixteen", "llama_3_8b", 16, 1024, 2, 2, "two GPUs hold the same key/value head"),
            ("llama_3_70b", "llama_3_70b", 8, 4096, 2, 2, "131 GB on eight GPUs"),
            ("llama_2_13b", "llama_2_13b", 8, 2048, 2, 1, "a cache of one byte")):
        c.per_gpu(what, model, gpus, context, weight, element, says)
    for gpus in TABLE_GPUS:
        c.per_gpu(f"row_{gpus}", TABLE_MODEL, gpus, 1024, 2, 2, f"the table's row of {gpus} GPUs")
    for what, model, gpus, error in (("heads", "llama_3_8b", 3, "32 query heads cannot be dealt out to 3 GPUs"),
                                     ("query_heads", "llama_3_2_3b", 16, "24 query heads cannot be dealt out to 16 GPUs"),
                                     ("kv_heads", "llama_3_2_3b", 12, "8 key/value heads cannot be dealt out to 12 GPUs")):
        inputs = {"gpus": gpus, "context": 16, "weight_bytes": 2, "element_bytes": 2}
        c.add("per_gpu", f"uneven_{what}", "some GPU would have to hold a part of a head", inputs, {}, model=model, error=error)


def make_memory(root, seed):
    save_shapes(root, seed)
    shutil.rmtree(root / LESSON, ignore_errors=True)
    c = Cases(root, seed)
    for group in (counting_cases, cache_cases, batch_cases, gpu_cases):
        group(c)
    print(f"{LESSON}: {c.count} cases", flush=True)
