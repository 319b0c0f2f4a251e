"""The cases of lessons 16 and 17: sums and products of any size, for kernels that work in blocks and tiles."""
import numpy as np
import torch

from reference_case import UNIT
from reference_cuda_attention import cuda_attention
from reference_cuda_reduce import cuda_reduce
from reference_tensor_cores import tensor_cores
from reference_values import normal, signed


def run_add(record, a, model):
    record.out("out", a["x"] + a["y"], "column")


def run_add_from_host(record, a, model):
    run_add(record, a, model)
    record.out("kept", torch.tensor([0]), "row")


def run_matmul(record, a, model):
    """A bare product: every element has its own budget, of K terms."""
    a, b = a["a"], a["b"]
    record.out("c", torch.matmul(a, b), "row", "column")
    squares = torch.matmul(a.square(), b.square())
    record.budgets["c"] = (8 * np.sqrt(a.shape[1]) * UNIT * squares.sqrt()).numpy()


def product(lesson, size, run, what, shape, says):
    """Seeded by the sizes alone, so that the rungs of a ladder get the same matrices."""
    rng, (M, N, K) = lesson.rng(f"product_{what}"), size(*shape)
    inputs = {"a": normal(rng, M, K), "b": signed(rng, 0.2, 1.5, K, N)}
    lesson.add(f"{run}_{what}", run, says, inputs, run_matmul)


def cuda_first(lesson, size):
    def add(run, what, n, says, function):
        rng, (n,) = lesson.rng(f"{run}_{what}"), size(n)
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
        product(lesson, size, "matmul", what, shape, says)


def cuda_matmul(lesson, size):
    for run in ("matmul_coalesced", "matmul_tiled", "matmul_registers", "matmul_vectorized"):
        for what, shape, says in (("one", (1, 1, 1), "a single number: a tile with one element"),
                                  ("small", (2, 3, 4), "small enough to be read in full"),
                                  ("ragged_rows", (31, 32, 32), "M is no multiple of a tile"),
                                  ("ragged_columns", (32, 33, 32), "N is no multiple of a tile, nor of 4"),
                                  ("ragged_sums", (32, 32, 35), "K is no multiple of a tile, nor of 4"),
                                  ("two_tiles", (32, 32, 64), "K is two tiles: the second is loaded over the first"),
                                  ("unequal", (66, 45, 33), "nothing fits, and no two sizes are equal"),
                                  ("fours", (36, 72, 20), "rows of a and b are multiples of 4 floats, not of a tile"),
                                  ("full_tiles", (64, 64, 32), "full tiles only: what `rungs profile` counts")):
            product(lesson, size, run, what, shape, says)


CUDA = {"16_cuda_first": cuda_first, "17_cuda_matmul": cuda_matmul, "18_cuda_reduce": cuda_reduce,
        "19_cuda_attention": cuda_attention, "21_tensor_cores": tensor_cores}
