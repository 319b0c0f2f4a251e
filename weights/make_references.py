"""Write references/: small models, and for each lesson but 14 cases with inputs, answers, taps and budgets.

    python3 make_references.py                           the committed references, of lessons that need PyTorch alone
    python3 make_references.py --only 16_cuda_first      those of one lesson from 16 on
    python3 make_references.py --llama                   those of lessons 15 and 20, which need transformers 4.46
    python3 make_references.py --only 22_memory          those of lesson 22, which need transformers too
    python3 make_references.py --check [--llama]         make them again and compare to 1e-12
    python3 make_references.py --seed 7 --out DIR        other cases of the same format, for hidden tests
"""
import argparse
import json
import shutil
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from hybrid import load_hybrid, save_hybrid
from reference_case import UNIT, WEIGHTS, Lesson
from reference_cuda import CUDA
from reference_hybrid import whole_models
from reference_parts import PARTS as PART_CASES, HeadSizes, check_parts
from reference_roofline import roofline
from reference_sequences import generate, kv_cache
from reference_values import (DECODER, SEED, TINY, TINY_A, TINY_B, Sizes, attend_inputs, attention_inputs, feed_forward_inputs,
                              integers, layer_norm_inputs, linear_weight, normal, random_tokens, signed, story_tokens,
                              tiny_model)
from tiny_hybrid import TINY_HYBRIDS, tiny_hybrid
from torch_decoder import PARTS, Attention, Layer, Config, attend, save_model

# How a case runs: the record takes taps and outputs, a holds the inputs by name.

def run_offset(record, a, model):
    record.out("a_read", a["a"], "row", "column")


def run_linear(record, a, model):
    x, weight, bias = a["x"], a["weight"], a["bias"]
    record.out("out", nn.functional.linear(x, weight, bias), "token", "channel")
    terms = (x[:, None, :] * weight[None]).square().sum(-1) + bias.square()  # (T, N)
    record.budgets["out"] = (8 * np.sqrt(x.shape[1] + 1) * UNIT * terms.sqrt()).numpy()


def run_embed(record, a, model):
    tokens = a["tokens"]
    token = nn.Embedding.from_pretrained(a["token_embedding"])
    position = nn.Embedding.from_pretrained(a["position_embedding"])
    record.out("x", token(tokens) + position(torch.arange(len(tokens))), "token", "channel")


def run_layer_norm(record, a, model):
    x = a["x"]
    record.tap("mean", x.mean(-1), "token")
    record.tap("variance", x.var(-1, unbiased=False), "token")
    record.out("out", nn.functional.layer_norm(x, x.shape[1:], a["weight"], a["bias"], a["epsilon"]), "token", "channel")


def run_relu(record, a, model):
    record.out("x", nn.ReLU()(a["x"]), "token", "hidden")


def run_feed_forward(record, a, model):
    (F, C), x = a["up.weight"].shape, a["x"]
    layer = Layer(Config(0, C, 1, F, 1, 0, a["epsilon"])).to(x.dtype)
    layer.ffn_norm.load_state_dict({name: a[f"ffn_norm.{name}"] for name in ("weight", "bias")})
    layer.feed_forward.load_state_dict({name: a[name] for name in ("up.weight", "up.bias", "down.weight", "down.bias")})
    record.out("x", layer.add_feed_forward(x, record.tap), "token", "channel")


def run_softmax(record, a, model):
    record.out("x", torch.softmax(a["x"], -1), "row", "column")


def run_attend(mask):
    def run(record, a, model):
        record.out("out", attend(a["q"], a["k"], a["v"], mask, record.tap), "query", "dim")
    return run


def run_attention(mask):
    def run(record, a, model):
        (D, C), x = a["q.weight"].shape, a["x"]
        attention = Attention(C, D).to(x.dtype)
        attention.load_state_dict({name: a[name] for name in attention.state_dict()})
        record.out("out", attention(x, mask, tap=record.tap), "token", "channel")
    return run


def run_decoder_forward(lesson):
    """Mean and variance are taps of the lesson about them; later lessons know the norm as one step."""
    final = ("mean", "variance")

    def run(record, a, model):
        tap = lambda name, *rest: name in final and lesson != "03_layer_norm" or record.tap(name, *rest)
        record.out("logits", model(a["tokens"], PARTS[lesson], tap=tap), "token", "vocabulary")
    return run


