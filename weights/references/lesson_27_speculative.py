"""The cases of lesson 27: verdicts on drafted tokens, and texts that two models write together. Nothing is cached or rolled
back here: each distribution is computed from the whole text.
"""
import numpy as np
import torch

from references.case import compute, model_path, write_lesson
from references.sampling import MARGIN, probabilities, sample
from references.tiny_models import TINY_A, TINY_B, save_tiny
from references.values import integers, scalar
from train.torch_decoder import load_model, save_model
from train.tokenizer import BOS, EOS

DRAFT = "_draft"  # the draft of a model stands beside it


def run_accept(record, a, model):
    ratio = a["p"][a["tokens"]] / a["q"][a["tokens"]]
    record.out("accepted", (a["draws"] < ratio.double().clamp(max=1)).long(), "token")
    record.margin = (a["draws"] - ratio).abs().min().item()


def residual(p, q):
    left = (p - q).clamp(min=0)
    return left / left.sum()


def run_residual(record, a, model):
    record.out("out", residual(a["p"], a["q"]), "vocabulary")


def verify(p, q, drafted, draw):
    """How many are kept, the token after them, and how near a decision was to the other one."""
    margins = [np.inf]
    for i, token in enumerate(drafted):
        ratio, u = (p[i, token] / q[i, token]).item(), draw()
        margins.append(abs(u - min(1, ratio)) if ratio > 0 else np.inf)
        if u >= ratio:
            next_token, edge = sample(residual(p[i], q[i]), draw())
            return i, next_token, min(margins + [edge])
    next_token, edge = sample(p[len(drafted)], draw())
    return len(drafted), next_token, min(margins + [edge])


def run_verify(record, a, model):
    draws = iter(a["draws"].tolist())
    kept, next_token, record.margin = verify(a["p"], a["q"], a["drafted"].tolist(), lambda: next(draws))
    record.out("verdict", torch.tensor([kept, next_token]), "number")


def run_roll_back(record, a, model):
    record.out("cached", torch.tensor([min(a["cached"], a["length"])]), "number")


class Pair:
    """A model and its draft; every distribution as the options make it of the logits."""

    def __init__(self, directory, dtype):
        self.model, self.draft = load_model(directory, dtype), load_model(f"{directory}{DRAFT}", dtype)


def behind(model, tokens, n, a):
    """The distributions behind the last n tokens, (n, V), and the smallest margin of a cut."""
    logits = model(torch.tensor(tokens))[-n:]
    rows, margins = zip(*(probabilities(row, a["temperature"], a["top_k"], a["top_p"]) for row in logits))
    return torch.stack(rows), min(margins)


def guess(pair, tokens, k, a, draw):
    """k drafted tokens, and the distributions that they come from."""
    tokens, q, margins = list(tokens), [], [np.inf]
    for _ in range(k):
        row, margin = behind(pair.draft, tokens, 1, a)
        token, edge = sample(row[0], draw())
        tokens.append(token)
        q.append(row[0])
        margins += [margin, edge if a["temperature"] else np.inf]
    return tokens[len(tokens) - k:], torch.stack(q) if q else None, min(margins)


def run_guess(record, a, pair):
    draws = iter(a["draws"].tolist())
    drafted, q, record.margin = guess(pair, a["prompt"].tolist(), a["k"], a, lambda: next(draws))
    record.out("drafted", torch.tensor(drafted), "step")
    record.out("q", q, "step", "vocabulary")


def run_generate(record, a, pair):
    tokens, end = a["prompt"].tolist(), len(a["prompt"]) + a["max_tokens"]
    draws, margins, drafted_all, kept_all, calls = iter(a["draws"].tolist()), [], 0, 0, 0
    draw = lambda: next(draws)
    while len(tokens) < end and EOS not in tokens[len(a["prompt"]):]:
        k = min(a["k"], end - len(tokens) - 1)
        drafted, q, margin = guess(pair, tokens, k, a, draw)
        p, cut = behind(pair.model, tokens + drafted, k + 1, a)
        kept, next_token, edge = verify(p, q, drafted, draw)
        tokens += drafted[:kept] + [next_token]
        margins += [margin, cut, edge if a["temperature"] else np.inf]
        drafted_all, kept_all, calls = drafted_all + k, kept_all + kept, calls + 1
    made = tokens[len(a["prompt"]):]
    record.behind_end = len(made) - made.index(EOS) - 1 if EOS in made else 0
    if EOS in made:
        made = made[:made.index(EOS) + 1]
    record.out("tokens", torch.tensor(made), "step")
    record.out("counts", torch.tensor([drafted_all, kept_all, calls]), "number")
    record.margin = min(margins)


