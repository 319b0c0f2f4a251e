"""The cases of lesson 19: attention of any shape, on the edges of warps, tiles and splits."""
import numpy as np
import torch

from references.case import write_lesson
from references.values import integers, normal

RUNGS = ("attention_naive", "attention_online", "attention_tiled")


def sdpa(record, a, taps):
    q, k, v = (a[name].transpose(0, 1) for name in "qkv")  # (H, T, D), (G, S, D)
    (H, T, D), (G, S, _) = q.shape, k.shape
    k, v = (x.repeat_interleave(H // G, 0) for x in (k, v))  # (H, S, D)
    scores = torch.matmul(q, k.transpose(1, 2)) / D ** 0.5
    hidden = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1)
    if taps:
        record.tap("weights", weights, "head", "query", "key")
    record.out("out", torch.matmul(weights, v).transpose(0, 1), "query", "head", "dim")


def run_attention(record, a, model):
    sdpa(record, a, taps=False)


def run_split(record, a, model):
    """log Σ exp(score) of each head, which the splits' maxima and sums give together, says that no key counted twice."""
    sdpa(record, a, taps=False)
    q, k = a["q"][0], a["k"]  # (H, D), (S, G, D)
    keys = k.transpose(0, 1).repeat_interleave(len(q) // k.shape[1], 0)  # (H, S, D)
    scores = torch.matmul(keys, q[:, :, None])[..., 0] / q.shape[1] ** 0.5
    record.out("lse", torch.logsumexp(scores, -1), "head")


class Outputs:
    """The outputs of one query alone."""

    def __init__(self):
        self.of = {}

    def out(self, name, value, *axes):
        self.of[name] = value


def run_batch(record, a, model):
    """Queries of several sequences over their cache: each as if it were alone."""
    out, lse = [], []
    for q, sequence, position in zip(a["q"], a["sequence"].tolist(), a["position"].tolist()):
        alone = Outputs()
        run_split(alone, {"q": q[None], "k": a["k"][sequence, :position + 1], "v": a["v"][sequence, :position + 1]}, model)
        out.append(alone.of["out"][0])
        lse.append(alone.of["lse"])
    record.out("out", torch.stack(out), "query", "head", "dim")
    record.out("lse", torch.cat(lse), "head")


def run_naive(record, a, model):
    sdpa(record, a, taps=True)


def cases(lesson):
    def inputs(what, shape, scale=1.0):
        rng, (T, S, H, G, D) = lesson.rng(f"attention_{what}"), shape
        return {"q": normal(rng, T, H, D) * np.float32(scale), "k": normal(rng, S, G, D), "v": normal(rng, S, G, D)}

    functions = {run: run_attention for run in RUNGS} | {"attention_naive": run_naive}

    def all_shapes(run, function):
        for what, shape, scale, says in (
                ("one", (1, 1, 1, 1, 1), 1, "one query, one key, one number"),
                ("two", (2, 2, 1, 1, 3), 1, "small enough to be read in full"),
                ("past", (3, 5, 2, 2, 4), 1, "two tokens stand before the first query"),
                ("groups", (4, 7, 6, 3, 6), 1, "two query heads read each key/value head, of three"),
                ("one_query", (1, 45, 4, 2, 33), 1, "one query after a long past; the head is wider than a warp"),
                ("tile", (8, 32, 2, 1, 16), 1, "exactly a tile of keys, and the queries of one block"),
                ("tile_and_one", (9, 33, 2, 1, 16), 1, "one key and one query more than a tile has"),
                ("tiles", (20, 70, 4, 2, 32), 1, "three tiles, the last not full; queries end in different ones"),
                ("wide", (3, 40, 2, 2, 256), 1, "the widest head"),
                ("large", (5, 40, 2, 1, 8), 40, "scores above 90, and the maximum comes late")):
            lesson.add(f"{run}_{what}", run, says, inputs(what, shape, scale), function)

    def low(run, function, **more):
        values = inputs("low", (1 if more else 2, 40, 2, 1, 8), 0.1) | more
        values["q"] = np.float32(50) * (values["q"] + np.float32(1))
        values["k"] = np.float32(0.1) * values["k"] - np.float32(1)
        lesson.add(f"{run}_low", run, "every score is below -100: a maximum that begins at 0 leaves nothing", values,
                   function)

    for run in RUNGS:
        all_shapes(run, functions[run])
    for what, (S, H, G, D), splits, scale, says in (
            ("one", (1, 1, 1, 1), 1, 1, "one key and one split"),
            ("two", (4, 1, 1, 3), 2, 1, "small enough to be read in full"),
            ("ragged", (10, 2, 1, 6), 4, 1, "three splits of three keys, and one of one"),
            ("empty", (5, 2, 2, 4), 4, 1, "two keys each: the last split has none"),
            ("groups", (50, 6, 3, 33), 8, 1, "two query heads read each key/value head"),
            ("long", (200, 4, 2, 64), 16, 1, "many keys"),
            ("large", (40, 2, 1, 8), 4, 40, "scores above 90: the splits' maxima are far apart")):
        values = inputs(f"split_{what}", (1, S, H, G, D), scale) | {"splits": np.int32(splits)}
        lesson.add(f"attention_split_{what}", "attention_split", says, values, run_split)

    for run in RUNGS:
        low(run, functions[run])
    low("attention_split", run_split, splits=np.int32(4))

    rng, (B, S, H, G, D) = lesson.rng("attention_split_batch"), (3, 21, 4, 2, 6)
    values = {"q": normal(rng, 4, H, D), "k": normal(rng, B, S, G, D), "v": normal(rng, B, S, G, D),
              "sequence": integers(2, 0, 1, 0), "position": integers(20, 12, 0, 4), "splits": np.int32(4)}
    lesson.add("attention_split_batch", "attention_split",
               "four queries of three sequences, at positions that only the device knows", values, run_batch)

    all_shapes("attention_flash2", run_attention)
    low("attention_flash2", run_attention)
    values = inputs("falls", (2, 40, 2, 1, 8), 0.1)
    values["q"] = np.float32(50) * (values["q"] + np.float32(1))
    values["k"] = np.float32(0.1) * values["k"]
    values["k"][:32] += np.float32(1)
    lesson.add("attention_flash2_falls", "attention_flash2",
               "every score of the second tile is 100 lower than those of the first", values, run_attention)


def make(root, seed):
    write_lesson(root, "19_cuda_attention", seed, cases)
