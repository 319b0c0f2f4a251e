"""The cases of lessons 09 to 13 that run one part alone: attention with heads, rotary positions, RMSNorm, SwiGLU.

T tokens in this call, S tokens attended to, H query heads, G key/value heads, D head width, C model width, F hidden width.
"""
import numpy as np
import torch
from torch.nn import functional

import hybrid
from hybrid import attend
from reference_values import EPSILON, SEED, attend_inputs, filled_cache, linear_weight, norm_weight, normal, scalar, signed
from torch_decoder import no_tap

# The parts, in PyTorch's own operations


def split_heads(x, heads):
    """(T, H·D) -> (T, H, D)"""
    return x.unflatten(-1, (heads, -1))


def rope_table(theta, context, head_dim, dtype):
    """cos and sin of position p times theta^(-2i/D), each (context, D/2)."""
    frequency = theta ** (-torch.arange(0, head_dim, 2, dtype=dtype) / head_dim)
    angle = torch.outer(torch.arange(context, dtype=dtype), frequency)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin, start_pos):
    """x: (T, H, D), its first row at start_pos. Pair i of a head is dims i and i + D/2."""
    cos, sin = (table[start_pos:start_pos + len(x), None] for table in (cos, sin))  # (T, 1, D/2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def rms_norm(x, weight, epsilon, tap=no_tap):
    mean_square = torch.mean(x.square(), -1)
    tap("mean_square", mean_square, "token")
    return x * weight / torch.sqrt(mean_square + epsilon)[..., None]


# How a case runs

HEADS = "head", "dim"


def run_attend(record, a, model):
    record.out("out", attend(a["q"], a["k"], a["v"], record.tap), "query", *HEADS)


def run_split_heads(record, a, model):
    record.out("out", split_heads(a["x"], a["heads"]), "token", *HEADS)


def projected(a, name, x, start_pos):
    """x through q, k or v, in heads and, where there are positions to rotate to, rotated."""
    heads = a["heads"] if name == "q" else a.get("kv_heads", a["heads"])
    y = split_heads(functional.linear(x, a[f"{name}.weight"], a[f"{name}.bias"]), heads)
    return rotate(y, a["cos"], a["sin"], start_pos) if "cos" in a and name != "v" else y


def run_attention(record, a, model):
    x, start = a["x"], a["start_pos"]
    end = start + len(x)
    q, k, v = (projected(a, name, x, start) for name in "qkv")
    for name, tensor in zip("qkv", (q, k, v)):
        record.tap(name, tensor, "token", *HEADS)
    a["cache.k"][start:end], a["cache.v"][start:end] = k, v
    context = attend(q, a["cache.k"][:end], a["cache.v"][:end], record.tap)
    record.tap("context", context, "token", *HEADS)
    record.out("out", functional.linear(context.flatten(1), a["o.weight"], a["o.bias"]), "token", "channel")
    for name in ("cache.k", "cache.v"):
        record.out(name, a[name], "position", *HEADS)


def run_rope_table(record, a, model):
    for name, table in zip(("cos", "sin"), rope_table(a["theta"], a["context"], a["head_dim"], record.dtype)):
        record.out(name, table, "position", "dim")


def run_rotate(record, a, model):
    record.out("x", rotate(a["x"], a["cos"], a["sin"], a["start_pos"]), "token", *HEADS)


def run_rms_norm(record, a, model):
    record.out("out", rms_norm(a["x"], a["weight"], a["epsilon"], record.tap), "token", "channel")


def run_silu(record, a, model):
    record.out("x", functional.silu(a["x"]), "token", "hidden")


def run_swiglu(record, a, model):
    record.out("hidden", functional.silu(a["gate"]) * a["up"], "token", "hidden")


def run_feed_forward(record, a, model):
    normed = rms_norm(a["x"], a["ffn_norm.weight"], a["epsilon"])
    gate, up = (functional.linear(normed, a[f"{name}.weight"]) for name in ("gate", "up"))
    hidden = functional.silu(gate) * up
    record.tap("normed", normed, "token", "channel")
    for name, tensor in (("gate", gate), ("up", up), ("hidden", hidden)):
        record.tap(name, tensor, "token", "hidden")
    record.out("x", a["x"] + functional.linear(hidden, a["down.weight"]), "token", "channel")


# Values

