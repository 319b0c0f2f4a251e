"""The cases of the stretch of lesson 08: a cache of fixed size that keeps the first tokens."""
import torch

from references.case import write_lesson
from references.decoder_cases import attention_module
from references.values import attention_inputs, normal, scalar


def run_make_room(record, a, model):
    filled, sinks = a["filled"], a["sinks"]
    full = filled == len(a["cache.k"])
    record.out("filled", torch.tensor([filled - full]), "count")
    for name in ("cache.k", "cache.v"):
        rows = a[name][:filled]
        record.out(name, torch.cat([rows[:sinks], rows[sinks + full:]]), "row", "dim")


def run_attention(record, a, model):
    """All tokens at once, behind the mask of what a cache of this size would still hold."""
    x, capacity, sinks = a["x"], a["capacity"], a["sinks"]
    module, N = attention_module(a), len(x)
    q, k, v = module.q(x), module.k(x), module.v(x)
    record.tap("q", q, "token", "dim")
    distance = torch.arange(N)[:, None] - torch.arange(N)[None]
    seen = (distance >= 0) & ((torch.arange(N)[None] < sinks) | (distance < capacity - sinks))
    scores = torch.matmul(q, k.T) / q.shape[1] ** 0.5
    attn_out = torch.matmul(torch.softmax(scores.masked_fill(~seen, -torch.inf), -1), v)
    record.tap("attn_out", attn_out, "token", "dim")
    record.out("out", module.o(attn_out), "token", "channel")
    record.out("filled", torch.tensor([int(seen[-1].sum())]), "count")
    for name, rows in (("cache.k", k), ("cache.v", v)):
        record.out(name, rows[seen[-1]], "row", "dim")


def cases(lesson):
    for what, (capacity, D), filled, sinks, says in (
            ("not_full", (5, 3), 3, 1, "a cache with room stays as it is"),
            ("almost_full", (4, 3), 3, 1, "one row is free: it stays as it is"),
            ("full", (4, 2), 4, 1, "small enough to be read in full: row 1 goes, rows 2 and 3 move up"),
            ("no_sinks", (5, 4), 5, 0, "without sinks the very first row goes"),
            ("four_sinks", (9, 3), 9, 4, "four sinks, as in the paper"),
            ("one_recent", (4, 4), 4, 3, "room for a single recent token: it is replaced")):
        rng = lesson.rng(f"make_room_{what}")
        inputs = {"cache.k": normal(rng, capacity, D), "cache.v": normal(rng, capacity, D), "filled": scalar(filled), "sinks": scalar(sinks)}
        lesson.add(f"make_room_{what}", "make_room", says, inputs, run_make_room)
    for what, (N, C, D), capacity, sinks, says in (
            ("fits", (4, 3, 2), 5, 1, "a text that fits: this is lesson 08"),
            ("fills", (4, 5, 3), 4, 2, "the last token takes the last row"),
            ("one_over", (4, 3, 4), 3, 1, "the first token that makes room: small enough to be read in full"),
            ("long", (12, 4, 3), 5, 2, "seven tokens go, one at a time"),
            ("no_sinks", (7, 5, 6), 3, 0, "without sinks this is a sliding window"),
            ("square", (4, 4, 4), 4, 1, "N = C = D = capacity: only the values tell the axes apart")):
        rng, (N, C, D) = lesson.rng(f"attention_{what}"), lesson.size(N, C, D)
        inputs = attention_inputs(rng, N, C, D) | {"capacity": scalar(capacity), "sinks": scalar(sinks)}
        lesson.add(f"attention_{what}", "attention", says, inputs, run_attention)


def make(root, seed):
    write_lesson(root, "08s_attention_sinks", seed, cases)
