"""The cases of lesson 05: softmax and attention without a mask, and a decoder with it."""
import numpy as np
import torch

from references.case import write_lesson
from references.decoder_cases import attention_cases, check_attention, partial_models, run_sdpa
from references.tiny_models import save_tiny
from references.values import attend_inputs, normal


def run_softmax(record, a, model):
    record.out("x", torch.softmax(a["x"], -1), "row", "column")


def cases(lesson):
    size = lesson.size
    for what, shape, says in (("one_row", (1, 5), "a single row"), ("two_rows", (2, 3), "small enough to be read in full"),
                              ("square", (4, 4), "as many rows as columns: the wrong axis has the right shape"),
                              ("large_scores", (3, 4), "scores above 90: exp overflows unless the maximum is subtracted"),
                              ("negative_scores", (2, 4), "scores below -120: every exp is 0 unless the maximum is subtracted"),
                              ("distant_rows", (3, 5), "rows 100 and more apart: each needs its own maximum"),
                              ("odd_sizes", (7, 13), "sizes that no block divides")):
        x = normal(lesson.rng(f"softmax_{what}"), *size(*shape), scale=1.5)
        if what == "distant_rows":
            x += np.float32(120) * (1 - np.arange(len(x), dtype=np.float32))[:, None]
        x += np.float32({"large_scores": 95, "negative_scores": -130}.get(what, 0))
        lesson.add(f"softmax_{what}", "softmax", says, {"x": x}, run_softmax)

    for what, shape, offset, says in (("one_query", (1, 3, 2), 0, "one query, several keys"),
                                      ("one_key", (3, 1, 4), 0, "every query sees the only key"),
                                      ("two_tokens", (2, 2, 3), 0, "small enough to be read in full"),
                                      ("more_keys", (3, 5, 6), 0, "more keys than queries"),
                                      ("more_queries", (4, 2, 3), 0, "more queries than keys"),
                                      ("square", (4, 4, 4), 0, "T = S = D: only the values tell the axes apart"),
                                      ("large_scores", (2, 3, 5), 110, "scores above 90: exp overflows unless the maximum is subtracted")):
        T, S, D = size(*shape)
        inputs = attend_inputs(lesson.rng(f"attend_{what}"), T, S, D, offset)
        lesson.add(f"attend_{what}", "sdpa", says, inputs, run_sdpa(False))

    attention_cases(lesson, False)
    partial_models(lesson)


def make(root, seed):
    check_attention()
    save_tiny(root, seed)
    write_lesson(root, "05_attention", seed, cases)