def decoder_forward(lesson, size, what, tokens, says, model, taps=True):
    lesson.add(f"decoder_forward_{what}", "decoder_forward", says, {"tokens": tokens}, run_decoder_forward(lesson.name), model, taps)


def partial_models(lesson, size):
    """The whole-model cases of the lessons before the model is whole."""
    for what, model, length, says in (
            ("one_token", TINY_A, 1, "the smallest model call"),
            ("two_tokens", TINY_A, 2, "small enough to be read in full"),
            ("five_tokens", TINY_B, 5, "all sizes differ, and a head is wider than the model"),
            ("whole_context_a", TINY_A, None, "every position is used"),
            ("whole_context_b", TINY_B, None, "every position is used; some tokens come twice")):
        decoder_forward(lesson, size, what, random_tokens(lesson, size, what, model, length), says, model)
    trained_model(lesson, size, 6, "the trained decoder on a story; text comes only with lesson 07")
    vocabulary = size.of_model(TINY_A)["vocabulary"]
    lesson.add_error("decoder_forward_unknown_token", "decoder_forward", "an id past the vocabulary reads memory that is not the table's",
                     {"tokens": integers(3, vocabulary)}, f"token id {vocabulary} is not below {vocabulary}", TINY_A)


def trained_model(lesson, size, length, says, taps=False):
    if not (WEIGHTS / DECODER / "model.safetensors").exists():
        lesson.skip()
        return
    what = f"story_{length}"
    tokens = story_tokens(WEIGHTS / DECODER, lesson.rng(what), length)
    decoder_forward(lesson, size, what, tokens, says, DECODER, taps)


def tensor(lesson, size):
    for what, shape, says in (("one_row", (1, 5), "a row lies in memory as it is read"),
                              ("wide", (2, 3), "rows and columns differ in number"),
                              ("square", (3, 3), "a square hides swapped rows and columns from the bounds, not from the values")):
        rng, shape = lesson.rng(what), size(*shape)
        values = rng.permutation(np.arange(1, np.prod(shape) + 1)).astype(np.float32).reshape(shape)
        lesson.add(f"offset_{what}", "offset", says, {"a": values}, run_offset)

    for what, shape, says in (("one_token", (1, 3, 2), "a single row"),
                              ("two_tokens", (2, 4, 3), "small enough to be read in full"),
                              ("square", (4, 4, 4), "the weight is square: a missing transpose shows only in the values"),
                              ("five_tokens", (5, 7, 3), "all sizes differ"),
                              ("odd_sizes", (33, 65, 17), "sizes that no block divides"),
                              ("large_and_small", (3, 6, 5), "large and small terms in one sum")):
        rng, (T, C, N) = lesson.rng(what), size(*shape)
        x = normal(rng, T, C)
        if what == "large_and_small":
            x = (x * 10.0 ** rng.uniform(-3, 3, (T, C))).astype(np.float32)
        inputs = {"x": x, "weight": linear_weight(rng, N, C, 2.0), "bias": signed(rng, 0.5, 1.5, N)}
        lesson.add(f"linear_{what}", "linear", says, inputs, run_linear)


def embedding(lesson, size):
    V, S, C = size(7, 5, 4)

    def inputs(what, *tokens):
        rng = lesson.rng(what)
        return {"tokens": integers(*tokens), "token_embedding": normal(rng, V, C), "position_embedding": normal(rng, S, C)}

    for what, tokens, says in (("one_token", [3], "position 0"),
                               ("two_tokens", [4, 1], "small enough to be read in full"),
                               ("repeated", [2, 5, 2, 2], "the same token at several positions"),
                               ("first_and_last_id", [V - 1, 0, V - 1], "the first and the last row of the table"),
                               ("all_positions", [1, 6, 0, 3, 5, 2, 4, 1][:S], "every position is used")):
        lesson.add(f"embed_{what}", "embed", says, inputs(what, *tokens), run_embed)
    lesson.add_error("embed_id_too_large", "embed", "the id after the last one", inputs("id_too_large", 1, V),
                     f"token id {V} is not below {V}")
    lesson.add_error("embed_id_negative", "embed", "ids begin at 0", inputs("id_negative", -1, 2), "token id -1 is negative")
    lesson.add_error("embed_too_many_tokens", "embed", "there is no row for the last position",
                     inputs("too_many_tokens", *np.arange(S + 1) % V), f"{S + 1} tokens do not fit into {S} positions")
    partial_models(lesson, size)
    context = size.of_model(TINY_A)["context"]
    lesson.add_error("decoder_forward_too_many_tokens", "decoder_forward", "there is no row for the last position",
                     {"tokens": integers(*range(context + 1))}, f"{context + 1} tokens do not fit into {context} positions", TINY_A)


