"""The cases of lesson 01: the place of an element in memory, and a linear layer."""
import numpy as np
from torch import nn

from references.case import sum_budget, write_lesson
from references.values import linear_weight, normal, signed


def run_offset(record, a, model):
    record.out("a_read", a["a"], "row", "column")


def run_linear(record, a, model):
    x, weight, bias = a["x"], a["weight"], a["bias"]
    record.out("out", nn.functional.linear(x, weight, bias), "token", "channel")
    terms = (x[:, None, :] * weight[None]).square().sum(-1) + bias.square()  # (T, N)
    record.budgets["out"] = sum_budget(x.shape[1] + 1, terms)


def cases(lesson):
    for what, shape, says in (("one_row", (1, 5), "a row lies in memory as it is read"),
                              ("wide", (2, 3), "rows and columns differ in number"),
                              ("square", (3, 3), "a square hides swapped rows and columns from the bounds, not from the values")):
        rng, shape = lesson.rng(what), lesson.size(*shape)
        values = rng.permutation(np.arange(1, np.prod(shape) + 1)).astype(np.float32).reshape(shape)
        lesson.add(f"offset_{what}", "offset", says, {"a": values}, run_offset)

    for what, shape, says in (("one_token", (1, 3, 2), "a single row"),
                              ("two_tokens", (2, 4, 3), "small enough to be read in full"),
                              ("square", (4, 4, 4), "the weight is square: a missing transpose shows only in the values"),
                              ("five_tokens", (5, 7, 3), "all sizes differ"),
                              ("odd_sizes", (33, 65, 17), "sizes that no block divides"),
                              ("large_and_small", (3, 6, 5), "large and small terms in one sum")):
        rng, (T, C, N) = lesson.rng(what), lesson.size(*shape)
        x = normal(rng, T, C)
        if what == "large_and_small":
            x = (x * 10.0 ** rng.uniform(-3, 3, (T, C))).astype(np.float32)
        inputs = {"x": x, "weight": linear_weight(rng, N, C, 2.0), "bias": signed(rng, 0.5, 1.5, N)}
        lesson.add(f"linear_{what}", "linear", says, inputs, run_linear)


def make(root, seed):
    write_lesson(root, "01_tensor", seed, cases)
