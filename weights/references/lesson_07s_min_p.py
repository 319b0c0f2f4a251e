"""The cases of the stretch of lesson 07: min-p."""
import numpy as np
import torch

from references.case import compute, write_lesson
from references.values import normal, scalar


def keep_min_p(record, p, share):
    """(V) -> what stays, summing to one; and how near a token came to the edge."""
    edge = share * p.max()
    kept = torch.where(p >= edge, p, torch.zeros_like(p))
    record.tap("kept", kept, "vocabulary")
    return kept / kept.sum(), ((p / p.max() - share).abs().min() if share > 0 else torch.tensor(1.0)).item()


def run_keep_min_p(record, a, model):
    p, _ = keep_min_p(record, a["p"], a["share"])
    record.out("p", p, "vocabulary")


def run_probabilities(record, a, model):
    softmax = torch.softmax(a["logits"] / a["temperature"], -1)
    record.tap("softmax", softmax, "vocabulary")
    p, record.margin = keep_min_p(record, softmax, a["share"])
    record.out("probabilities", p, "vocabulary")


def cut_cases(lesson):
    """Probabilities that are sums of powers of two: an edge is exact in any arithmetic."""
    def add(what, says, p, share):
        inputs = {"p": np.array(p, np.float32), "share": scalar(share)}
        assert inputs["p"].sum() == 1
        lesson.add(f"keep_min_p_{what}", "keep_min_p", says, inputs, run_keep_min_p)

    add("two_tokens", "small enough to be read in full: a quarter is less than half of three quarters", [0.25, 0.75], 0.5)
    add("edge", "a probability that equals the share of the largest stays", [0.125, 0.5, 0.0625, 0.25, 0.0625], 0.25)
    add("sure", "where one token is sure, a small share leaves it alone", [0.03125, 0.0078125, 0.9375, 0.0078125, 0.015625], 0.125)
    add("unsure", "where all are alike, the same share keeps them all", [0.125, 0.1875, 0.125, 0.25, 0.1875, 0.125], 0.125)
    add("nothing_cut", "a share of 0 keeps every token", [0.5, 0.0625, 0.3125, 0.125], 0.0)
    add("only_the_largest", "a share of 1 keeps the largest, and its equals", [0.375, 0.125, 0.375, 0.125], 1.0)


def probabilities_cases(lesson):
    V, = lesson.size(8)

    def add(what, says, temperature, share, kept, offset=0):
        """kept(cold, hot): of how many tokens stay at temperature 1 and at this one."""
        rng = lesson.rng(f"probabilities_{what}")
        count = lambda inputs, t: int((compute(run_probabilities, inputs | {"temperature": scalar(t)}, None, torch.float64)
                                       .tensors["probabilities"][2] > 0).sum())
        while True:
            logits = normal(rng, V, scale=1.5) + np.float32(offset)
            inputs = {"logits": logits, "temperature": scalar(temperature), "share": scalar(share)}
            margin = compute(run_probabilities, inputs, None, torch.float64).margin
            if margin > 0.02 and kept(count(inputs, 1.0), count(inputs, temperature)):
                break
        lesson.add(f"probabilities_{what}", "probabilities", says, inputs, run_probabilities)

    add("plain", "temperature 1", 1.0, 0.1875, lambda cold, hot: 2 < hot < V)
    add("hot", "temperature 2 comes first: more tokens reach the share", 2.0, 0.25, lambda cold, hot: 1 < cold < hot < V)
    add("cold", "temperature 0.5 comes first: fewer tokens reach the share", 0.5, 0.125, lambda cold, hot: 1 < hot < cold)
    add("large_logits", "logits above 90: exp overflows unless the maximum is subtracted", 1.5, 0.25,
        lambda cold, hot: 2 < hot < V, offset=96)


def cases(lesson):
    cut_cases(lesson)
    probabilities_cases(lesson)


def make(root, seed):
    write_lesson(root, "07s_min_p", seed, cases)
