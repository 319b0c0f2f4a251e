"""The cases of lesson 03: LayerNorm, and a decoder that ends in it."""
import numpy as np
from torch import nn

from references.case import write_lesson
from references.decoder_cases import partial_models
from references.tiny_models import save_tiny
from references.values import EPSILON, norm_weight, normal, scalar, signed


def run_layer_norm(record, a, model):
    x = a["x"]
    record.tap("mean", x.mean(-1), "token")
    record.tap("variance", x.var(-1, unbiased=False), "token")
    record.out("out", nn.functional.layer_norm(x, x.shape[1:], a["weight"], a["bias"], a["epsilon"]), "token", "channel")


def layer_norm_inputs(rng, x):
    C = x.shape[1]
    return {"x": x.astype(np.float32), "weight": norm_weight(rng, C), "bias": signed(rng, 0.2, 0.8, C), "epsilon": scalar(EPSILON)}


def cases(lesson):
    size = lesson.size

    def add(what, says, make_x):
        rng = lesson.rng(what)
        lesson.add(f"layer_norm_{what}", "layer_norm", says, layer_norm_inputs(rng, make_x(rng)), run_layer_norm)

    def with_constant_row(rng):
        x = normal(rng, *size(3, 4))
        x[1] = 2.5
        return x

    T, C = size(3, 4)
    add("one_token", "one row: statistics over tokens have no spread", lambda rng: normal(rng, 1, C + 1))
    add("two_tokens", "small enough to be read in full", lambda rng: normal(rng, 2, C - 1))
    add("three_tokens", "tokens and channels differ in number", lambda rng: normal(rng, T, C))
    add("square", "as many tokens as channels: statistics over the wrong axis have the right shape", lambda rng: normal(rng, C, C))
    add("tiny_variance", "the variance is near epsilon, so it matters where epsilon stands",
        lambda rng: normal(rng, T, C + 2, scale=3e-3) + np.float32(0.3))
    add("large_mean", "the mean is 50 times the spread", lambda rng: normal(rng, T - 1, C + 4) + np.float32(50))
    add("huge_mean", "the mean is 1000 times the spread: a variance taken as mean(x²) - mean² is lost in rounding",
        lambda rng: normal(rng, T, C + 1) + np.float32(1000))
    add("constant_row", "a row without variance gives the bias", with_constant_row)
    add("odd_sizes", "sizes that no block divides", lambda rng: normal(rng, *size(7, 13), scale=3.0))
    partial_models(lesson)


def make(root, seed):
    save_tiny(root, seed)
    write_lesson(root, "03_layer_norm", seed, cases)
