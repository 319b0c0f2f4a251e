"""Cases of bare products, which lessons 16, 17 and 21 share."""
import torch

from references.case import sum_budget
from references.values import normal, signed


def add_product(record, a, b):
    """A bare product: every element has its own budget, of K terms."""
    record.out("c", torch.matmul(a, b), "row", "column")
    record.budgets["c"] = sum_budget(a.shape[1], torch.matmul(a.square(), b.square()))


def run_matmul(record, a, model):
    add_product(record, a["a"], a["b"])


def product(lesson, run, what, shape, says):
    """Seeded by the sizes alone, so that the rungs of a ladder get the same matrices."""
    rng, (M, N, K) = lesson.rng(f"product_{what}"), lesson.size(*shape)
    inputs = {"a": normal(rng, M, K), "b": signed(rng, 0.2, 1.5, K, N)}
    lesson.add(f"{run}_{what}", run, says, inputs, run_matmul)
