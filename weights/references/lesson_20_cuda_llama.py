"""The cases of lesson 20: the LLaMA of lesson 15 where every step stays on the device.

needs: torch, transformers 4.46.
"""
import numpy as np
import torch

from references.case import compute
from references.llama import BOS, forward, path_of
from references.llama_cases import capacity, interleaved, make_llama_lesson, rows, run_llama_forward
from references.sampling import MARGIN
from references.values import integers, scalar


def run_decode(record, a, model):
    """Greedy, without an end; the margin is that of the closest choice."""
    tokens, margins = a["tokens"].tolist(), []
    for _ in range(a["max_tokens"]):
        logits = forward(model, record.dtype, tokens)[0][-1]
        best = logits.topk(2).values
        margins.append(float(best[0] - best[1]))
        tokens.append(int(logits.argmax()))
    made = tokens[len(a["tokens"]):]
    record.out("tokens", torch.tensor(made), "step")
    record.out("position", torch.tensor([len(tokens) - 1]), "row")
    record.margin = min(margins)


def cases(c):
    def add(what, name, parts, says, calls=None, free=1):
        inputs = capacity(rows(*parts), free)
        if calls:
            inputs["calls"] = integers(*calls)
        c.add(f"llama_forward_{what}", "llama_forward", says, inputs, run_llama_forward, name, taps=False)

    one, = c.tokens("one_token", "gqa", 1)
    add("one_token", "gqa", [(0, 0, one)], "the beginning of a text")
    five, = c.tokens("five_tokens", "wide", 5)
    add("five_tokens", "wide", [(0, 0, five)], "small enough to be read; a head is wider than C/H, epsilon is large")
    for name, says in (("mha", "as many key/value heads as query heads"), ("gqa", "two query heads a key/value head; the output is the token embedding"),
                       ("mqa", "all query heads read one head")):
        tokens, = c.tokens(f"long_{name}", name, 9)
        add(f"long_{name}", name, [(0, 0, tokens)], f"{says}; more rows than one product takes at once", free=0)
    a, b, d = c.tokens("batch", "gqa", 5, 2, 9)
    add("batch", "gqa", [(0, 0, a), (1, 0, b), (2, 0, d)], "three prompts of different lengths: each as if it were alone")
    prompts = c.tokens("interleaved", "mqa", 6, 3, 7)
    add("interleaved", "mqa", interleaved(prompts), "rows of three sequences take turns")
    tokens, = c.tokens("chunks", "wide", 11)
    add("chunks", "wide", [(0, 0, tokens)], "a prompt in chunks of 5, 1, 4 and 1", [5, 1, 4, 1])

    for what, name, length, steps, says in (("from_bos", "gqa", 1, 6, "a prompt of <bos> alone"),
                                            ("prompt", "mha", 4, 8, "a prompt, then eight tokens"),
                                            ("long", "llama3", 7, 12, "twelve tokens: a position that stays behind shows"),
                                            ("one_step", "wide", 3, 1, "a single step")):
        rng, m = c.lesson.rng(f"decode_{what}"), c.sizes[name]
        for _ in range(3000):
            inputs = {"tokens": integers(BOS, *rng.integers(2, m["V"], length - 1)), "max_tokens": scalar(steps)}
            record = compute(run_decode, inputs, c.lesson.model(path_of(name)), torch.float64)
            if record.margin > MARGIN and len(np.unique(record.tensors["tokens"][2])) >= min(steps, 3):
                break
            if length == 1:
                steps -= 1
        else:
            raise RuntimeError(f"decode_{what}: no clear case found")
        c.add(f"decode_{what}", "decode", says, inputs, run_decode, name)


def make(root, seed):
    make_llama_lesson(root, "20_cuda_llama", seed, cases)