class HeadSizes:
    """Sizes of heads for a seed: G grows, H keeps its multiple of G, and D stays even where it was."""

    def __init__(self, seed):
        self.more = 0 if seed == SEED else 1 + seed % 3

    def heads(self, H, G):
        grown = G if G == 1 else G + self.more
        return (H // G * grown, grown) if H != G else (grown, grown)

    def width(self, D):
        return D + 2 * self.more


def table_inputs(theta, context, D):
    """The table of positions as a float32 program holds it: the input of what rotates by it."""
    cos, sin = rope_table(theta, context, D, torch.float64)
    return {"cos": cos.float().numpy(), "sin": sin.float().numpy()}


def heads_inputs(rng, T, S, H, G, D, offsets=(0,)):
    """q, k, v of every head apart; head h of the keys and the queries that read it have scores near offset h."""
    offsets = [offsets[g % len(offsets)] for g in range(G)]
    parts = [attend_inputs(rng, T, S, D, abs(offset)) for offset in offsets]
    q = []
    for h in range(H):
        g = h // (H // G)
        q.append(parts[g]["q"] if h % (H // G) == 0 else attend_inputs(rng, T, S, D, abs(offsets[g]))["q"])
    for part, offset in zip(parts, offsets):
        part["k"][:, 0] *= np.sign(offset) or 1
    stack = lambda arrays: np.stack(arrays, axis=1)
    return {"q": stack(q), "k": stack([p["k"] for p in parts]), "v": stack([p["v"] for p in parts])}


def attention_inputs(rng, T, C, H, G, D, kv_heads=True):
    """The gain spreads the scores over several units."""
    inputs = {"x": normal(rng, T, C)}
    for name, heads, gain in (("q", H, 1.8), ("k", G, 1.8), ("v", G, 1.0)):
        inputs[f"{name}.weight"] = linear_weight(rng, heads * D, C, gain)
        inputs[f"{name}.bias"] = signed(rng, 0.2, 0.8, heads * D)
    inputs |= {"o.weight": linear_weight(rng, C, H * D), "o.bias": signed(rng, 0.2, 0.8, C), "heads": scalar(H)}
    return inputs | ({"kv_heads": scalar(G)} if kv_heads else {})


def cached(rng, inputs, start, free):
    """The same with a cache: rows of a real prefix, room for x, and rows that nobody wrote."""
    a = {name: torch.from_numpy(array).double() if array.ndim else array.item() for name, array in inputs.items()}
    T, C = a["x"].shape
    prefix = torch.from_numpy(normal(rng, start, C)).double()
    result = inputs | {"start_pos": scalar(start)}
    for name in "kv":
        result[f"cache.{name}"] = filled_cache(rng, start + T + free, projected(a, name, prefix, 0))
    return result


# The cases

LARGE = (110, -130)  # scores of one head above 90, of the next below -120


def attend_cases(lesson, sizes, rows):
    for what, (T, S, H, G, D), says in rows:
        past, (H, G) = S - T, sizes.heads(H, G)
        T, D = T if T == 1 else T + sizes.more, sizes.width(D)
        inputs = heads_inputs(lesson.rng(f"attend_{what}"), T, past + T, H, G, D, LARGE if what == "large_scores" else (0,))
        lesson.add(f"attend_{what}", "attend", says, inputs, run_attend)


def attention_cases(lesson, sizes, rows, kv_heads=True, theta=None):
    for what, (T, C, H, G, D), (start, free), says in rows:
        rng, (H, G) = lesson.rng(f"attention_{what}"), sizes.heads(H, G)
        T, C, D = T if T == 1 else T + sizes.more, C + sizes.more, sizes.width(D)
        inputs = attention_inputs(rng, T, H * D if what == "as_wide" else C, H, G, D, kv_heads)
        if theta:
            inputs |= table_inputs(theta, start + T + free + 2, D)
        lesson.add(f"attention_{what}", "attention", says, cached(rng, inputs, start, free), run_attention)

    rng, (H, G) = lesson.rng("attention_past_the_end"), sizes.heads(6, 3)
    inputs = attention_inputs(rng, 2, 5, H, G if kv_heads else H, 4, kv_heads)
    inputs |= table_inputs(theta, 9, 4) if theta else {}
    inputs = cached(rng, inputs, 3, 0)
    inputs |= {name: inputs[name][:4] for name in ("cache.k", "cache.v")}
    lesson.add_error("attention_past_the_end", "attention", "the second token has no row in the cache", inputs,
                     "5 positions do not fit into a cache of 4")


def multi_head(lesson, sizes):
    for what, (T, H, D), says in (("one_token", (1, 3, 2), "a single row"), ("two_tokens", (2, 2, 3), "small enough to be read in full"),
                                  ("square", (4, 4, 4), "T = H = D: only the values tell the axes apart"),
                                  ("one_head", (3, 1, 4), "a model with one head is the one before this lesson"),
                                  ("five_tokens", (5, 4, 3), "all sizes differ")):
        H, _ = sizes.heads(H, H)
        x = normal(lesson.rng(f"split_heads_{what}"), T, H * sizes.width(D))
        lesson.add(f"split_heads_{what}", "split_heads", says, {"x": x, "heads": scalar(H)}, run_split_heads)
    x = normal(lesson.rng("split_heads_remainder"), 2, 10)
    lesson.add_error("split_heads_remainder", "split_heads", "10 columns are not four heads: two would belong to none",
                     {"x": x, "heads": scalar(4)}, "10 columns do not divide into 4 heads")

    attend_cases(lesson, sizes, (
        ("one_token", (1, 1, 2, 2, 3), "one token sees itself alone, in every head"),
        ("one_head", (3, 4, 1, 1, 3), "one head is lesson 08"),
        ("step", (1, 4, 3, 3, 2), "one query after a past"),
        ("two_after_one", (2, 3, 2, 2, 4), "small enough to be read in full"),
        ("square", (4, 4, 4, 4, 4), "T = S = H = D: only the values tell the axes apart"),
        ("more_heads", (2, 5, 6, 6, 3), "more heads than tokens"),
        ("three_after_four", (3, 7, 4, 4, 6), "all sizes differ"),
        ("large_scores", (2, 5, 4, 4, 5), "scores above 90 in one head and below -120 in the next: every row needs its own maximum")))
    attention_cases(lesson, sizes, (
        ("first_tokens", (3, 4, 2, 2, 3), (0, 2), "an empty cache"),
        ("step", (1, 5, 3, 3, 2), (3, 2), "one token after three"),
        ("chunk", (2, 7, 4, 4, 3), (3, 3), "two tokens after three"),
        ("to_capacity", (3, 5, 2, 2, 6), (2, 0), "the last row of the cache is written"),
        ("as_wide", (3, 0, 3, 3, 4), (1, 1), "H heads of width D are as wide as the model, as in most models"),
        ("square", (4, 4, 4, 4, 4), (4, 1), "T = C = H = D = start_pos: only the values tell the axes apart")), kv_heads=False)
    rng = lesson.rng("attention_remainder")
    inputs = cached(rng, attention_inputs(rng, 2, 5, 2, 2, 6, False), 0, 1) | {"heads": scalar(5)}
    lesson.add_error("attention_remainder", "attention", "12 rows of the projections are not five heads", inputs,
                     "12 rows do not divide into 5 heads")


def grouped_query(lesson, sizes):
    attend_cases(lesson, sizes, (
        ("one_token", (1, 1, 6, 3, 2), "one token: each query head returns the value of the head that it reads"),
        ("two_tokens", (2, 2, 4, 2, 3), "small enough to be read in full"),
        ("one_kv_head", (3, 4, 4, 1, 2), "G = 1: all query heads read the same head"),
        ("as_many", (3, 5, 3, 3, 4), "G = H is lesson 09"),
        ("step", (1, 5, 6, 3, 4), "one query after a past; pairs of heads"),
        ("threes", (2, 5, 6, 2, 3), "two groups of three: h / (H/G) is neither h / G nor h % G"),
        ("three_after_four", (3, 7, 8, 2, 6), "all sizes differ"),
        ("large_scores", (2, 5, 6, 3, 5), "scores above 90 in one group and below -120 in the next")))
    rng = lesson.rng("attend_remainder")
    inputs = heads_inputs(rng, 2, 3, 4, 2, 3)
    inputs |= {name: normal(rng, 3, 3, 3) for name in "kv"}
    lesson.add_error("attend_remainder", "attend", "four query heads cannot share three", inputs, "4 heads do not divide by 3")
    attention_cases(lesson, sizes, (
        ("first_tokens", (3, 4, 4, 2, 3), (0, 2), "an empty cache"),
        ("step", (1, 5, 6, 3, 2), (3, 2), "one token after three"),
        ("chunk", (2, 7, 6, 2, 3), (3, 3), "two tokens after three; groups of three"),
        ("one_kv_head", (2, 5, 3, 1, 4), (2, 1), "G = 1: the cache holds one head"),
        ("as_many", (2, 5, 3, 3, 2), (2, 1), "G = H is lesson 09"),
        ("to_capacity", (3, 5, 4, 2, 6), (2, 0), "the last row of the cache is written"),
        ("as_wide", (3, 0, 6, 3, 4), (1, 1), "H heads of width D are as wide as the model, as in most models")))
    rng = lesson.rng("attention_remainder")
    inputs = cached(rng, attention_inputs(rng, 2, 5, 4, 2, 6), 0, 1) | {"kv_heads": scalar(3)}
    lesson.add_error("attention_remainder", "attention", "four query heads cannot share three", inputs, "4 heads do not divide by 3")


def rope(lesson, sizes):
    for what, theta, context, D, says in (("one_pair", 10000.0, 5, 2, "D = 2: one pair, which turns by one radian a position"),
                                          ("two_pairs", 10000.0, 4, 4, "small enough to be read in full"),
                                          ("small_theta", 100.0, 7, 6, "another base"),
                                          ("large_theta", 500000.0, 12, 10, "the base of newer models"),
                                          ("wide", 10000.0, 6, 64, "a head as wide as in large models"),
                                          ("late", 10000.0, 130, 8, "late positions, far beyond one turn of the first pair")):
        inputs = {"theta": scalar(theta), "context": scalar(context + sizes.more), "head_dim": scalar(sizes.width(D))}
        lesson.add(f"rope_table_{what}", "rope_table", says, inputs, run_rope_table)

    for what, (T, H, D), start, context, says in (
            ("position_0", (1, 2, 4), 0, 3, "position 0 stays as it is"),
            ("two_tokens", (2, 1, 4), 0, 2, "small enough to be read in full"),
            ("one_pair", (3, 2, 2), 1, 6, "D = 2: both layouts of pairs are the same"),
            ("step", (1, 3, 6), 5, 9, "one token after five stands at position 5"),
            ("chunk", (3, 2, 8), 4, 9, "three tokens, each at its own position"),
            ("square", (4, 4, 4), 3, 8, "T = H = D: only the values tell the axes apart"),
            ("late", (2, 3, 6), 255, 257, "up to the last row of a long table")):
        T, (H, _), D = T if T == 1 else T + sizes.more, sizes.heads(H, H), sizes.width(D)
        inputs = {"x": normal(lesson.rng(f"rotate_{what}"), T, H, D), **table_inputs(10000.0, context + sizes.more, D),
                  "start_pos": scalar(start)}
        lesson.add(f"rotate_{what}", "rotate", says, inputs, run_rotate)
    inputs = {"x": normal(lesson.rng("rotate_past_the_end"), 3, 2, 4), **table_inputs(10000.0, 6, 4), "start_pos": scalar(4)}
    lesson.add_error("rotate_past_the_end", "rotate", "the third token stands at a position that the table does not have", inputs,
                     "7 positions do not fit into 6")

    attention_cases(lesson, sizes, (
        ("first_tokens", (3, 4, 4, 2, 4), (0, 2), "an empty cache"),
        ("step", (1, 5, 6, 3, 2), (3, 2), "one token after three stands at position 3"),
        ("chunk", (2, 7, 6, 2, 6), (3, 3), "two tokens after three; keys come rotated into the cache, values as they are"),
        ("as_many", (2, 5, 3, 3, 4), (7, 1), "G = H"),
        ("to_capacity", (3, 5, 4, 2, 8), (11, 0), "late positions, up to the last row of the cache")), theta=100.0)


def rms(lesson, sizes):
    def add(what, says, make_x, epsilon=EPSILON):
        rng = lesson.rng(what)
        x = make_x(rng).astype(np.float32)
        inputs = {"x": x, "weight": norm_weight(rng, x.shape[1]), "epsilon": scalar(epsilon)}
        lesson.add(f"rms_norm_{what}", "rms_norm", says, inputs, run_rms_norm)

    def with_zero_row(rng):
        x = normal(rng, T, C + 1)
        x[1] = 0
        return x

    T, C = 3 + sizes.more, 4 + sizes.more
    add("one_token", "one row", lambda rng: normal(rng, 1, C + 1))
    add("two_tokens", "small enough to be read in full", lambda rng: normal(rng, 2, C - 1))
    add("three_tokens", "tokens and channels differ in number", lambda rng: normal(rng, T, C))
    add("square", "as many tokens as channels: a mean over the wrong axis has the right shape", lambda rng: normal(rng, C, C))
    add("near_epsilon", "the mean square is near epsilon, so it matters where epsilon stands", lambda rng: normal(rng, T, C + 2, scale=3e-3))
    add("far_below_epsilon", "tiny rows stay tiny", lambda rng: normal(rng, T, C + 1, scale=2e-5))
    add("large_epsilon", "epsilon is the one that is given", lambda rng: normal(rng, T, C + 3), float(np.float32(0.3)))
    add("large_mean", "the mean is 50 times the spread: what subtracts it is LayerNorm", lambda rng: normal(rng, T - 1, C + 4) + 50)
    add("distant_rows", "rows of very different size: each has its own mean square",
        lambda rng: normal(rng, T, C + 2) * np.array([1e-2, 1, 1e3, 10, 5, 7])[:T, None])
    add("large_values", "squares near 1e10", lambda rng: normal(rng, T, C, scale=1e5))
    add("zero_row", "a row of zeros stays zero: without epsilon it is 0/0", with_zero_row)
    add("odd_sizes", "sizes that no block divides", lambda rng: normal(rng, 7 + sizes.more, 13 + sizes.more, scale=3.0))


def swiglu(lesson, sizes):
    for what, shape, scale, says in (("one_token", (1, 5), 1.5, "a single row"), ("two_tokens", (2, 3), 1.5, "small enough to be read in full"),
                                     ("large_values", (3, 6), 60.0, "values beyond ±90, where exp overflows"),
                                     ("odd_sizes", (7, 13), 3.0, "sizes that no block divides")):
        x = normal(lesson.rng(f"silu_{what}"), *(n if n == 1 else n + sizes.more for n in shape), scale=scale)
        x[0, 1] = 0.0
        if what == "large_values":
            x[0, 0], x[1, 1] = 96.0, -96.0
        lesson.add(f"silu_{what}", "silu", says, {"x": x}, run_silu)
    for what, shape, says in (("one_token", (1, 4), "a single row"), ("two_tokens", (2, 3), "small enough to be read in full"),
                              ("square", (4, 4), "as many tokens as columns"), ("five_tokens", (5, 7), "both signs of both factors")):
        rng, shape = lesson.rng(f"swiglu_{what}"), [n if n == 1 else n + sizes.more for n in shape]
        inputs = {"gate": normal(rng, *shape, scale=1.5), "up": signed(rng, 0.5, 2.0, *shape)}
        lesson.add(f"swiglu_{what}", "swiglu", says, inputs, run_swiglu)
    for what, shape, says in (("one_token", (1, 3, 5), "a single row"), ("two_tokens", (2, 4, 3), "small enough to be read in full"),
                              ("square", (3, 4, 4), "C = F: a missing transpose or a swapped matrix shows only in the values"),
                              ("five_tokens", (5, 6, 9), "all sizes differ"),
                              ("large_residual", (3, 5, 7), "x is far larger than what is added: the norm stands before, not after")):
        rng, (T, C, F) = lesson.rng(f"feed_forward_{what}"), [n if n == 1 else n + sizes.more for n in shape]
        inputs = {"x": normal(rng, T, C, scale=16.0 if what == "large_residual" else 1.0), "ffn_norm.weight": norm_weight(rng, C),
                  "gate.weight": linear_weight(rng, F, C, 1.5), "up.weight": linear_weight(rng, F, C),
                  "down.weight": linear_weight(rng, C, F), "epsilon": scalar(EPSILON)}
        lesson.add(f"feed_forward_{what}", "feed_forward", says, inputs, run_feed_forward)


PARTS = {"09_multi_head": multi_head, "10_grouped_query": grouped_query, "11_rope": rope, "12_rms_norm": rms, "13_swiglu": swiglu}


def check_parts():
    """What is written here equals what PyTorch has of it: attention with heads, and the turn of a complex number."""
    from torch import nn
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(6, 3, batch_first=True).double()
    with torch.no_grad():
        x = torch.randn(5, 6, dtype=torch.float64)
        q, k, v = (split_heads(functional.linear(x, w, b), 3)
                   for w, b in zip(theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)))
        ours = functional.linear(attend(q, k, v).flatten(1), theirs.out_proj.weight, theirs.out_proj.bias)
        future = torch.ones(5, 5, dtype=torch.bool).triu(1)
        assert (ours - theirs(x[None], x[None], x[None], attn_mask=future)[0][0]).abs().max() < 1e-14
        q = torch.randn(4, 2, 6, dtype=torch.float64)
        assert (rotate(q, *rope_table(10.0, 9, 6, torch.float64), 5) - hybrid.rotate(q, 10.0, 5)).abs().max() < 1e-14
        turn = torch.polar(torch.ones(4, 3).double(), torch.outer(torch.arange(4.0).double() + 5, 10.0 ** (-torch.arange(3).double() * 2 / 6)))
        z = torch.complex(q[..., :3], q[..., 3:]) * turn[:, None]
        assert (rotate(q, *rope_table(10.0, 9, 6, torch.float64), 5) - torch.cat([z.real, z.imag], -1)).abs().max() < 1e-14
