"""The cases of lesson 18: sums, softmax and RMSNorm of rows that fit a block of 256 threads, and that do not."""
import numpy as np
import torch

from references.case import sum_budget, write_lesson
from references.values import normal, signed


def run_row_sum(record, a, model):
    """A bare sum: every row has its own budget, of C terms."""
    x = a["x"]
    record.out("out", torch.matmul(x, torch.ones(x.shape[1], dtype=x.dtype)[:, None])[:, 0], "row")
    record.budgets["out"] = sum_budget(x.shape[1], x.square().sum(-1))


def run_softmax(record, a, model):
    record.out("out", torch.softmax(a["x"], -1), "row", "column")


def run_rms_norm(record, a, model):
    x = a["x"]
    record.out("out", x / torch.sqrt(torch.mean(x.square(), -1)[:, None] + a["epsilon"]) * a["weight"], "row", "column")


SHAPES = (("one", (1, 1), "a single number: one lane of 256 has work"),
          ("five", (2, 5), "small enough to be read in full; most lanes have nothing"),
          ("less_than_a_warp", (3, 31), "one lane of the first warp has nothing"),
          ("a_warp", (3, 32), "exactly a warp: one stage would be enough"),
          ("more_than_a_warp", (3, 33), "a second warp has one element"),
          ("a_block", (2, 256), "an element for each thread"),
          ("more_than_a_block", (2, 257), "one thread has two elements"),
          ("long_row", (4, 1000), "every thread has several, and not all the same number"),
          ("many_rows", (40, 64), "a block for each of many rows: what `rungs profile` counts"))


def cases(lesson):
    def rows(what, shape, scale=1.0, shift=0.0):
        rng, (N, C) = lesson.rng(f"rows_{what}"), lesson.size(*shape)
        return (normal(rng, N, C) * np.float32(scale) + np.float32(shift)).astype(np.float32)

    def weight(what, C):
        return signed(lesson.rng(f"weight_{what}"), 0.3, 1.7, C)

    for what, shape, says in SHAPES:
        lesson.add(f"row_sum_{what}", "row_sum", says, {"x": rows(what, shape)}, run_row_sum)
    lesson.add("row_sum_shifted", "row_sum", "every element is near 3: none may be counted twice or left out",
               {"x": rows("shifted", (3, 300), 0.5, 3)}, run_row_sum)
    for what, shape, says in SHAPES:
        lesson.add(f"softmax_{what}", "softmax", says, {"x": rows(what, shape, 2)}, run_softmax)
    lesson.add("softmax_large", "softmax", "scores above 90: exp overflows unless the maximum is subtracted",
               {"x": rows("large", (3, 70), 3, 95)}, run_softmax)
    lesson.add("softmax_negative", "softmax", "all scores near -60: a maximum that starts at 0 leaves sums near 0",
               {"x": rows("negative", (3, 300), 3, -120)}, run_softmax)
    for what, shape, says in SHAPES:
        x = rows(what, shape, 1.5)
        lesson.add(f"rms_norm_{what}", "rms_norm", says,
                   {"x": x, "weight": weight(what, x.shape[1]), "epsilon": np.float64(1e-5)}, run_rms_norm)
    x = rows("small", (3, 300), 3e-3)
    lesson.add("rms_norm_small", "rms_norm", "a mean square near epsilon: where epsilon stands shows",
               {"x": x, "weight": weight("small", x.shape[1]), "epsilon": np.float64(1e-5)}, run_rms_norm)


def make(root, seed):
    write_lesson(root, "18_cuda_reduce", seed, cases)
