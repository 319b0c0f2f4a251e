"""The cases of the stretch of lesson 04: GELU and its approximation, which are PyTorch's own."""
import numpy as np
from torch.nn.functional import gelu

from references.case import write_lesson
from references.values import normal


def run_gelu(record, a, model):
    record.out("x", gelu(a["x"]), *("row", "column")[-a["x"].dim():])


def run_gelu_tanh(record, a, model):
    record.out("x", gelu(a["x"], approximate="tanh"), *("row", "column")[-a["x"].dim():])


def cases(lesson):
    T, F = lesson.size(3, 5)
    for run, function in (("gelu", run_gelu), ("gelu_tanh", run_gelu_tanh)):
        add = lambda what, says, x: lesson.add(f"{run}_{what}", run, says, {"x": np.array(x, np.float32)}, function)
        add("one", "one number: 1 is multiplied by 0.84", [1.0])
        add("both_signs", "small enough to be read in full: small negative numbers do not become 0", [-2.0, -0.5, 0.0, 0.5, 2.0])
        add("far_out", "far out it is 0, or the number itself", [-9.0, -4.5, 4.5, 9.0])
        add("near_zero", "near 0 it is half of the number", [-0.03125, -0.0078125, 0.0078125, 0.03125])
        add("matrix", "every element of a matrix", normal(lesson.rng(f"{run}_matrix"), T, F, scale=1.5))


def make(root, seed):
    write_lesson(root, "04s_gelu", seed, cases)
