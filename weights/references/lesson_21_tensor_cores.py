"""The cases of lesson 21: products of matrices whose numbers are exact in bf16."""
import torch

from references.case import write_lesson
from references.products import add_product
from references.values import normal, signed


def run_matmul(record, a, model):
    """Products of two bf16 are exact in float32."""
    add_product(record, a["a"], a["b"].T)


def bf16(array):
    return torch.from_numpy(array).bfloat16().float().numpy()


def cases(lesson):
    def product(run, what, shape, says):
        """Seeded by the sizes alone, so that all ways get the same matrices."""
        rng, (M, N, K) = lesson.rng(f"product_{what}"), lesson.size(*shape)
        inputs = {"a": bf16(normal(rng, M, K)), "b": bf16(signed(rng, 0.2, 1.5, N, K))}
        lesson.add(f"{run}_{what}", run, says, inputs, run_matmul)

    for what, shape, says in (("one", (1, 1, 1), "a single number"),
                              ("small", (2, 3, 4), "small enough to be read in full: most of the fragment is zeros"),
                              ("fragment", (16, 8, 16), "exactly one fragment"),
                              ("two_steps", (16, 8, 32), "two steps of k: the sums go on"),
                              ("ragged", (17, 9, 17), "one more than a fragment in every size"),
                              ("odd", (5, 7, 33), "K is odd: rows begin between two pairs"),
                              ("many", (40, 50, 70), "many warps, and no size fits"),
                              ("long", (16, 8, 1000), "long sums: rounded to bf16 on the way they would be far off")):
        product("matmul_fragments", what, shape, says)
    for what, shape, says in (("one", (1, 1, 8), "a single element of c"),
                              ("small", (3, 4, 8), "small enough to be read in full"),
                              ("tile", (32, 32, 32), "exactly one tile"),
                              ("two_tiles", (32, 32, 64), "K is two tiles: the second is copied over the first"),
                              ("half_a_tile", (32, 32, 40), "the last tile of k has 8 columns"),
                              ("ragged", (33, 31, 48), "neither M nor N fits"),
                              ("unequal", (70, 40, 104), "several tiles each way, and no two sizes are equal")):
        product("matmul_tiles", what, shape, says)
    for what, shape, says in (("one", (1, 1, 8), "a single element of c"),
                              ("small", (3, 4, 8), "small enough to be read in full: one tile, and nothing to copy ahead"),
                              ("tile", (32, 32, 32), "exactly one tile"),
                              ("two_tiles", (32, 32, 64), "K is two tiles, one for each stage"),
                              ("three_tiles", (32, 32, 96), "the third tile is copied over the first"),
                              ("half_a_tile", (32, 32, 40), "the last tile of k has 8 columns"),
                              ("ragged", (33, 31, 48), "neither M nor N fits"),
                              ("long", (20, 40, 328), "eleven tiles: each stage is filled many times"),
                              ("unequal", (70, 40, 104), "several tiles each way, and no two sizes are equal")):
        product("matmul_pipeline", what, shape, says)


def make(root, seed):
    write_lesson(root, "21_tensor_cores", seed, cases)