def distribution(rng, V, scale=1.0):
    p = np.exp(scale * rng.standard_normal(V))
    return (p / p.sum()).astype(np.float32)


def rows(rng, n, V):
    return np.stack([distribution(rng, V) for _ in range(n)])


def accept_cases(lesson):
    V, = lesson.size(6)

    def add(what, says, make):
        rng = lesson.rng(f"accept_{what}")
        while True:
            p, q = make(rng)
            tokens = np.repeat(np.flatnonzero(q), 4).astype(np.int32)
            draws = np.floor(rng.random(len(tokens)) * 1e4) / 1e4
            inputs = {"p": p, "q": q, "tokens": tokens, "draws": draws}
            if compute(run_accept, inputs, None, torch.float64).margin > MARGIN:
                break
        lesson.add(f"accept_{what}", "accept", says, inputs, run_accept)

    one = lambda at: np.eye(V, dtype=np.float32)[at]
    add("two_tokens", "small enough to be read in full", lambda rng: (np.float32([0.75, 0.25]), np.float32([0.375, 0.625])))
    add("unlike", "kept with the probability p/q where q is the larger one, else always", lambda rng: (distribution(rng, V), distribution(rng, V)))
    add("equal", "a draft that is right is always kept", lambda rng: 2 * (distribution(rng, V),))
    add("disjoint", "what the model never says is never kept", lambda rng: (one(1) / 2 + one(2) / 2, one(0) / 4 + one(3) * np.float32(0.75)))
    add("certain", "a draft that is certain: q is 1", lambda rng: (distribution(rng, V), one(2)))
    add("greedy", "a model that is certain: kept only where it says the same", lambda rng: (one(2), distribution(rng, V)))


def edge_cases(lesson):
    """A draw that is the ratio itself, which is exact in every dtype: the token is kept below the ratio, and not at it."""
    def run_accept_exactly(record, a, model):
        run_accept(record, a, model)
        record.margin = None  # there is none

    never, half, double, fourfold = 0, 1, 2, 3  # the tokens by their ratios
    p, q = np.float32([0, 0.25, 0.25, 0.5]), np.float32([0.25, 0.5, 0.125, 0.125])
    lesson.add("accept_at_the_ratio", "accept", "kept below the ratio and not at it: at the draw 0 what the model never says is not kept",
               {"p": p, "q": q, "tokens": integers(never, never, half, half, half, double, fourfold),
                "draws": np.float64([0, 0.25, 0.25, 0.5, 0.75, 0, 0.75])}, run_accept_exactly)
    lesson.add("verify_never_said", "verify", "a token that the model never says is replaced, at the draw 0, too",
               {"p": np.stack([p, p]), "q": q[None], "drafted": integers(never), "draws": np.float64([0, 0.125])}, run_verify)


def residual_cases(lesson):
    V, = lesson.size(6)

    def add(what, says, make):
        p, q = make(lesson.rng(f"residual_{what}"))
        lesson.add(f"residual_{what}", "residual", says, {"p": p, "q": q}, run_residual)

    one = lambda at: np.eye(V, dtype=np.float32)[at]
    add("two_tokens", "small enough to be read in full", lambda rng: (np.float32([0.75, 0.25]), np.float32([0.375, 0.625])))
    add("three_tokens", "what p has more than q, made to sum to one", lambda rng: (np.float32([0.5, 0.375, 0.125]), np.float32([0.25, 0.25, 0.5])))
    add("unlike", "two distributions", lambda rng: (distribution(rng, V), distribution(rng, V)))
    add("disjoint", "nothing in common: p itself", lambda rng: (one(1) / 2 + one(2) / 2, one(0) / 4 + one(3) * np.float32(0.75)))
    add("certain", "a draft that was certain: p without that token", lambda rng: (distribution(rng, V), one(2)))
    add("greedy", "a model that is certain", lambda rng: (one(4), distribution(rng, V)))
    add("wide", "many tokens", lambda rng: (distribution(rng, 8 * V, 2.0), distribution(rng, 8 * V, 2.0)))


