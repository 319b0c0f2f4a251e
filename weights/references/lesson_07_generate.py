"""The cases of lesson 07: logits become probabilities, draws become tokens."""
import numpy as np
import torch

from references.case import compute, write_lesson
from references.sampling import generate_cases, probabilities, sample
from references.tiny_models import save_tiny
from references.values import normal, scalar


def run_probabilities(record, a, model):
    p, margin = probabilities(a["logits"], a["temperature"], a["top_k"], a["top_p"])
    record.out("probabilities", p, "vocabulary")
    record.margin = margin if np.isfinite(margin) else None


def run_sample(record, a, model):
    chosen = [sample(a["probabilities"], draw) for draw in a["draws"].tolist()]
    record.out("tokens", torch.tensor([token for token, _ in chosen]), "step")
    record.margin = min(margin for _, margin in chosen)


def probabilities_cases(lesson):
    V, = lesson.size(7)

    def add(what, says, temperature, top_k=0, top_p=1.0, change=lambda logits: None, wanted=lambda logits: True):
        rng = lesson.rng(f"probabilities_{what}")
        while True:
            logits = normal(rng, V, scale=1.5)
            change(logits)
            inputs = {"logits": logits, "temperature": scalar(temperature), "top_k": scalar(top_k), "top_p": scalar(top_p)}
            margin = compute(run_probabilities, inputs, None, torch.float64).margin
            if what == "greedy_tie" or (margin is None or margin > 0.02) and wanted(torch.from_numpy(logits).double()):
                break
        lesson.add(f"probabilities_{what}", "probabilities", says, inputs, run_probabilities)

    def tie(logits):
        logits[[2, 5]] = 4.0

    def order_matters(logits):
        """top_p measured before top_k, or without renormalizing, keeps more tokens."""
        count = lambda k: int((probabilities(logits, 2.0, k, 0.75)[0] > 0).sum())
        return 1 < count(4) < min(4, count(0))

    several = lambda logits: 2 < int((probabilities(logits, 2.0, 0, 0.75)[0] > 0).sum()) < V
    add("plain", "temperature 1 is softmax", 1.0)
    add("cold", "a temperature below 1 sharpens", 0.5)
    add("hot", "a temperature above 1 flattens", 2.0)
    add("large_logits", "logits above 90: exp overflows unless the maximum is subtracted", 1.0,
        change=lambda logits: logits.__iadd__(np.float32(96)))
    add("greedy", "temperature 0 takes the largest logit", 0.0)
    add("greedy_tie", "of two largest logits the lower id wins", 0.0, change=tie)
    add("top_k", "the k most probable tokens share everything", 1.5, top_k=3)
    add("top_k_of_all", "a k above the vocabulary keeps every token", 2.0, top_k=V + 4)
    add("top_p", "the token that crosses p is kept", 2.0, top_p=0.75, wanted=several)
    add("top_p_one_token", "a p below the largest probability keeps one token", 0.75, top_p=0.125)
    add("top_k_then_top_p", "p is measured on what top_k left, renormalized", 2.0, top_k=4, top_p=0.75, wanted=order_matters)


def clear_edge_cases(lesson):
    """Decisions at an edge, which is exact in any arithmetic: equal logits, and sums of powers of two."""
    def add(what, says, logits, temperature, top_k=0, top_p=1.0):
        inputs = {"logits": np.array(logits, np.float32), "temperature": scalar(temperature), "top_k": scalar(top_k), "top_p": scalar(top_p)}
        lesson.add(f"probabilities_{what}", "probabilities", says, inputs, run_probabilities)

    add("greedy_negative", "the largest of negative logits wins", [-3.5, -2.25, -0.75, -4, -1.5], 0.0)
    add("top_k_equals", "of equally probable tokens those with the lower ids stay, exactly k", [1, 2, 1, 2, 1, 0, 1], 1.0, top_k=3)
    add("top_p_exactly", "a sum that is p has reached it", [1.5] * 8, 1.0, top_p=0.5)


def sample_cases(lesson):
    def add(what, says, weights, draws):
        p = np.array(weights, np.float32)
        p /= p.sum()
        inputs = {"probabilities": p, "draws": np.array(draws, np.float64)}
        assert compute(run_sample, inputs, None, torch.float64).margin > 1e-4
        lesson.add(f"sample_{what}", "sample", says, inputs, run_sample)

    add("two_tokens", "small enough to be read in full", [0.3, 0.7], [0.1, 0.6])
    add("in_id_order", "the walk is in the order of ids, whatever the probabilities", [0.2, 0.1, 0.4, 0.05, 0.25],
        [0.1, 0.25, 0.5, 0.725, 0.875, 0.2105, 0.7495, 0.99])
    add("zeros", "a token of probability 0 is never sampled, also for a draw of 0", [0, 0, 0.25, 0, 0.5, 0.25, 0],
        [0.0, 0.125, 0.5, 0.76, 0.999, 0.9998])
    rng = lesson.rng("sample_many")
    p = rng.exponential(size=lesson.size(40))
    edges = np.cumsum(p) / p.sum()
    draws = [draw for draw in np.round(rng.random(64), 5) if np.abs(edges - draw).min() > 2e-4]
    add("many", "each draw finds its own token", p, draws[:48])


def cases(lesson):
    probabilities_cases(lesson)
    sample_cases(lesson)
    generate_cases(lesson)
    clear_edge_cases(lesson)  # last, so that the cases before it keep their numbers


def make(root, seed):
    save_tiny(root, seed)
    write_lesson(root, "07_generate", seed, cases)