def layer_norm(lesson, size):
    def add(what, says, make_x):
        rng = lesson.rng(what)
        lesson.add(f"layer_norm_{what}", "layer_norm", says, layer_norm_inputs(rng, make_x(rng)), run_layer_norm)

    def with_constant_row(rng):
        x = normal(rng, *size(3, 4))
        x[1] = 2.5
        return x

    T, C = size(3, 4)
    add("one_token", "one row: statistics over tokens have no spread", lambda rng: normal(rng, 1, C + 1))
    add("two_tokens", "small enough to be read in full", lambda rng: normal(rng, 2, C - 1))
    add("three_tokens", "tokens and channels differ in number", lambda rng: normal(rng, T, C))
    add("square", "as many tokens as channels: statistics over the wrong axis have the right shape", lambda rng: normal(rng, C, C))
    add("tiny_variance", "the variance is near epsilon, so it matters where epsilon stands",
        lambda rng: normal(rng, T, C + 2, scale=3e-3) + np.float32(0.3))
    add("large_mean", "the mean is 50 times the spread", lambda rng: normal(rng, T - 1, C + 4) + np.float32(50))
    add("huge_mean", "the mean is 1000 times the spread: a variance taken as mean(x²) - mean² is lost in rounding",
        lambda rng: normal(rng, T, C + 1) + np.float32(1000))
    add("constant_row", "a row without variance gives the bias", with_constant_row)
    add("odd_sizes", "sizes that no block divides", lambda rng: normal(rng, *size(7, 13), scale=3.0))
    partial_models(lesson, size)


def feed_forward(lesson, size):
    for what, shape, says in (("one_token", (1, 4), "a single row"), ("two_tokens", (2, 3), "small enough to be read in full"),
                              ("five_tokens", (5, 7), "some rows, both signs")):
        x = normal(lesson.rng(what), *size(*shape))
        x[0, 1] = 0.0
        lesson.add(f"relu_{what}", "relu", says, {"x": x}, run_relu)
    for what, shape, says in (("one_token", (1, 3, 5), "a single row"),
                              ("two_tokens", (2, 4, 3), "small enough to be read in full"),
                              ("square", (3, 4, 4), "C = F: a missing transpose or a swapped matrix shows only in the values"),
                              ("five_tokens", (5, 6, 9), "all sizes differ"),
                              ("large_residual", (3, 5, 7), "x is far larger than what is added: the norm stands before, not after")):
        inputs = feed_forward_inputs(lesson.rng(what), *size(*shape))
        if what == "large_residual":
            inputs["x"] *= np.float32(16)
        lesson.add(f"feed_forward_{what}", "feed_forward", says, inputs, run_feed_forward)
    partial_models(lesson, size)


def attention_cases(lesson, size, mask):
    for what, shape, says in (("one_token", (1, 3, 2), "one token sees itself alone"),
                              ("two_tokens", (2, 3, 4), "small enough to be read in full"),
                              ("square", (4, 5, 5), "C = D: a missing transpose shows only in the values"),
                              ("five_tokens", (5, 6, 3), "all sizes differ"),
                              ("wide_head", (7, 4, 6), "a head is wider than the model")):
        rng, (T, C, D) = lesson.rng(f"attention_{what}"), size(*shape)
        C = D if what == "square" else C
        lesson.add(f"attention_{what}", "attention", says, attention_inputs(rng, T, C, D), run_attention(mask))