def verify_cases(lesson):
    V, = lesson.size(6)

    def add(what, says, k, kept=None, p=None, q=None, V=V):
        """Draws are made until every decision is clear and so many tokens are kept."""
        rng = lesson.rng(f"verify_{what}")
        for _ in range(5000):
            a = {"p": rows(rng, k + 1, V) if p is None else p(rng), "q": rows(rng, k, V) if q is None else q(rng)}
            drafted = [sample(torch.from_numpy(row).double(), rng.random())[0] for row in a["q"]]
            a |= {"drafted": integers(*drafted), "draws": np.floor(rng.random(k + 1) * 1e4) / 1e4}
            record = compute(run_verify, a, None, torch.float64)
            if record.margin > MARGIN and kept in (None, record.tensors["verdict"][2][0]):
                break
        else:
            raise RuntimeError(f"verify_{what}: no clear case found")
        lesson.add(f"verify_{what}", "verify", says, a, run_verify)

    add("one_token", "one drafted token, kept: the next comes from the last row of p", 1, kept=1, V=3)
    add("one_token_replaced", "one drafted token, replaced from the residual", 1, kept=0, V=3)
    add("first", "the first of four is not kept", 4, kept=0)
    add("second", "one of four is kept", 4, kept=1)
    add("third", "two of four are kept", 4, kept=2)
    add("last", "three of four are kept", 4, kept=3)
    add("all", "all four are kept, and one more comes free", 4, kept=4)
    add("wide", "a larger vocabulary", 5, V=8 * V, kept=2)
    certain = lambda n: lambda rng: np.eye(V, dtype=np.float32)[rng.integers(0, V, n)]
    add("greedy", "rows of p that are certain", 3, kept=1, p=certain(4))
    add("greedy_all", "certain, and all were guessed", 3, kept=3, p=lambda rng: np.eye(V, dtype=np.float32)[[1, 3, 2, 0]],
        q=lambda rng: np.eye(V, dtype=np.float32)[[1, 3, 2]])
    add("looked_up", "rows of q that are certain", 3, kept=1, q=certain(3))


