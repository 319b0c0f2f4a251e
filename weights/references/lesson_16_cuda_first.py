"""The cases of lesson 16: the first kernels, which add vectors and multiply matrices of any size."""
import torch

from references.case import write_lesson
from references.products import product
from references.values import normal, signed


def run_add(record, a, model):
    record.out("out", a["x"] + a["y"], "column")


def run_add_from_host(record, a, model):
    run_add(record, a, model)
    record.out("kept", torch.tensor([0]), "row")


def cases(lesson):
    def add(run, what, n, says, function):
        rng, (n,) = lesson.rng(f"{run}_{what}"), lesson.size(n)
        lesson.add(f"{run}_{what}", run, says, {"x": normal(rng, n), "y": signed(rng, 0.5, 2.0, n)}, function)

    for what, n, says in (("one", 1, "a single element: one thread of a block has work"),
                          ("five", 5, "small enough to be read in full"),
                          ("one_block", 256, "a block of 256, to the last thread"),
                          ("one_more", 257, "one element more than a block of 256"),
                          ("thousand", 1000, "several blocks, and a last one that is not full"),
                          ("many_blocks", 2560, "ten full blocks of 256")):
        add("add", what, n, says, run_add)
    for what, n, says in (("one", 1, "a single element"), ("five", 5, "small enough to be read in full"),
                          ("thousand", 1000, "several blocks"), ("again", 33, "the memory of the calls before is free again")):
        add("add_from_host", what, n, says, run_add_from_host)
    for what, shape, says in (("one", (1, 1, 1), "a single number"),
                              ("small", (2, 3, 4), "small enough to be read in full"),
                              ("row", (1, 20, 5), "one row of c, longer than a block is wide"),
                              ("column", (20, 1, 5), "one column of c"),
                              ("one_block", (16, 16, 16), "one block of 16 by 16, full"),
                              ("square", (33, 33, 33), "square: swapped sizes show only in the values"),
                              ("wide", (16, 50, 9), "rows fill their block, columns do not"),
                              ("tall", (50, 16, 9), "columns fill their block, rows do not"),
                              ("long_sums", (5, 6, 70), "K is larger than either side of c"),
                              ("full_blocks", (64, 64, 32), "full blocks only: what `rungs profile` counts")):
        product(lesson, "matmul", what, shape, says)


def make(root, seed):
    write_lesson(root, "16_cuda_first", seed, cases)