def full_attention(lesson, size):
    for what, shape, says in (("one_row", (1, 5), "a single row"), ("two_rows", (2, 3), "small enough to be read in full"),
                              ("square", (4, 4), "as many rows as columns: the wrong axis has the right shape"),
                              ("large_scores", (3, 4), "scores above 90: exp overflows unless the maximum is subtracted"),
                              ("negative_scores", (2, 4), "scores below -120: every exp is 0 unless the maximum is subtracted"),
                              ("distant_rows", (3, 5), "rows 100 and more apart: each needs its own maximum"),
                              ("odd_sizes", (7, 13), "sizes that no block divides")):
        x = normal(lesson.rng(f"softmax_{what}"), *size(*shape), scale=1.5)
        if what == "distant_rows":
            x += np.float32(120) * (1 - np.arange(len(x), dtype=np.float32))[:, None]
        x += np.float32({"large_scores": 95, "negative_scores": -130}.get(what, 0))
        lesson.add(f"softmax_{what}", "softmax", says, {"x": x}, run_softmax)

    for what, shape, offset, says in (("one_query", (1, 3, 2), 0, "one query, several keys"),
                                      ("one_key", (3, 1, 4), 0, "every query sees the only key"),
                                      ("two_tokens", (2, 2, 3), 0, "small enough to be read in full"),
                                      ("more_keys", (3, 5, 6), 0, "more keys than queries"),
                                      ("more_queries", (4, 2, 3), 0, "more queries than keys"),
                                      ("square", (4, 4, 4), 0, "T = S = D: only the values tell the axes apart"),
                                      ("large_scores", (2, 3, 5), 110, "scores above 90: exp overflows unless the maximum is subtracted")):
        T, S, D = size(*shape)
        inputs = attend_inputs(lesson.rng(f"attend_{what}"), T, S, D, offset)
        lesson.add(f"attend_{what}", "attend", says, inputs, run_attend(False))

    attention_cases(lesson, size, False)
    partial_models(lesson, size)


def causal_mask(lesson, size):
    for what, shape, offset, says in (("one_token", (1, 3), 0, "one token sees itself alone"),
                                      ("two_tokens", (2, 3), 0, "small enough to be read in full"),
                                      ("three_tokens", (3, 2), 0, "the first mask with more than one future key"),
                                      ("square", (4, 4), 0, "T = D: only the values tell the axes apart"),
                                      ("large_scores", (3, 5), 110, "scores above 90: exp overflows unless the maximum is subtracted"),
                                      ("large_future", (4, 3), 0, "the last key has by far the largest score, and counts for nothing before its turn"),
                                      ("seven_tokens", (7, 6), 0, "all sizes differ")):
        T, D = size(*shape)
        inputs = attend_inputs(lesson.rng(f"attend_{what}"), T, T, D, offset)
        if what == "large_future":
            inputs["q"][:, 0], inputs["k"][-1, 0] = 4.0, 60.0  # the last key scores far above 100 for every query
        lesson.add(f"attend_{what}", "attend", says, inputs, run_attend(True))

    attention_cases(lesson, size, True)

    forward = lambda what, model, length, says: decoder_forward(
        lesson, size, what, random_tokens(lesson, size, what, model, length), says, model)
    forward("one_token", TINY_A, 1, "the smallest model call")
    forward("two_tokens", TINY_A, 2, "small enough to be read in full")
    forward("seven_tokens", TINY_A, 7, "an odd length")
    forward("whole_context_a", TINY_A, None, "every position is used")
    forward("five_tokens", TINY_B, 5, "a head is wider than the model")
    decoder_forward(lesson, size, "repeated_tokens", integers(5, 5, 5, 2, 2, 5), "only positions and the mask tell equal tokens apart",
                    TINY_B)
    forward("whole_context_b", TINY_B, None, "every position is used")
    for length in (6, 12, 24):
        trained_model(lesson, size, length, "the trained decoder on the beginning of a story", taps=length == 6)


