"""The cases of lesson 10: query heads that share key/value heads, and the bytes that their cache takes."""
import numpy as np
import torch
from torch.nn import functional

from references.head_cases import attend_cases, attention_cases, cached, heads_attention_inputs, heads_inputs, split_heads
from references.hybrid_cases import make_hybrid_lesson
from references.values import normal, scalar


def cases(lesson):
    attend_cases(lesson, (
        ("one_token", (1, 1, 6, 3, 2), "one token: each query head returns the value of the head that it reads"),
        ("two_tokens", (2, 2, 4, 2, 3), "small enough to be read in full"),
        ("one_kv_head", (3, 4, 4, 1, 2), "G = 1: all query heads read the same head"),
        ("as_many", (3, 5, 3, 3, 4), "G = H is lesson 09"),
        ("step", (1, 5, 6, 3, 4), "one query after a past; pairs of heads"),
        ("threes", (2, 5, 6, 2, 3), "two groups of three: h / (H/G) is neither h / G nor h % G"),
        ("three_after_four", (3, 7, 8, 2, 6), "all sizes differ"),
        ("large_scores", (2, 5, 6, 3, 5), "scores above 90 in one group and below -120 in the next")))
    rng = lesson.rng("attend_remainder")
    inputs = heads_inputs(rng, 2, 3, 4, 2, 3)
    inputs |= {name: normal(rng, 3, 3, 3) for name in "kv"}
    lesson.add_error("attend_remainder", "sdpa", "four query heads cannot share three", inputs, "4 heads do not divide by 3")
    attention_cases(lesson, (
        ("first_tokens", (3, 4, 4, 2, 3), (0, 2), "an empty cache"),
        ("step", (1, 5, 6, 3, 2), (3, 2), "one token after three"),
        ("chunk", (2, 7, 6, 2, 3), (3, 3), "two tokens after three; groups of three"),
        ("one_kv_head", (2, 5, 3, 1, 4), (2, 1), "G = 1: the cache holds one head"),
        ("as_many", (2, 5, 3, 3, 2), (2, 1), "G = H is lesson 09"),
        ("to_capacity", (3, 5, 4, 2, 6), (2, 0), "the last row of the cache is written"),
        ("as_wide", (3, 0, 6, 3, 4), (1, 1), "H heads of width D are as wide as the model, as in most models")))
    rng = lesson.rng("attention_remainder")
    inputs = cached(rng, heads_attention_inputs(rng, 2, 5, 4, 2, 6), 0, 1) | {"kv_heads": scalar(3)}
    lesson.add_error("attention_remainder", "attention", "four query heads cannot share three", inputs, "4 heads do not divide by 3")


STORED = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32}  # of a number, by its bytes


def cache_tensors(L, G, D, C, positions, element_bytes):
    """The keys and values of every layer, each (positions, G, D), as the projections of a stream make them. On the device "meta" a tensor has a
    shape and no memory."""
    x, weight = torch.empty(positions, C, device="meta"), torch.empty(G * D, C, device="meta")
    return [split_heads(functional.linear(x, weight), G).to(STORED[element_bytes]) for _ in range(L) for _ in "kv"]


def count_cases(lesson):
    """What is counted is made first: the answer is the number of elements of tensors, times the size of one."""
    def add(what, says, L, H, G, D, C, positions, element_bytes):
        sizes = {"num_layers": L, "num_heads": H, "num_kv_heads": G, "head_dim": D, "hidden_size": C, "positions": positions,
                 "element_bytes": element_bytes}
        tensors = cache_tensors(L, G, D, C, positions, element_bytes)
        counts = {"row": sum(tensor.numel() for tensor in cache_tensors(1, G, D, C, 1, element_bytes)),
                  "bytes": sum(tensor.numel() * tensor.element_size() for tensor in tensors)}
        directory = lesson.directory(f"cache_bytes_{what}", {name: scalar(size) for name, size in sizes.items()})
        for folder, name in (("taps", "row"), ("out", "bytes")):
            lesson.save(directory / folder / name, np.array(counts[name], "<i8"))
        lesson.describe(directory, "cache_bytes", says, None, {}, [{"name": name, "dims": [], "error32": 0.0} for name in counts])

    n = lesson.size.more
    add("one_token", "one token of a model like that of this lesson", 2, 6, 2, 16, 96, 1, 4)
    add("several_tokens", "all sizes differ", 3, 8, 4, 5, 40, 7 + n, 4)
    add("as_many", "G = H is lesson 09", 2, 3, 3, 4, 12, 11 + n, 4)
    add("one_kv_head", "G = 1", 5, 4, 1, 6, 24, 9 + n, 4)
    add("other_width", "D is not C / H", 2, 6, 3, 8, 30, 13 + n, 4)
    add("two_bytes", "16 bits a number", 3, 6, 2, 10, 60, 17 + n, 2)
    add("one_byte", "8 bits a number", 4, 6, 3, 7, 42, 19 + n, 1)
    add("nothing", "no tokens yet", 2, 6, 2, 16, 96, 0, 4)
    add("large", "more bytes than 32 bits count", 32, 32, 32, 128, 4096, 8000 + n, 2)
    add("llama_3_8b", "Llama-3-8B at its whole context", 32, 32, 8, 128, 4096, 8192, 2)


def make(root, seed):
    make_hybrid_lesson(root, "10_grouped_query", seed, cases, count_cases)
