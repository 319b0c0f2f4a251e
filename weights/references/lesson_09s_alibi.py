"""The cases of the stretch of lesson 09: attention with linear biases."""
import math

import numpy as np
import torch

from references.case import write_lesson
from references.head_cases import HEADS, heads_inputs
from references.values import scalar


def slopes_of(heads):
    """(H): a geometric sequence for a power of two; for others that of the power below, and every other one of the power above."""
    power = 2 ** math.floor(math.log2(heads))
    of_power = lambda count: [2 ** (-8 * (i + 1) / count) for i in range(count)]
    return of_power(power) + of_power(2 * power)[::2][:heads - power]


def run_slopes(record, a, model):
    record.out("slopes", torch.tensor(slopes_of(a["heads"]), dtype=record.dtype), "head")


def run_sdpa(record, a, model):
    q, k, v = (a[name].transpose(0, 1) for name in "qkv")  # (H, ., D)
    T, S = q.shape[1], k.shape[1]
    distance = torch.arange(S - T, S)[:, None] - torch.arange(S)[None]  # (T, S)
    scores = torch.matmul(q, k.transpose(1, 2)) / q.shape[2] ** 0.5 - a["slopes"][:, None, None] * distance
    weights = torch.softmax(scores.masked_fill(distance < 0, -torch.inf), -1)
    record.tap("weights", weights, "head", "query", "key")
    record.out("out", torch.matmul(weights, v).transpose(0, 1), "query", *HEADS)


def cases(lesson):
    for heads, says in ((1, "one head"), (2, "two heads"), (4, "a power of two"), (8, "the slopes of the paper: 1/2, 1/4, ..., 1/256"),
                        (3, "one head more than a power of two"), (12, "no power of two: four heads in between")):
        lesson.add(f"slopes_{heads}", "alibi_slopes", says, {"heads": scalar(heads)}, run_slopes)
    for what, (T, S, H, D), offsets, says in (
            ("two_tokens", (2, 2, 2, 3), (0,), "small enough to be read in full"),
            ("step", (1, 6, 3, 2), (0,), "one query after a past"),
            ("chunk", (3, 7, 4, 6), (0,), "all sizes differ"),
            ("square", (4, 4, 4, 4), (0,), "T = S = H = D: only the values tell the axes apart"),
            ("long", (3, 24, 2, 4), (0,), "far keys: the head with the large slope reads the last ones alone"),
            ("large_scores", (2, 5, 4, 5), (110, -130), "scores above 90 in one head and below -120 in the next")):
        rng, (T, S, D) = lesson.rng(f"sdpa_{what}"), lesson.size(T, S, D)
        inputs = heads_inputs(rng, T, S, H, H, D, offsets)
        slopes = np.array(slopes_of(H), np.float32)
        lesson.add(f"sdpa_{what}", "sdpa", says, inputs | {"slopes": slopes}, run_sdpa)


def make(root, seed):
    write_lesson(root, "09s_alibi", seed, cases)
