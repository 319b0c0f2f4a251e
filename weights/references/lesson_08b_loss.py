"""The cases of lesson 08b: cross-entropy, its gradient by autograd, and steps of gradient descent by torch.optim.SGD."""
import random

import numpy as np
import torch
from torch.nn import functional

from references.case import WEIGHTS, Lesson, write_lesson
from references.values import DECODER, SEED, integers, linear_weight, normal, scalar, signed
from train.tokenizer import Tokenizer
from train.train_decoder import stories_as_rows
from train.train_hybrid import CONTEXT

NEVER = -1  # an end that no token is


def mean_loss(logits, tokens, end):
    """Row t predicts token t + 1; rows whose own token is `end` predict nothing."""
    counted = tokens[:-1] != end
    return functional.cross_entropy(logits[:-1][counted], tokens[1:][counted])


def run_log_softmax(record, a, model):
    record.out("out", functional.log_softmax(a["logits"], -1), "token", "vocabulary")


def run_loss(record, a, model):
    record.tap("log_p", functional.log_softmax(a["logits"], -1), "token", "vocabulary")
    record.out("loss", mean_loss(a["logits"], a["tokens"], a["end"])[None], "number")


def run_perplexity(record, a, model):
    record.out("perplexity", torch.exp(torch.tensor([a["loss"]], dtype=record.dtype)), "number")


def run_gradient(record, a, model):
    with torch.enable_grad():
        logits = a["logits"].clone().requires_grad_()
        mean_loss(logits, a["tokens"], a["end"]).backward()
    record.out("out", logits.grad, "token", "vocabulary")


def run_train_step(record, a, model):
    weight, bias = a["weight"].clone().requires_grad_(), a["bias"].clone().requires_grad_()
    optimizer = torch.optim.SGD([weight, bias], lr=a["rate"])
    for step in range(a["steps"]):
        with torch.enable_grad():
            optimizer.zero_grad()
            logits = functional.linear(a["x"], weight, bias)
            logits.retain_grad()
            value = mean_loss(logits, a["tokens"], a["end"])
            value.backward()
        if a["steps"] == 1:
            record.tap("logits", logits, "token", "vocabulary")
            record.tap("d_logits", logits.grad, "token", "vocabulary")
            record.tap("d_weight", weight.grad, "vocabulary", "channel")
            record.tap("d_bias", bias.grad, "vocabulary")
        optimizer.step()
    record.out("loss", value[None], "number")
    record.out("weight", weight, "vocabulary", "channel")
    record.out("bias", bias, "vocabulary")


def log_softmax_cases(lesson):
    T, V = lesson.size(3, 5)

    def add(what, says, make):
        lesson.add(f"log_softmax_{what}", "log_softmax", says, {"logits": make(lesson.rng(what)).astype(np.float32)}, run_log_softmax)

    add("one_row", "one row", lambda rng: normal(rng, 1, V, scale=2))
    add("two_rows", "small enough to be read in full", lambda rng: normal(rng, 2, 3, scale=2))
    add("three_rows", "rows and tokens of the vocabulary differ in number", lambda rng: normal(rng, T, V, scale=2))
    add("square", "a sum along the wrong axis has the right shape", lambda rng: normal(rng, V, V, scale=2))
    add("large", "logits above 90: exp overflows unless the maximum is subtracted", lambda rng: normal(rng, T, V) + 120)
    add("negative", "logits below -110: every exp is 0 unless the maximum is subtracted", lambda rng: normal(rng, T, V) - 150)
    add("improbable", "a probability that is 0 in float32 has a logarithm all the same",
        lambda rng: normal(rng, T, V) + 130 * (np.arange(V) == 2))
    add("unlike_rows", "each row has its own maximum and its own sum",
        lambda rng: normal(rng, T, V) + np.array([100, -100, 0, 50, -50, 25])[:T, None])


def text_of(rng, T, V):
    """T tokens, none equal to the next, so that a comparison with the row's own token shows; neither 0 nor V - 1 is the end of all."""
    tokens = [int(rng.integers(V))]
    while len(tokens) < T:
        tokens.append(int((tokens[-1] + rng.integers(1, V)) % V))
    return integers(*tokens)