def text_cases(lesson):
    def prompt_of(rng, name, length):
        vocabulary = load_model(model_path(lesson.root, name), torch.float64).config.vocabulary
        return integers(BOS, *rng.integers(2, vocabulary, length - 1))

    def options(temperature, top_k, top_p):
        return {"temperature": scalar(temperature), "top_k": scalar(top_k), "top_p": scalar(top_p)}

    def add_guess(what, says, name, length, k, temperature, top_k=0, top_p=1.0):
        rng = lesson.rng(f"guess_{what}")
        for _ in range(5000):
            a = {"prompt": prompt_of(rng, name, length), "k": scalar(k), "draws": np.floor(rng.random(k) * 1e4) / 1e4,
                 **options(temperature, top_k, top_p)}
            if compute(run_guess, a, lesson.model(name), torch.float64).margin > MARGIN:
                break
        else:
            raise RuntimeError(f"guess_{what}: no clear case found")
        lesson.add(f"guess_{what}", "guess", says, a, run_guess, name)

    add_guess("one", "one token", TINY_A, 3, 1, 1.0)
    add_guess("three", "each is read before the next is guessed", TINY_A, 4, 3, 1.0)
    add_guess("greedy", "the most probable tokens", TINY_B, 2, 4, 0.0)
    add_guess("cut", "the draft cuts as the model does", TINY_B, 3, 3, 1.5, top_k=6, top_p=0.75)

    for what, cached, length, says in (("taken_back", 9, 6, "tokens that were not kept are forgotten"),
                                       ("nothing", 6, 6, "nothing to take back"),
                                       ("not_read_yet", 5, 8, "what was never read does not become read")):
        lesson.add(f"roll_back_{what}", "roll_back", says, {"cached": scalar(cached), "length": scalar(length)}, run_roll_back)

    def add(what, says, name, length, max_tokens, k, temperature, top_k=0, top_p=1.0, wanted=lambda drafted, kept, calls: True, ends=None):
        """ends(n): an end of the text comes, with n tokens behind it that go."""
        rng = lesson.rng(f"generate_{what}")
        for _ in range(5000):
            a = {"prompt": prompt_of(rng, name, length), "max_tokens": scalar(max_tokens), "k": scalar(k),
                 "draws": np.floor(rng.random(3 * (k + 1) * max_tokens) * 1e4) / 1e4, **options(temperature, top_k, top_p)}
            if what == "eos_in_the_prompt":
                a["prompt"][1] = EOS
            record = compute(run_generate, a, lesson.model(name), torch.float64)
            made = record.tensors["tokens"][2].tolist()
            right_end = made[-1] == EOS and 3 < len(made) < max_tokens and ends(record.behind_end) if ends else EOS not in made
            if right_end and len(set(made)) > 2 and record.margin > MARGIN / 4 and wanted(*record.tensors["counts"][2].tolist()):
                break
        else:
            raise RuntimeError(f"generate_{what}: no clear case found")
        lesson.add(f"generate_{what}", "generate", says, a, run_generate, name)

    some = lambda drafted, kept, calls: 0 < kept < drafted
    context = load_model(model_path(lesson.root, TINY_A), torch.float64).config.context
    add("one_ahead", "one token at a time is guessed", TINY_A, 3, 6, 1, 1.0, wanted=some)
    add("greedy", "the text of greedy decoding", TINY_A, 4, 10, 3, 0.0, wanted=some)
    add("greedy_wide_head", "the same of another model", TINY_B, 2, 9, 4, 0.0, wanted=some)
    add("sampled", "kept, replaced and free tokens", TINY_A, 4, 10, 3, 1.0, wanted=lambda d, kept, calls: 2 < kept < d - 2)
    add("cut", "p and q are cut alike", TINY_B, 3, 9, 3, 1.5, top_k=6, top_p=0.75, wanted=some)
    add("all_kept", "the draft reads the last token that was kept, and the free one, in its next call", TINY_A, 3, 10, 2, 0.75,
        wanted=lambda d, kept, calls: kept >= d - 1 and calls > 3)
    add("far_ahead", "more is guessed than there is room for", TINY_A, 3, 5, 9, 1.0, wanted=some)
    add("to_the_last_position", "prompt and text fill the context", TINY_A, 6, context - 6, 4, 1.0, wanted=some)
    add("eos", "a text ends within a draft", TINY_B, 3, 14, 4, 1.0, wanted=some, ends=lambda n: n > 1)
    add("eos_is_free", "the end is the token behind the draft", TINY_B, 4, 14, 3, 1.0, wanted=some, ends=lambda n: n == 0)
    add("eos_drafted_last", "the end is the last token that was kept", TINY_A, 3, 14, 2, 1.0, wanted=some, ends=lambda n: n == 1)
    add("eos_in_the_prompt", "an end in the prompt ends nothing", TINY_A, 4, 8, 3, 1.0, wanted=some)


def save_drafts(root, seed):
    """The draft of a model: its weights, each a little wrong."""
    for number, name in enumerate((TINY_A, TINY_B)):
        model = load_model(model_path(root, name), torch.float32)
        rng = np.random.default_rng([seed, 27, number])
        with torch.no_grad():
            for value in model.parameters():
                value.mul_(torch.from_numpy((1 + 0.15 * rng.standard_normal(value.shape)).astype(np.float32)))
        save_model(model_path(root, name + DRAFT), model)


def cases(lesson):
    accept_cases(lesson)
    residual_cases(lesson)
    verify_cases(lesson)
    text_cases(lesson)
    edge_cases(lesson)


def make(root, seed):
    save_tiny(root, seed)
    save_drafts(root, seed)
    write_lesson(root, "27_speculative", seed, cases, Pair)