def check_attention():
    """Our Attention equals PyTorch's own nn.MultiheadAttention with one head, where that can be had: D = C."""
    torch.manual_seed(1)
    ours, theirs = Attention(6, 6).double(), nn.MultiheadAttention(6, 1, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.q.weight, ours.k.weight, ours.v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.q.bias, ours.k.bias, ours.v.bias]))
        theirs.out_proj.load_state_dict(ours.o.state_dict())
        x = torch.randn(5, 6, dtype=torch.float64)
        future = torch.ones(5, 5, dtype=torch.bool).triu(1)
        for mask in (False, True):
            want = theirs(x[None], x[None], x[None], attn_mask=future if mask else None)[0][0]
            assert (ours(x, mask) - want).abs().max() < 1e-14


LESSONS = {"01_tensor": tensor, "02_embedding": embedding, "03_layer_norm": layer_norm, "04_feed_forward": feed_forward,
           "05_attention": full_attention, "06_causal_mask": causal_mask, "07_generate": generate, "08_kv_cache": kv_cache}


def make(root, seed):
    check_attention()
    check_parts()
    size, sizes = Sizes(seed), HeadSizes(seed)
    for number, model in enumerate(TINY):
        save_model(root / "models" / Path(model).name, tiny_model(np.random.default_rng([seed, number]), **size.of_model(model)))
    for name, cases in LESSONS.items():
        shutil.rmtree(root / name, ignore_errors=True)
        lesson = Lesson(root, name, seed)
        cases(lesson, size)
        print(f"{name}: {lesson.count} cases", flush=True)
    for name in TINY_HYBRIDS:
        save_hybrid(root / "models" / name, tiny_hybrid(name, seed))
    for name, cases in PART_CASES.items():
        shutil.rmtree(root / name, ignore_errors=True)
        lesson = Lesson(root, name, seed, load_hybrid)
        cases(lesson, sizes)
        whole_models(lesson)
        print(f"{name}: {lesson.count} cases", flush=True)
    make_later(root, seed)


LATER = {**CUDA, "23_roofline": roofline}


def make_later(root, seed, only=""):
    """The lessons from 16 on that need no transformers."""
    for name, cases in LATER.items():
        if name.startswith(only):
            shutil.rmtree(root / name, ignore_errors=True)
            lesson = Lesson(root, name, seed)
            cases(lesson, Sizes(seed))
            print(f"{name}: {lesson.count} cases", flush=True)


def compare(old, new):
    """Fail where the folders of `new` differ from those in `old` by more than 1e-12 of the size of a value (1 for smaller ones)."""
    files = sorted(path.relative_to(new) for path in new.rglob("*") if path.is_file())
    written = {file.parts[:2] if file.parts[0] == "models" else file.parts[:1] for file in files}
    committed = [path.relative_to(old) for folder in written for path in old.joinpath(*folder).rglob("*")]
    assert files == sorted(file for file in committed if file.suffix in (".npy", ".json", ".safetensors")), "other files"
    worst = 0.0
    for file in files:
        if file.suffix == ".npy":
            a, b = np.load(old / file), np.load(new / file)
            assert a.shape == b.shape and a.dtype == b.dtype, file
            difference = np.abs(a - b) / np.maximum(1, np.abs(a))
            worst = max(worst, difference.max(initial=0.0))
            assert not np.any(~(difference <= 1e-12)), f"{file} differs by {difference.max()}"
        elif file.name == "case.json":
            a, b = (json.loads((folder / file).read_text()) for folder in (old, new))
            for case in (a, b):
                case["tensors"] = [(t["name"], t["dims"]) for t in case["tensors"]]  # error32 belongs to the machine
                case["margin"] = round(case.get("margin", 0), 9)
            assert a == b, file
        else:
            assert (old / file).read_bytes() == (new / file).read_bytes(), file
    print(f"{len(files)} files agree; the largest difference is {worst:.1g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=WEIGHTS / "references")
    parser.add_argument("--llama", action="store_true")
    parser.add_argument("--only", help="a lesson from 16 on, or the beginning of its name")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)  # one order of sums
    if options.llama:
        from reference_cuda_llama import make_llama_lessons as make
    if (options.only or "").startswith("22"):
        from reference_memory import make_memory as make
    elif options.only:
        make = partial(make_later, only=options.only)
    if options.check:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), options.seed)
            compare(options.out, Path(folder))
    else:
        make(options.out, options.seed)