def loss_cases(lesson, name, run):
    T, V = lesson.size(5, 7)

    def add(what, says, T=T, V=V, end=NEVER, ends=(), scale=2.0, shift=0.0, change=lambda logits, tokens: None):
        rng = lesson.rng(f"{name}_{what}")
        tokens = text_of(rng, T, V)
        if ends:
            tokens = np.where(tokens == end, (end + 1) % V, tokens).astype(np.int32)
            tokens[list(ends)] = end
        logits = normal(rng, T, V, scale=scale) + np.float32(shift)
        change(logits, tokens)
        lesson.add(f"{name}_{what}", name, says, {"logits": logits, "tokens": tokens, "end": scalar(end)}, run)

    def surprise(logits, tokens):
        logits[1, tokens[2]] = -140

    add("one_pair", "two tokens: one prediction", T=2, V=3)
    add("two_pairs", "small enough to be read in full", T=3, V=4)
    add("five_tokens", "the last row predicts a token that is not there")
    add("vocabulary_of_t", "as many tokens as the vocabulary has", T=V, V=V)
    add("with_end", "what follows the end of a text is not predicted", end=3, ends=(2,))
    add("ends", "an end that comes last was predicted, and is counted", end=3, ends=(-1,))
    add("two_texts", "the mean is over the rows that are counted", T=T + 4, end=2, ends=(1, 4, -1))
    add("large_logits", "logits above 90", shift=120.0)
    add("surprise", "the token that came had a probability that is 0 in float32", change=surprise)
    add("all_alike", "equal logits: the loss is ln V", scale=0.0, shift=1.5)
    add("long", "more rows than one adds up without care", T=67, V=V + 10)


def perplexity_cases(lesson):
    for what, says, value in (("of_none", "a loss of 0 means no doubt at all", 0.0), ("of_three", "ln 3: three tokens", float(np.log(3))),
                              ("of_a_story", "the loss of a small model", 0.4213), ("of_the_start", "ln 363: it knows nothing", float(np.log(363)))):
        lesson.add(f"perplexity_{what}", "perplexity", says, {"loss": scalar(value)}, run_perplexity)


def train_cases(lesson):
    T, V, C = lesson.size(5, 7, 4)

    def add(what, says, T=T, V=V, C=C, steps=1, rate=0.5, end=NEVER, ends=(), zeros=False):
        rng = lesson.rng(f"train_step_{what}")
        tokens = text_of(rng, T, V)
        if ends:
            tokens = np.where(tokens == end, (end + 1) % V, tokens).astype(np.int32)
            tokens[list(ends)] = end
        weight, bias = linear_weight(rng, V, C, 2.0), signed(rng, 0.2, 0.8, V)
        inputs = {"x": normal(rng, T, C), "weight": weight * np.float32(not zeros), "bias": bias * np.float32(not zeros), "tokens": tokens,
                  "end": scalar(end), "steps": scalar(steps), "rate": scalar(rate)}
        lesson.add(f"train_step_{what}", "train_step", says, inputs, run_train_step)

    add("one_pair", "two tokens, two numbers a token", T=2, V=3, C=2)
    add("one_step", "all sizes differ")
    add("square", "as many channels as tokens of the vocabulary", T=T, V=V, C=V)
    add("small_rate", "a step is as large as the rate says", rate=0.0625)
    add("with_end", "rows that are not counted move nothing", end=3, ends=(2, -1))
    add("from_zero", "a layer that knows nothing", zeros=True)
    add("four_steps", "each step starts where the last one ended", steps=4)
    add("twelve_steps", "the loss falls", steps=12, rate=0.25, zeros=True, T=T + 6)


def cases(lesson):
    log_softmax_cases(lesson)
    loss_cases(lesson, "loss", run_loss)
    perplexity_cases(lesson)
    loss_cases(lesson, "gradient", run_gradient)
    train_cases(lesson)


def save_held_out(root):
    """The rows on which train/train_hybrid.py measured the loss: 128 contexts, and one token more."""
    tokenizer = Tokenizer.load(WEIGHTS / DECODER / "vocabulary.json")
    rows = stories_as_rows(random.Random(987654321), tokenizer, 128, CONTEXT)
    Lesson.save(root / "held_out" / "decoder", rows.numpy().astype("<i4"))


def make(root, seed):
    write_lesson(root, "08b_loss", seed, cases)
    if seed == SEED:
        save_held_out(root)
