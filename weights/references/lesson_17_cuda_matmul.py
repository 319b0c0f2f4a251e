"""The cases of lesson 17: products of any size, for kernels that work in blocks and tiles."""
from references.case import write_lesson
from references.products import product

SIZES = (("one", (1, 1, 1), "a single number: a tile with one element"),
         ("small", (2, 3, 4), "small enough to be read in full"),
         ("ragged_rows", (31, 32, 32), "M is no multiple of a tile"),
         ("ragged_columns", (32, 33, 32), "N is no multiple of a tile, nor of 4"),
         ("ragged_sums", (32, 32, 35), "K is no multiple of a tile, nor of 4"),
         ("two_tiles", (32, 32, 64), "K is two tiles: the second is loaded over the first"),
         ("unequal", (66, 45, 33), "nothing fits, and no two sizes are equal"),
         ("fours", (36, 72, 20), "rows of a and b are multiples of 4 floats, not of a tile"))


def cases(lesson):
    for run in ("matmul_coalesced", "matmul_tiled", "matmul_registers", "matmul_vectorized"):
        for what, shape, says in SIZES:
            product(lesson, run, what, shape, says)
        product(lesson, run, "full_tiles", (64, 64, 32), "full tiles only: what `rungs profile` counts")

    for what, shape, says in SIZES:
        product(lesson, "matmul_8x8", what, shape, says)
    product(lesson, "matmul_8x8", "blocks", (130, 134, 9), "two blocks in each direction, the second nearly empty")
    product(lesson, "matmul_8x8", "full_blocks", (128, 128, 16), "full tiles only: what `rungs profile` counts")


def make(root, seed):
    write_lesson(root, "17_cuda_matmul", seed, cases)
