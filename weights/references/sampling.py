"""How a token is chosen from logits, and the cases that generate, which lessons 07 and 08 share."""
import numpy as np
import torch

from references.case import WEIGHTS, compute
from references.tiny_models import TINY_A, TINY_B
from references.values import DECODER, integers, scalar, story_tokens
from train.tokenizer import BOS, EOS

MARGIN = 1e-3  # what a decision of a case stands clear of its edges; float32 errs by less than 1e-5


def probabilities(logits, temperature, top_k, top_p):
    """(V) -> the distribution that is sampled from, and how near a token came to being cut or kept the other way."""
    V = len(logits)
    if temperature == 0:
        best = torch.sort(logits, descending=True, stable=True)
        margin = (best.values[0] - best.values[1]).item()
        return torch.nn.functional.one_hot(best.indices[0], V).to(logits.dtype), margin

    margin = np.inf
    p, order = torch.sort(torch.softmax(logits / temperature, -1), descending=True, stable=True)
    if 0 < top_k < V:
        margin = (1 - p[top_k] / p[top_k - 1]).item()
        p = p[:top_k] / p[:top_k].sum()
    if top_p < 1:
        sums = p.cumsum(0)
        margin = min(margin, (sums - top_p).abs().min().item())
        p = p[:int((sums - p < top_p).sum())]  # the tokens before which the sum is still below top_p
    out = torch.zeros(V, dtype=logits.dtype)
    out[order[:len(p)]] = p / p.sum()
    return out, margin


def sample(p, draw):
    """The first token whose running sum exceeds the draw, and the draw's distance from the edges of its interval."""
    sums = p.double().cumsum(0)
    token = int((sums <= draw).sum())
    begin = sums[token] - p[token]
    return token, min((sums[token] - draw).item(), (draw - begin).item() if begin > 0 else np.inf)


def run_generate(record, a, model):
    tokens, steps, margins = a["prompt"].tolist(), [], []
    for draw in a["draws"].tolist():
        logits = model(torch.tensor(tokens))[-1]
        p, margin = probabilities(logits, a["temperature"], a["top_k"], a["top_p"])
        token, edge = sample(p, draw)
        tokens.append(token)
        steps.append(logits)
        margins += [margin, np.inf if a["temperature"] == 0 else edge]
        if token == EOS:
            break
    record.tap("logits", torch.stack(steps), "step", "vocabulary")
    record.out("tokens", torch.tensor(tokens[len(a["prompt"]):]), "step")
    record.margin = min(margins)


def generate_cases(lesson):
    def add(what, says, model, prompt, max_tokens, temperature, top_k=0, top_p=1.0, ends=False):
        """prompt(rng) makes the prompt. Draws are made until every decision is clear and <eos> comes when it should."""
        rng = np.random.default_rng([lesson.seed, *f"generate_{what}".encode()])  # the same cases in both lessons
        for _ in range(5000):
            inputs = {"prompt": prompt(rng), "max_tokens": scalar(max_tokens), "temperature": scalar(temperature), "top_k": scalar(top_k),
                      "top_p": scalar(top_p), "draws": np.floor(rng.random(max_tokens) * 1e4) / 1e4}
            record = compute(run_generate, inputs, lesson.model(model), torch.float64)
            tokens = record.tensors["tokens"][2].tolist()
            right_end = tokens[-1] == EOS and 2 < len(tokens) < max_tokens if ends else EOS not in tokens
            if right_end and len(set(tokens)) > 2 and record.margin > MARGIN:
                break
        else:
            raise RuntimeError(f"generate_{what}: no clear case found")
        lesson.add(f"generate_{what}", "generate", says, inputs, run_generate, model)

    def random_prompt(model, length):
        vocabulary = lesson.model(model)(torch.float64).config.vocabulary
        return lambda rng: integers(BOS, *rng.integers(2, vocabulary, length - 1))

    context = lesson.model(TINY_A)(torch.float64).config.context
    add("greedy", "the most probable token at each step", TINY_A, random_prompt(TINY_A, 3), 8, 0.0)
    add("greedy_wide_head", "a prompt of two tokens", TINY_B, random_prompt(TINY_B, 2), 6, 0.0)
    add("to_the_last_position", "prompt and answer fill the context", TINY_A, random_prompt(TINY_A, 4), context - 4, 1.0)
    add("sampled", "one draw a token", TINY_A, random_prompt(TINY_A, 4), 8, 1.0)
    add("hot", "temperature 2: logits are divided before softmax", TINY_B, random_prompt(TINY_B, 3), 7, 2.0)
    add("top_k", "only the 4 best tokens can be drawn", TINY_A, random_prompt(TINY_A, 2), 8, 1.5, top_k=4)
    add("top_p", "only the tokens that make up 3/4 can be drawn", TINY_B, random_prompt(TINY_B, 5), 8, 2.0, top_p=0.75)
    add("top_k_then_top_p", "both cuts", TINY_A, random_prompt(TINY_A, 3), 8, 2.0, top_k=6, top_p=0.75)
    add("eos", "<eos> ends the answer and belongs to it", TINY_B, random_prompt(TINY_B, 3), 12, 1.0, ends=True)

    if not (WEIGHTS / DECODER / "model.safetensors").exists():
        for _ in range(3):
            lesson.skip()
        return

    def ending(rng):
        """A story without its last sentence."""
        tokens = story_tokens(WEIGHTS / DECODER, rng, None)
        stops = np.flatnonzero(tokens == tokens[-1])
        return tokens[:stops[-2] + 1]

    beginning = lambda length: lambda rng: story_tokens(WEIGHTS / DECODER, rng, length)
    add("story", "the trained decoder goes on with a story", DECODER, beginning(6), 12, 0.0)
    add("story_sampled", "the trained decoder, sampled", DECODER, beginning(8), 12, 0.75, top_k=40, top_p=0.9375)
    add("story_ends", "the trained decoder ends its story", DECODER, ending, 24, 0.0, ends=True)
