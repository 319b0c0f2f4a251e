"""The cases of lesson 12: RMSNorm, alone and fused with the addition before it."""
import numpy as np

from references.head_cases import rms_norm
from references.hybrid_cases import make_hybrid_lesson
from references.machines import Scalars
from references.values import EPSILON, norm_weight, normal, scalar


def run_rms_norm(record, a, model):
    record.out("out", rms_norm(a["x"], a["weight"], a["epsilon"], record.tap), "token", "channel")


def run_add_rms_norm(record, a, model):
    x = a["x"] + a["y"]
    record.out("x", x, "token", "channel")
    record.out("out", rms_norm(x, a["weight"], a["epsilon"]), "token", "channel")


def check_bytes():
    """What main.cpp says is read and written: counted by a machine that keeps a number at hand within one operation, and none for the next."""
    T, C = 3, 5
    machine = Scalars()
    x, y, out, weight = (machine.new(*shape, values=np.ones(shape)) for shape in ((T, C), (T, C), (T, C), (C,)))

    def count(work):
        machine.moved = 0
        with machine.operation():
            for t in range(T):
                work(t)
        return machine.moved

    def add(t):
        for c in range(C):
            machine.write(x[t, c], machine.read(x[t, c]) + machine.read(y[t, c]))

    def norm(t, row=None):
        row = row or [machine.read(a) for a in x[t]]
        squares = sum((number * number for number in row[1:]), row[0] * row[0])
        for a, number, w in zip(out[t], row, weight):
            machine.write(a, number / squares * machine.read(w))  # a root and an epsilon move nothing

    def fused(t):
        row = [machine.read(a) + machine.read(b) for a, b in zip(x[t], y[t])]
        for a, number in zip(x[t], row):
            machine.write(a, number)
        norm(t, row)

    assert (count(add), count(norm), count(fused)) == (3 * T * C, 2 * T * C + C, 4 * T * C + C)


def fused_cases(lesson):
    check_bytes()
    T, C = lesson.size(3, 5)

    def add(what, says, T, C, scale_x, scale_y, epsilon=EPSILON, opposite=False):
        rng = lesson.rng(f"add_{what}")
        x, y = normal(rng, T, C, scale=scale_x), normal(rng, T, C, scale=scale_y)
        if opposite:
            y[1] = -x[1]
        inputs = {"x": x, "y": y, "weight": norm_weight(rng, C), "epsilon": scalar(epsilon)}
        lesson.add(f"add_rms_norm_{what}", "add_rms_norm", says, inputs, run_add_rms_norm)

    add("one_token", "one row", 1, C, 1, 1)
    add("two_tokens", "small enough to be read in full", 2, C - 2, 1, 1.5)
    add("three_tokens", "tokens and channels differ in number", T, C, 2, 1)
    add("large_branch", "what is added is larger than the stream", T, C + 1, 0.1, 20)
    add("large_stream", "what is added is smaller than the stream", T, C - 1, 30, 2)
    add("near_epsilon", "the mean square of the sum is near epsilon", T, C + 2, 3e-3, 2e-3)
    add("large_epsilon", "epsilon is the one that is given", T, C + 3, 1, 1, float(np.float32(0.3)))
    add("opposite", "the sum of one row is zero: without epsilon it is 0/0", T, C, 1, 1, opposite=True)
    add("odd_sizes", "sizes that no block divides", *lesson.size(7, 13), 3, 2)


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
    make_hybrid_lesson(root, "12_rms_norm", seed, cases, fused_cases)
