"""The cases of lesson 07, which turns logits into tokens, and of lesson 08, which keeps keys and values."""
import numpy as np
import torch

from reference_case import WEIGHTS, compute, model_path
from reference_values import (DECODER, TINY_A, TINY_B, attend_inputs, attention_inputs, filled_cache, integers, normal,
                              random_tokens, scalar, signed, story_tokens)
from tokenizer import BOS, EOS
from torch_decoder import Attention, Cache, attend, load_model

MARGIN = 1e-3  # what a decision of a case stands clear of its edges; float32 errs by less than 1e-5


# Sampling

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


def run_probabilities(record, a, model):
    p, margin = probabilities(a["logits"], a["temperature"], a["top_k"], a["top_p"])
    record.out("probabilities", p, "vocabulary")
    record.margin = margin if np.isfinite(margin) else None


def run_sample(record, a, model):
    chosen = [sample(a["probabilities"], draw) for draw in a["draws"].tolist()]
    record.out("tokens", torch.tensor([token for token, _ in chosen]), "step")
    record.margin = min(margin for _, margin in chosen)


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


# Lesson 07

def probabilities_cases(lesson, size):
    V, = size(7)

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


def sample_cases(lesson, size):
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
    p = rng.exponential(size=size(40))
    edges = np.cumsum(p) / p.sum()
    draws = [draw for draw in np.round(rng.random(64), 5) if np.abs(edges - draw).min() > 2e-4]
    add("many", "each draw finds its own token", p, draws[:48])


def generate_cases(lesson, size):
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
        vocabulary = size.of_model(model)["vocabulary"]
        return lambda rng: integers(BOS, *rng.integers(2, vocabulary, length - 1))

    context = size.of_model(TINY_A)["context"]
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


def generate(lesson, size):
    probabilities_cases(lesson, size)
    sample_cases(lesson, size)
    generate_cases(lesson, size)


# Lesson 08

def run_attend(record, a, model):
    record.out("out", attend(a["q"], a["k"], a["v"], tap=record.tap), "query", "dim")


def attention_module(a):
    (D, C), dtype = a["q.weight"].shape, a["x"].dtype
    attention = Attention(C, D).to(dtype)
    attention.load_state_dict({name: a[name] for name in attention.state_dict()})
    return attention


def run_attention(record, a, model):
    cache = Cache(a["cache.k"], a["cache.v"])
    out = attention_module(a)(a["x"], cache=cache, start_pos=a["start_pos"], tap=record.tap)
    record.out("out", out, "token", "channel")
    record.out("cache.k", cache.k, "position", "dim")
    record.out("cache.v", cache.v, "position", "dim")


def run_decoder_forward(record, a, model):
    """The new keys and values are the new rows of the caches that come out, so they are no taps of their own."""
    not_tapped = ("mean", "variance", "normed")
    tap = lambda name, *rest: name in not_tapped or name.endswith((".k", ".v")) or record.tap(name, *rest)
    caches = [Cache(a[f"layers.{i}.k"], a[f"layers.{i}.v"]) for i in range(len(model.layers))]
    record.out("logits", model(a["tokens"], caches=caches, start_pos=a["start_pos"], tap=tap), "token", "vocabulary")
    for i, cache in enumerate(caches):
        record.out(f"layers.{i}.k", cache.k, "position", "dim")
        record.out(f"layers.{i}.v", cache.v, "position", "dim")


def run_prompt(record, a, model):
    tap = lambda name, *rest: name in ("mean", "variance", "normed") or record.tap(name, *rest)
    record.out("logits", model(a["tokens"], tap=tap), "token", "vocabulary")


def cached_attention(lesson, size):
    for what, T, S, D, offset, says in (("one_token", 1, 1, 3, 0, "one token sees itself alone"),
                                        ("no_past", 3, 3, 2, 0, "without a past the mask is that of lesson 06"),
                                        ("step", 1, 4, 3, 0, "one query after a past sees every key"),
                                        ("two_after_one", 2, 3, 4, 0, "small enough to be read in full"),
                                        ("two_after_three", 2, 5, 3, 0, "query t stands at position S - T + t"),
                                        ("three_after_four", 3, 7, 6, 0, "several queries after a longer past"),
                                        ("large_scores", 2, 5, 5, 110, "scores above 90 after a past")):
        past, (T, D) = S - T, size(T, D)
        inputs = attend_inputs(lesson.rng(f"attend_{what}"), T, past + T, D, offset)
        lesson.add(f"attend_{what}", "attend", says, inputs, run_attend)

    for what, T, C, D, start, free, says in (
            ("first_tokens", 3, 4, 2, 0, 2, "an empty cache"), ("step", 1, 3, 4, 3, 2, "one token after three"),
            ("chunk", 2, 5, 3, 3, 3, "two tokens after three"), ("to_capacity", 3, 4, 6, 2, 0, "the last row of the cache is written"),
            ("square", 4, 4, 4, 4, 1, "T = D = C = start_pos: only the values tell the axes apart")):
        rng, (T, C, D) = lesson.rng(f"attention_{what}"), size(T, C, D)
        inputs = attention_inputs(rng, T, C, D)
        module = attention_module({name: torch.from_numpy(array).double() for name, array in inputs.items()})
        prefix = torch.from_numpy(normal(rng, start, C)).double()
        with torch.no_grad():
            inputs |= {"start_pos": scalar(start), "cache.k": filled_cache(rng, start + T + free, module.k(prefix)),
                       "cache.v": filled_cache(rng, start + T + free, module.v(prefix))}
        lesson.add(f"attention_{what}", "attention", says, inputs, run_attention)


