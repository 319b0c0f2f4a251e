"""What the cases of lessons 15 and 20 share: rows of several sequences in one call.

A case of several sequences is answered by each sequence run alone, without a cache.
"""
import numpy as np
import torch

from references.case import write_lesson
from references.llama import BOS, MODELS, forward, load, path_of, save_models, shape
from references.values import integers, scalar


class Cases:
    def __init__(self, lesson):
        self.lesson, self.sizes = lesson, {name: shape(name, lesson.seed) for name in MODELS}

    def add(self, what, run, says, inputs, function, name, **more):
        self.lesson.add(what, run, says, inputs, function, path_of(name), **more)

    def tokens(self, what, name, *lengths):
        """Prompts that begin with BOS; 0 stands for the whole context."""
        rng, m = self.lesson.rng(what), self.sizes[name]
        return [integers(BOS, *rng.integers(2, m["V"], (length or m["context"]) - 1)) for length in lengths]

    def model(self, name):
        return self.lesson.model(path_of(name))(torch.float64)


def rows(*parts):
    """(sequence, first position, tokens) one after the other."""
    column = lambda arrays: np.concatenate([np.asarray(array, np.int32) for array in arrays])
    return {"tokens": column(tokens for _, _, tokens in parts),
            "sequence": column(np.full(len(tokens), b) for b, _, tokens in parts),
            "position": column(start + np.arange(len(tokens)) for _, start, tokens in parts)}


def capacity(inputs, free=1):
    return inputs | {"capacity": scalar(int(inputs["position"].max()) + 1 + free)}


def interleaved(prompts):
    """Token t of every prompt, then token t + 1 of those that have it, ..."""
    return [(b, t, tokens[t:t + 1]) for t in range(max(map(len, prompts))) for b, tokens in enumerate(prompts) if t < len(tokens)]


def rows_together(parts, rows, N):
    """Rows of each sequence, put where the case has them."""
    out = torch.zeros(N, *parts[0].shape[1:], dtype=parts[0].dtype)
    for part, where in zip(parts, rows):
        out[where] = part
    return out


def run_llama_forward(record, a, model):
    tokens, sequence = a["tokens"], a["sequence"]
    rows = [torch.nonzero(sequence == b)[:, 0] for b in sequence.unique()]
    results = [forward(model, record.dtype, tokens[where]) for where in rows]
    for name in results[0][1]:
        record.tap(name, rows_together([between[name] for _, between in results], rows, len(tokens)), "token", "channel")
    record.out("logits", rows_together([logits for logits, _ in results], rows, len(tokens)), "token", "vocabulary")


def make_llama_lesson(root, name, seed, *parts):
    """Write the models and the cases of a lesson. Each part adds cases to a Cases."""
    def cases(lesson):
        c = Cases(lesson)
        for part in parts:
            part(c)

    save_models(root, seed)
    write_lesson(root, name, seed, cases, load)
