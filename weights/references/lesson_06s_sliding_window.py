"""The cases of the stretch of lesson 06: attention in a sliding window."""
import torch

from references.case import write_lesson
from references.values import attend_inputs, integers, scalar


def run_sdpa(record, a, model):
    T, D = a["q"].shape
    scores = torch.matmul(a["q"], a["k"].T) / D ** 0.5
    record.tap("scores", scores, "query", "key")
    distance = torch.arange(T)[:, None] - torch.arange(T)[None]  # of query t from key s
    seen = (distance >= 0) & (distance < a["window"])
    weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
    record.tap("weights", weights, "query", "key")
    record.out("out", torch.matmul(weights, a["v"]), "query", "dim")


def run_receptive_field(record, a, model):
    """Counted on the masks themselves: which tokens reach the last one through a chain of layers."""
    counts = []
    for layers, window, T in zip(*(a[name].tolist() for name in ("layers", "windows", "lengths"))):
        distance = torch.arange(T)[:, None] - torch.arange(T)[None]
        seen = ((distance >= 0) & (distance < window)).double()
        reached = torch.eye(T, dtype=torch.double)[-1]
        for _ in range(layers):
            reached = (reached @ seen > 0).double()
        counts.append(int(reached.sum()))
    record.out("tokens", torch.tensor(counts), "question")


def cases(lesson):
    for what, shape, window, offset, says in (
            ("two_tokens", (2, 3), 1, 0, "a window of 1: each token sees itself alone"),
            ("three_tokens", (3, 2), 2, 0, "small enough to be read in full: the last query no longer sees the first key"),
            ("window_3", (7, 4), 3, 0, "all sizes differ"),
            ("square", (4, 4), 2, 0, "T = D: only the values tell the axes apart"),
            ("wide", (5, 3), 9, 0, "a window wider than the text hides nothing but the future"),
            ("exact", (5, 6), 5, 0, "a window as wide as the text: the last query still sees the first key"),
            ("large_scores", (6, 5), 3, 110, "scores above 90: exp overflows unless the maximum is subtracted"),
            ("large_past", (6, 3), 2, 0, "the first key has by far the largest score, and counts for nothing once it is out of the window")):
        T, D = lesson.size(*shape)
        inputs = attend_inputs(lesson.rng(f"sdpa_{what}"), T, T, D, offset)
        if what == "large_past":
            inputs["q"][:, 0], inputs["k"][0, 0] = 4.0, 60.0
        lesson.add(f"sdpa_{what}", "sdpa", says, inputs | {"window": scalar(window + (T - shape[0] if what == "exact" else 0))}, run_sdpa)
    lesson.add("receptive_field", "receptive_field", "layers reach further back than a window, and never past the beginning",
               {"layers": integers(1, 2, 2, 3, 4, 6), "windows": integers(4, 4, 1, 3, 8, 5), "lengths": integers(30, 30, 9, 30, 20, 25)},
               run_receptive_field)


def make(root, seed):
    write_lesson(root, "06s_sliding_window", seed, cases)