def cached_decoder(lesson, size):
    def inputs(what, model_name, start, T):
        """T tokens after `start` others, whose keys and values are in the caches. The tokens depend on the model alone."""
        rng = lesson.rng(f"decoder_forward_{what}")
        tokens = random_tokens(lesson, size, f"tokens of {model_name}", model_name)
        model = load_model(model_path(lesson.root, model_name), torch.float64)
        caches = model.new_caches()
        with torch.no_grad():
            model(torch.from_numpy(tokens[:start].astype(np.int64)), caches=caches)
        result = {"tokens": tokens[start:start + T], "start_pos": scalar(start)}
        for i, cache in enumerate(caches):
            result[f"layers.{i}.k"] = filled_cache(rng, len(cache.k), cache.k[:start])
            result[f"layers.{i}.v"] = filled_cache(rng, len(cache.v), cache.v[:start])
        return result

    last = size.of_model(TINY_A)["context"] - 1
    plain = [("first_tokens", TINY_A, 0, 5, "an empty cache"), ("step", TINY_A, 4, 1, "one token after four"),
             ("chunk", TINY_A, 4, 3, "three tokens after four"), ("step_wide_head", TINY_B, 7, 1, "a head is wider than the model"),
             ("chunk_wide_head", TINY_B, 5, 2, "a head is wider than the model"),
             ("chunk_to_last", TINY_A, last - 3, 4, "the chunk ends at the last position"),
             ("last_position", TINY_A, last, 1, "the last position of the context")]
    for what, model, start, T, says in plain:
        lesson.add(f"decoder_forward_{what}", "decoder_forward", says, inputs(what, model, start, T), run_decoder_forward, model)

    for what, changed in (("step", "layers.0.k"), ("chunk", "layers.1.v"), ("step_wide_head", "layers.1.k"),
                          ("last_position", "layers.0.v")):
        _, model, start, T, _ = next(case for case in plain if case[0] == what)
        values = inputs(what, model, start, T)
        values[changed][2] += signed(lesson.rng(f"{what} changed"), 1.0, 2.0, values[changed].shape[1])
        lesson.add(f"decoder_forward_{what}_changed", "decoder_forward",
                   f"row 2 of {changed} differs from what the tokens gave: a model that reads its cache gives other logits",
                   values, run_decoder_forward, model)

    values = inputs("past_the_end", TINY_A, last, 1)
    values["tokens"] = integers(3, 4)
    lesson.add_error("decoder_forward_past_the_end", "decoder_forward", "the second token has no position and no row in the cache",
                     values, f"{last + 2} positions do not fit into {last + 1}", TINY_A)


def prompts(lesson, size):
    for what, model, length, says in (("five_tokens", TINY_A, 5, "every split of a prompt gives the logits of the whole"),
                                      ("six_tokens", TINY_B, 6, "every split, with a head wider than the model"),
                                      ("whole_context", TINY_A, None, "every split, up to the last position")):
        tokens = random_tokens(lesson, size, f"prompt_{what}", model, length)
        lesson.add(f"prompt_{what}", "prompt", says, {"tokens": tokens}, run_prompt, model)
    if not (WEIGHTS / DECODER / "model.safetensors").exists():
        lesson.skip()
        return
    tokens = story_tokens(WEIGHTS / DECODER, lesson.rng("prompt_story"), 10)
    lesson.add("prompt_story", "prompt", "every split, on the trained decoder", {"tokens": tokens}, run_prompt, DECODER)


def kv_cache(lesson, size):
    cached_attention(lesson, size)
    cached_decoder(lesson, size)
    prompts(lesson, size)
    generate_cases(lesson, size)
