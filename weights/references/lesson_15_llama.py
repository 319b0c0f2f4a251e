"""The cases of lesson 15: LLaMA with batches and a cache, on the tiny models of llama.py and on the trained one in stories/.

needs: torch, transformers 4.46.
"""
from functools import partial

import numpy as np
import torch
from transformers import DynamicCache

from references.case import WEIGHTS, compute
from references.llama import BOS, STORIES, arithmetic, forward, load, path_of
from references.llama_cases import capacity, interleaved, make_llama_lesson, rows, rows_together, run_llama_forward
from references.sampling import MARGIN, probabilities, sample
from references.values import integers, scalar, signed

STORY_PROMPTS = ("Once upon a time, there was a", "One day, Tom and his dog went to", "The little girl was happy because she had",
                 "She", "Translate English to French:\ncheese => fromage\ncat =>")

# How a case runs

def run_cached(record, a, model):
    """The past of every sequence comes in the caches (B, capacity, G, D)."""
    tokens, sequence, position = a["tokens"], a["sequence"], a["position"]
    layers = range(model.config.num_hidden_layers)
    rows = [torch.nonzero(sequence == b)[:, 0] for b in sequence.unique()]
    results = []
    for where in rows:
        b, start, end = int(sequence[where[0]]), int(position[where[0]]), int(position[where[-1]]) + 1
        cache = DynamicCache()
        for i in layers:
            cache.update(*(a[f"layers.{i}.{name}"][b, :start].transpose(0, 1)[None] for name in "kv"), i)  # (1, G, start, D)
        results.append(forward(model, record.dtype, tokens[where], cache)[0])
        for i in layers:
            a[f"layers.{i}.k"][b, start:end] = cache.key_cache[i][0, :, start:].transpose(0, 1)
            a[f"layers.{i}.v"][b, start:end] = cache.value_cache[i][0, :, start:].transpose(0, 1)
    record.out("logits", rows_together(results, rows, len(tokens)), "token", "vocabulary")
    for i in layers:
        for name in "kv":
            record.out(f"layers.{i}.{name}", a[f"layers.{i}.{name}"], "sequence", "position", "head", "dim")


def run_prompt(record, a, model):
    logits, between = forward(model, record.dtype, a["tokens"])
    for name, tensor in between.items():
        record.tap(name, tensor, "token", "channel")
    record.out("logits", logits, "token", "vocabulary")


