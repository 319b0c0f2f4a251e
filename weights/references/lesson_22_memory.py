"""The cases of lesson 22: bytes of parameters and caches, counted rather than calculated.

needs: torch 1.13 or newer, transformers 4.46, gguf 0.19. The counts are those of llama_counts.py; the largest batch is found by filling
one request after another, until the next one would not fit.
"""
import math

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import quantize

from references.case import UNIT, model_path, write_lesson
from references.llama_counts import (SHAPES, cached, count, course_parameters, heads_dealt, llama, on_meta, parameters, path_of, per_gpu, save_shapes,
                                     size_of_cache)

GIB = 2**30

# The tables of the lesson: two bytes a weight and two a cached element, on 80 GiB. Context or GPUs (of 1024 tokens) -> the largest
# batch as the course counts, and as it is.
TABLE_MODEL = "llama_3_8b"
TABLE = {1024: (556, 520), 2048: (278, 260), 4096: (139, 130)}
TABLE_GPUS = {2: (1196, 1160), 4: (2476, 2440), 8: (5036, 5000)}


class Cases:
    """Adds cases whose inputs and answers are counts."""

    def __init__(self, lesson):
        self.lesson, self.rng = lesson, lesson.rng

    def directory(self, model):
        return model_path(self.lesson.root, path_of(model))

    def add(self, run, what, says, inputs, out, taps=None, model=None, error=None):
        directory = self.lesson.directory(f"{run}_{what}", {})
        for name, value in inputs.items():
            self.lesson.save(directory / "in" / name, np.array(value, "<i8"))
        entries = []
        for folder, values in (("taps", taps or {}), ("out", out)):
            for name, value in values.items():
                self.lesson.save(directory / folder / name, np.array(value, "<f8" if isinstance(value, float) else "<i8"))
                entries.append({"name": name, "dims": [], "error32": 4 * UNIT * value if isinstance(value, float) else 0.0})
        self.lesson.describe(directory, run, says, path_of(model) if model else None, {"error": error} if error else {}, entries)

    def parameters(self, model, says):
        counts = parameters(self.directory(model))
        total = sum(counts.values())
        assert total == SHAPES.get(model, {}).get("published", total), f"{model} has {total}"
        self.add("parameters", model, says, {}, {"parameters": total}, counts, model)

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

    def quantized_bytes(self, what, numbers, bits, says):
        """Small counts: the bytes that gguf makes of so many numbers, filled up to whole blocks. Large ones: block after block."""
        kind = {8: GGMLQuantizationType.Q8_0, 4: GGMLQuantizationType.Q4_0}[bits]
        in_a_block, block = GGML_QUANT_SIZES[kind]
        if numbers < 10 ** 6:
            row = np.zeros(math.ceil(numbers / in_a_block) * in_a_block, np.float32)
            size = quantize(row, kind).nbytes if len(row) else 0
        else:
            full, rest = divmod(numbers, in_a_block)
            size = block * full + (block if rest else 0)
        self.add("quantized_bytes", what, says, {"numbers": numbers, "bits": bits}, {"bytes": size}, {"block": block})

    def logits_bytes(self, what, model, rows, says):
        logits = self.run(model, rows).logits
        self.add("logits_bytes", what, says, {"rows": rows}, {"bytes": logits.numel() * logits.float().element_size()}, model=model)

    def run(self, model, tokens):
        with on_meta():
            return llama(self.directory(model))(torch.zeros(1, tokens, dtype=torch.int64))

    def workspace_bytes(self, what, model, rows, says):
        """What the modules of a layer return when they run, each in memory of its own."""
        network = llama(self.directory(model))
        layer = network.model.layers[0]
        with on_meta():
            x = network.model.embed_tokens(torch.zeros(rows, dtype=torch.int64))
            normed, a = layer.input_layernorm(x), layer.self_attn
            q, k, v = a.q_proj(normed), a.k_proj(normed), a.v_proj(normed)
            attn_out = torch.empty_like(q)  # as many heads as there are queries
            attention = [x, normed, q, k, v, attn_out, a.o_proj(attn_out)]
            feed_forward = [layer.mlp.gate_proj(normed), layer.mlp.up_proj(normed)]
            size = sum(tensor.numel() * tensor.float().element_size() for tensor in attention + feed_forward)
        self.add("workspace_bytes", what, says, {"rows": rows}, {"bytes": size},
                 {"attention": sum(tensor.numel() for tensor in attention) // rows,
                  "feed_forward": sum(tensor.numel() for tensor in feed_forward) // rows}, model)

    def paged_bytes(self, what, model, context, page, element_bytes, says):
        """Token after token takes the next place; where there is none, a new page is made."""
        pages, free = [], 0
        a_page = size_of_cache([tensor for layer in cached(self.directory(model), page) for tensor in layer], element_bytes)
        for _ in range(context):
            if free == 0:
                pages.append(a_page)
                free = page
            free -= 1
        self.add("paged_bytes", what, says, {"context": context, "page": page, "element_bytes": element_bytes}, {"bytes": sum(pages)},
                 {"pages": len(pages), "row": count(cached(self.directory(model), 1)[0])}, model)

    def kv_heads(self, model):
        return llama(self.directory(model)).config.num_key_value_heads


def counting_cases(c):
    for what, value, says in (("one", GIB, "2^30 bytes"), ("half", GIB // 2, "a fraction is not cut off"),
                              ("ten", 10 * GIB, "ten of them"), ("weights_8b", 16_060_522_496, "Llama 3 8B in bf16"),
                              ("one_byte_less", 80 * GIB - 1, "just under 80 GiB")):
        c.add("gibibytes", what, says, {"bytes": value}, {"gibibytes": math.ldexp(value, -30)})
    for model, says in (("small_wide", "one layer, and H times D is far from C"), ("small", "two layers, small enough for a pencil"),
                        ("small_tied", "the output projection is the embedding, stored once"), ("small_mqa", "one key/value head for all"),
                        ("stories", "a trained model: what its file holds"), ("tinyllama", "published: 1.1 billion"),
                        ("llama_2_7b", "as many key/value heads as query heads"), ("llama_2_13b", "forty layers"),
                        ("llama_2_70b", "eight key/value heads for 64"), ("llama_3_8b", "the model of the tables: 8,030,261,248"),
                        ("llama_3_70b", "far beyond 32 bits"), ("llama_3_2_1b", "tied, with a large vocabulary"),
                        ("llama_3_2_3b", "tied; 24 heads")):
        c.parameters(model, says)


def cache_cases(c):
    for what, model, context, width, says in (
            ("one_token", "small", 1, 2, "what one token leaves behind"), ("five_tokens", "small", 5, 2, "five times as much"),
            ("one_layer", "small_wide", 7, 4, "one layer, in f32"), ("bytes", "small_tied", 6, 1, "an element of one byte"),
            ("f32", "small_tied", 6, 4, "the same in f32"), ("one_head", "small_mqa", 9, 2, "one key/value head"),
            ("stories", "stories", 512, 2, "the trained model, at its whole context"),
            ("llama_2_7b", "llama_2_7b", 4096, 2, "without grouped queries: 2 GiB a request"),
            ("long", "llama_3_2_1b", 131072, 2, "a request as long as the model allows: 4 GiB"),
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
    c.batch_bytes("llama_3_8b", 16_060_522_496, GIB // 4, 16, "Llama 3 8B, sixteen requests of 2048 tokens")

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
        found = tuple(c.largest_batch(f"row_{context}_{formula}", 80 * GIB, total, cache, f"the table's row of {context} tokens, {formula}")
                      for formula, total in (("course", course), ("exact", exact)))
        assert found == wanted, found
    for gpus, wanted in TABLE_GPUS.items():
        shares = {"course": (course // gpus, GIB // 8 // gpus), "exact": per_gpu(directory, gpus, 1024, 2, 2)[1:]}
        found = tuple(c.largest_batch(f"row_{gpus}_gpus_{formula}", 80 * GIB, *share, f"the table's row of {gpus} GPUs, {formula}")
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
            ("llama_3_70b", "llama_3_70b", 8, 4096, 2, 2, "131 GiB on eight GPUs"),
            ("llama_2_13b", "llama_2_13b", 8, 2048, 2, 1, "a cache of one byte")):
        c.per_gpu(what, model, gpus, context, weight, element, says)
    for gpus in TABLE_GPUS:
        c.per_gpu(f"row_{gpus}", TABLE_MODEL, gpus, 1024, 2, 2, f"the table's row of {gpus} GPUs")
    for what, model, gpus, error in (("heads", "llama_3_8b", 3, "32 query heads cannot be dealt out to 3 GPUs"),
                                     ("query_heads", "llama_3_2_3b", 16, "24 query heads cannot be dealt out to 16 GPUs"),
                                     ("kv_heads", "llama_3_2_3b", 12, "8 key/value heads cannot be dealt out to 12 GPUs")):
        inputs = {"gpus": gpus, "context": 16, "weight_bytes": 2, "element_bytes": 2}
        c.add("per_gpu", f"uneven_{what}", "some GPU would have to hold a part of a head", inputs, {}, model=model, error=error)


def quantized_cases(c):
    for what, numbers, bits, says in (("one_block", 32, 8, "a block of 8 bits"), ("one_block_of_4", 32, 4, "a block of 4 bits"),
                                      ("one_number", 1, 8, "a block with one number in it"), ("one_more", 65, 4, "the third block is nearly empty"),
                                      ("one_less", 95, 8, "a place is left"), ("none", 0, 4, "nothing to store"), ("row", 4096, 4, "a row of a matrix"),
                                      ("llama_3_8b", 8_030_261_248, 8, "all weights of Llama 3 8B in 8 bits"),
                                      ("llama_3_8b_of_4", 8_030_261_248, 4, "the same in 4 bits"),
                                      ("cache", 67_108_864, 8, "the cache of 1024 tokens of Llama 3 8B")):
        c.quantized_bytes(what, numbers, bits, says)


def workspace_cases(c):
    for what, model, rows, says in (("one", "small", 1, "one token"), ("some", "small_wide", 7, "a row for each token"),
                                    ("llama_3_8b", "llama_3_8b", 1, "a step of Llama 3 8B"), ("batch", "llama_3_8b", 520, "a step of 520 requests"),
                                    ("prompt", "llama_3_2_1b", 8192, "the logits of a whole prompt: more than 32 bits count")):
        c.logits_bytes(what, model, rows, says)
    for what, model, rows, says in (("one", "small", 1, "one token"), ("wide", "small_wide", 5, "H times D is far from C"),
                                    ("one_head", "small_mqa", 3, "one key/value head"), ("tied", "small_tied", 4, "H times D is larger than C"),
                                    ("llama_2_7b", "llama_2_7b", 16, "as many key/value heads as query heads"),
                                    ("llama_3_8b", "llama_3_8b", 1024, "a prompt of 1024 tokens")):
        c.workspace_bytes(what, model, rows, says)
    for what, model, context, page, element, says in (
            ("full", "small", 8, 4, 2, "two pages, both full"), ("one_more", "small", 9, 4, 2, "a page for one token"),
            ("one_less", "small_tied", 11, 6, 4, "one place is left"), ("one_token", "small_wide", 1, 16, 1, "a page for the first token"),
            ("none", "small", 0, 4, 2, "no token, no page"), ("page_of_one", "small_mqa", 7, 1, 2, "pages of one token waste nothing"),
            ("llama_3_8b", "llama_3_8b", 1000, 16, 2, "Llama 3 8B, 1000 tokens"), ("large_pages", "llama_3_8b", 1000, 256, 2, "the same in large pages")):
        c.paged_bytes(what, model, context, page, element, says)


def cases(lesson):
    c = Cases(lesson)
    for part in (counting_cases, cache_cases, batch_cases, gpu_cases, quantized_cases, workspace_cases):
        part(c)


def make(root, seed):
    save_shapes(root, seed)
    write_lesson(root, "22_memory", seed, cases)
