"""The cases of lesson 12: RMSNorm."""
import numpy as np

from references.head_cases import rms_norm
from references.hybrid_cases import make_hybrid_lesson
from references.values import EPSILON, norm_weight, normal, scalar


def run_rms_norm(record, a, model):
    record.out("out", rms_norm(a["x"], a["weight"], a["epsilon"], record.tap), "token", "channel")


def cases(lesson):
    def add(what, says, make_x, epsilon=EPSILON):
        rng = lesson.rng(what)
        x = make_x(rng).astype(np.float32)
        inputs = {"x": x, "weight": norm_weight(rng, x.shape[1]), "epsilon": scalar(epsilon)}
        lesson.add(f"rms_norm_{what}", "rms_norm", says, inputs, run_rms_norm)

    def with_zero_row(rng):
        x = normal(rng, T, C + 1)
        x[1] = 0
        return x

    T, C = lesson.size(3, 4)
    add("one_token", "one row", lambda rng: normal(rng, 1, C + 1))
    add("two_tokens", "small enough to be read in full", lambda rng: normal(rng, 2, C - 1))
    add("three_tokens", "tokens and channels differ in number", lambda rng: normal(rng, T, C))
    add("square", "as many tokens as channels: a mean over the wrong axis has the right shape", lambda rng: normal(rng, C, C))
    add("near_epsilon", "the mean square is near epsilon, so it matters where epsilon stands", lambda rng: normal(rng, T, C + 2, scale=3e-3))
    add("far_below_epsilon", "tiny rows stay tiny", lambda rng: normal(rng, T, C + 1, scale=2e-5))
    add("large_epsilon", "epsilon is the one that is given", lambda rng: normal(rng, T, C + 3), float(np.float32(0.3)))
    add("large_mean", "the mean is 50 times the spread: what subtracts it is LayerNorm", lambda rng: normal(rng, T - 1, C + 4) + 50)
    add("distant_rows", "rows of very different size: each has its own mean square",
        lambda rng: normal(rng, T, C + 2) * np.array([1e-2, 1, 1e3, 10, 5, 7])[:T, None])
    add("large_values", "squares near 1e10", lambda rng: normal(rng, T, C, scale=1e5))
    add("zero_row", "a row of zeros stays zero: without epsilon it is 0/0", with_zero_row)
    add("odd_sizes", "sizes that no block divides", lambda rng: normal(rng, *lesson.size(7, 13), scale=3.0))


def make(root, seed):
    make_hybrid_lesson(root, "12_rms_norm", seed, cases)