def run_weights(record, a, model):
    """The table of angles up to the last position, and the output projection."""
    head_dim, context = model.model.layers[0].self_attn.head_dim, model.config.max_position_embeddings
    with arithmetic(record.dtype):
        cos, sin = model.model.rotary_emb(torch.zeros(1, dtype=record.dtype), torch.arange(context)[None])
    record.out("cos", cos[0, :, :head_dim // 2], "position", "dim")
    record.out("sin", sin[0, :, :head_dim // 2], "position", "dim")
    record.out("output", model.lm_head.weight, "vocabulary", "channel")


def run_generate(record, a, model):
    made, margins, context = [], [], model.config.max_position_embeddings
    for b, prompt in enumerate(a["tokens"].split(a["lengths"].tolist())):
        tokens, new = prompt.tolist(), []
        while len(new) < a["max_tokens"] and len(tokens) < context:
            p, margin = probabilities(forward(model, record.dtype, tokens)[0][-1], a["temperature"], a["top_k"], a["top_p"])
            draw = float(a["draws"][b, len(new)]) if a["temperature"] else 0.0
            token, edge = sample(p, draw)
            margins += [margin] + ([edge] if a["temperature"] else [])
            new.append(token)
            tokens.append(token)
            if token in a["eos"].tolist():
                break
        made.append(new)
    record.out("tokens", torch.tensor(sum(made, [])), "step")
    record.out("counts", torch.tensor([len(new) for new in made]), "sequence")
    record.margin = min(margins)


def run_logits(record, a, model):
    record.out("logits", forward(model, record.dtype, a["tokens"])[0][a["from"]:], "token", "vocabulary")


# Cases

def forward_cases(c):
    def add(what, name, parts, says, calls=None, free=1, taps=False):
        inputs = capacity(rows(*parts), free)
        if calls:
            assert sum(calls) == len(inputs["tokens"])
            inputs["calls"] = integers(*calls)
        c.add(f"llama_forward_{what}", "llama_forward", says, inputs, run_llama_forward, name, taps=taps)

    one, = c.tokens("one_token", "gqa", 1)
    add("one_token", "gqa", [(0, 0, one)], "the beginning of a text", taps=True)
    five, = c.tokens("five_tokens", "wide", 5)
    add("five_tokens", "wide", [(0, 0, five)], "small enough to be read; a head is wider than C/H, epsilon is large", taps=True)
    for name, says in (("mha", "as many key/value heads as query heads; config.json of an old file"),
                       ("gqa", "two query heads a key/value head; the output is the token embedding"),
                       ("mqa", "all query heads read one head; D is not C/H"), ("wide", "H·D is wider than C; config.json of the newest form"),
                       ("linear", "linear scaling: positions are divided; weights in f16"),
                       ("llama3", "llama3 scaling: slow pairs slowed, fast ones kept, one blended"),
                       ("dynamic", "dynamic scaling changes nothing within the original length"), ("bf16", "weights in bf16, sums in f32"),
                       ("newest_llama3", "llama3 scaling in the newest form of config.json")):
        tokens, = c.tokens(f"whole_{name}", name, 0)
        add(f"whole_context_{name}", name, [(0, 0, tokens)], f"{says}; up to the last position", free=0)

    a, b, d = c.tokens("batch", "gqa", 5, 2, 9)
    add("batch", "gqa", [(0, 0, a), (1, 0, b), (2, 0, d)], "three prompts of different lengths: each as if it were alone")
    add("batch_out_of_order", "gqa", [(2, 0, d), (0, 0, b), (1, 0, a)], "the sequence of a row is what the row says, not its place")
    prompts = c.tokens("interleaved", "mqa", 6, 3, 7)
    add("interleaved", "mqa", interleaved(prompts), "rows of three sequences take turns")
    same, = c.tokens("equal_prompts", "bf16", 4)
    add("equal_prompts", "bf16", [(0, 0, same), (1, 0, same)], "equal prompts get equal logits")
    prompts = c.tokens("batch_llama3", "llama3", 0, 3)
    add("batch_llama3", "llama3", [(1, 0, prompts[1]), (0, 0, prompts[0])], "a short prompt beside one that fills the context", free=0)

    def steps(prompts, first, length):
        """Every prompt's first tokens in one call, then one token of each in a call."""
        parts, calls = [], []
        for b, tokens in enumerate(prompts):
            parts.append((b, 0, tokens[:first[b]]))
        calls.append(sum(len(tokens) for _, _, tokens in parts))
        for step in range(length):
            alive = [(b, first[b] + step, tokens[first[b] + step:first[b] + step + 1]) for b, tokens in enumerate(prompts)
                     if first[b] + step < len(tokens)]
            parts += alive
            calls.append(len(alive))
        return parts, calls

    prompts = c.tokens("steps", "gqa", 7, 10)
    parts, calls = steps(prompts, (4, 7), 3)
    add("steps", "gqa", parts, "two prompts, then a token of each at a time: each row stands at its own position", calls)
    prompts = c.tokens("one_ends", "mqa", 4, 9, 6)
    parts, calls = steps(prompts, (3, 2, 5), 7)
    add("one_ends", "mqa", parts, "sequences that end leave the batch; the others go on", calls)
    late = c.sizes["llama3"]["context"]
    prompts = c.tokens("late_steps", "llama3", 0, 5)
    parts, calls = steps(prompts, (late - 3, 2), 3)
    add("late_steps", "llama3", parts, "steps at the last positions of the context, beside early ones", calls, free=0)
    tokens, = c.tokens("chunks", "linear", 13)
    add("chunks", "linear", [(0, 0, tokens)], "a prompt in chunks of 5, 1, 4 and 3", [5, 1, 4, 3])


def cached_cases(c):
    def inputs(what, name, lengths, new, free):
        """Sequences with a past of some length each, and `new` tokens of each sequence to come."""
        rng, m, model = c.lesson.rng(what), c.sizes[name], c.model(name)
        prompts = c.tokens(f"cached_{what}", name, *(length + n for length, n in zip(lengths, new)))
        parts = [(b, length, tokens[length:]) for b, (length, tokens) in enumerate(zip(lengths, prompts)) if length < len(tokens)]
        result = rows(*parts)
        capacity = max(map(len, prompts)) + free
        for i in range(m["L"]):
            for letter in "kv":
                result[f"layers.{i}.{letter}"] = signed(rng, 2.0, 4.0, len(prompts), capacity, m["G"], m["D"])
        for b, (length, tokens) in enumerate(zip(lengths, prompts)):
            cache = DynamicCache()
            with torch.no_grad():
                forward(model, torch.float64, tokens[:length], cache)
            for i in range(m["L"]):
                for letter, past in (("k", cache.key_cache), ("v", cache.value_cache)):
                    result[f"layers.{i}.{letter}"][b, :length] = past[i][0].transpose(0, 1).float().numpy()
        return result

    def add(what, name, values, says):
        c.add(f"llama_forward_{what}", "llama_forward", says, values, run_cached, name)

    add("cached_step", "gqa", inputs("step", "gqa", (5, 3), (1, 1), 2), "one token of each of two sequences; the past comes in the cache")
    add("cached_chunk", "wide", inputs("chunk", "wide", (3, 6), (3, 2), 1), "several tokens after pasts of different lengths")
    add("cached_one_of_two", "mqa", inputs("one_of_two", "mqa", (4, 6), (0, 2), 1),
        "only the second sequence goes on: the rows of the first stay as they are")
    late = c.sizes["llama3"]["context"]
    add("cached_last_position", "llama3", inputs("last", "llama3", (late - 1,), (1,), 0), "the last position of the context")
    values = inputs("step", "gqa", (5, 3), (1, 1), 2)
    values["layers.1.v"][1, 2] += signed(c.lesson.rng("changed v"), 1.0, 2.0, *values["layers.1.v"].shape[2:])
    add("cached_step_changed", "gqa", values,
        "row 2 of sequence 1 in layers.1.v differs from what the tokens gave: a model that reads its cache gives other logits")
    values = inputs("chunk", "wide", (3, 6), (3, 2), 1)
    values["layers.0.k"][0, 1] += signed(c.lesson.rng("changed k"), 1.0, 2.0, *values["layers.0.k"].shape[2:])
    add("cached_chunk_changed", "wide", values, "row 1 of sequence 0 in layers.0.k differs from what the tokens gave")


def error_cases(c):
    def add(what, inputs, says, error):
        c.lesson.add_error(f"llama_forward_{what}", "llama_forward", says, inputs, error, path_of("gqa"))

    V, context = c.sizes["gqa"]["V"], c.sizes["gqa"]["context"]
    add("unknown_token", capacity(rows((0, 0, [BOS, V]))), "an id past the vocabulary", f"token id {V} is not below {V}")
    add("past_the_context", capacity(rows((0, 0, np.arange(context + 1) % V))), "the last token has no position",
        f"position {context} is not below {context}")
    add("past_the_cache", rows((0, 0, [BOS, 5, 4])) | {"capacity": scalar(2)}, "the third token has no row in the cache",
        "position 2 is not below the cache's 2")


def prompt_cases(c):
    for what, name, length, says in (("five_tokens", "gqa", 5, "every split of a prompt gives the logits of the whole"),
                                     ("seven_tokens", "gqa", 7, "every split of a longer one"),
                                     ("six_tokens", "wide", 6, "every split; a head is wider than C/H"),
                                     ("whole_context", "llama3", 0, "up to the last position, with scaled angles")):
        tokens, = c.tokens(f"prompt_{what}", name, length)
        c.add(f"prompt_{what}", "prompt", says, {"tokens": tokens}, run_prompt, name, taps=length > 0)


def weights_cases(c):
    for name, says in (("mha", "an output projection of its own; angles of theta 10000, which the file does not name"),
                       ("gqa", "tied: the output projection is the token embedding"), ("linear", "linear scaling; weights in f16"),
                       ("llama3", "llama3 scaling: every band of it"), ("dynamic", "dynamic scaling within the original length"),
                       ("newest_llama3", "rope_parameters, as the newest files have it")):
        c.add(f"weights_{name}", "weights", says, {}, run_weights, name)


def add_generate(c, what, name, lengths, max_tokens, says, wanted, sampled=None, eos=()):
    """Prompts are drawn until every choice is clear and the texts end as they should; <bos> alone may need fewer tokens for that."""
    rng, m = c.lesson.rng(f"generate_{what}"), c.sizes[name]
    for trial in range(3000):
        if trial % 500 == 499:
            max_tokens -= 1
        prompts = [integers(BOS, *rng.integers(2, m["V"], length - 1)) for length in lengths]
        if what == "equal_prompts":
            prompts[1] = prompts[0]
        temperature, top_k, top_p = sampled or (0.0, 0, 1.0)
        stop = eos or m.get("eos", 2)
        inputs = {"tokens": np.concatenate(prompts), "lengths": integers(*lengths), "max_tokens": scalar(max_tokens),
                  "eos": integers(*(stop if isinstance(stop, (list, tuple)) else [stop])), "temperature": scalar(temperature),
                  "top_k": scalar(top_k), "top_p": scalar(top_p),
                  "draws": np.floor(rng.random((len(lengths), max_tokens)) * 1e4) / 1e4}
        record = compute(run_generate, inputs, c.lesson.model(path_of(name)), torch.float64)
        tokens, counts = (record.tensors[key][2].tolist() for key in ("tokens", "counts"))
        if record.margin > MARGIN and len(set(tokens)) > (max_tokens > 2) and wanted(counts, max_tokens):
            break
    else:
        raise RuntimeError(f"generate_{what}: no clear case found")
    c.add(f"generate_{what}", "generate", says, inputs, run_generate, name)


def generate_cases(c):
    add = partial(add_generate, c)
    full = lambda counts, most: all(count == most for count in counts)
    add("one_prompt", "mha", (4,), 8, "one sequence, greedy", full)
    add("bos_alone", "gqa", (1,), 6, "a prompt of <bos> alone", full)
    add("equal_prompts", "wide", (3, 3), 6, "equal prompts get equal texts", full)
    add("longest_last", "gqa", (1, 3, 9), 7, "prompts of different lengths in one batch, the longest last", full)
    add("longest_first", "mqa", (9, 3, 1), 7, "prompts of different lengths in one batch, the longest first", full)
    add("one_ends", "bf16", (4, 2, 6), 10, "one sequence ends with <eos> some steps before the others",
        lambda counts, most: counts[1] in (2, 3, 4) and counts[0] == counts[2] == most, eos=tuple(range(2, 6)))
    add("several_eos", "llama3", (3, 5), 12, "any of three tokens ends a text", lambda counts, most: max(counts) < most and counts[0] != counts[1])
    context = c.sizes["dynamic"]["context"]
    add("to_the_last_position", "dynamic", (context - 4, 2), 9, "one sequence ends where the context ends",
        lambda counts, most: counts == [4, most])
    add("sampled", "linear", (2, 5), 8, "a draw for each token of each sequence", full, sampled=(1.5, 0, 0.875))


def story_cases(c):
    """The trained model, as text users meet it."""
    directory = WEIGHTS / STORIES
    if not (directory / "model.safetensors").exists():
        for _ in range(4):
            c.lesson.skip()
        return
    from tokenizers import Tokenizer
    tokenizer, config = Tokenizer.from_file(str(directory / "tokenizer.json")), load(directory, torch.float64).config
    bos, eos = config.bos_token_id, config.eos_token_id
    prompts = [integers(bos, *tokenizer.encode(text, add_special_tokens=False).ids) for text in STORY_PROMPTS]
    c.add("llama_forward_story", "llama_forward", "the trained model on the beginning of a story", capacity(rows((0, 0, prompts[0]))),
          run_llama_forward, STORIES, taps=False)
    parts = [(b, 0, tokens) for b, tokens in enumerate(prompts[2:5])]
    c.add("llama_forward_story_batch", "llama_forward", "the trained model on two beginnings and a list of words at once", capacity(rows(*parts)),
          run_llama_forward, STORIES, taps=False)
    context = config.max_position_embeddings
    text = np.concatenate([prompts[i % len(prompts)] for i in range(context)])[:context]
    c.add("logits_story_context", "logits", "the trained model up to the last position of its context",
          {"tokens": text, "from": scalar(context - 3)}, run_logits, STORIES)
    chosen = [prompts[i] for i in (0, 2, 4)]
    for most in range(16, 0, -1):  # as long a text as is clear
        inputs = {"tokens": np.concatenate(chosen), "lengths": integers(*map(len, chosen)), "max_tokens": scalar(most),
                  "eos": integers(*([eos] if isinstance(eos, int) else eos)), "temperature": scalar(0.0), "top_k": scalar(0),
                  "top_p": scalar(1.0), "draws": np.zeros((3, most))}
        if compute(run_generate, inputs, c.lesson.model(STORIES), torch.float64).margin > MARGIN:
            break
    c.add("generate_story", "generate", "the trained model goes on with two stories and a list of words at once", inputs, run_generate, STORIES)


def late_cases(c):
    add_generate(c, "first_ends", "linear", (3, 2, 5), 8, "the first of three sequences ends before the others, which go on drawing their own",
                 lambda counts, most: counts[0] in (2, 3, 4) and counts[1] == counts[2] == most, sampled=(1.5, 0, 0.875), eos=tuple(range(2, 6)))


def make(root, seed):
    make_llama_lesson(root, "15_llama", seed, weights_cases, forward_cases, cached_cases, error_cases, prompt_cases, generate_cases,
                      story_cases, late_cases)
