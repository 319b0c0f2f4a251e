"""What the cases of lessons 09 to 13 share: attention with heads and caches, rotary positions and RMSNorm.

T tokens in this call, S tokens attended to, H query heads, G key/value heads, D head width, C model width.
"""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from references.values import attend_inputs, attention_inputs, filled_cache, normal, scalar
from train import hybrid
from train.hybrid import sdpa
from train.torch_decoder import no_tap

# The parts, in PyTorch's own operations

def split_heads(x, heads):
    """(T, H·D) -> (T, H, D)"""
    return x.unflatten(-1, (heads, -1))


def rope_table(theta, context, head_dim, dtype):
    """cos and sin of position p times theta^(-2i/D), each (context, D/2)."""
    frequency = theta ** (-torch.arange(0, head_dim, 2, dtype=dtype) / head_dim)
    angle = torch.outer(torch.arange(context, dtype=dtype), frequency)
    return angle.cos(), angle.sin()


def apply_rope(x, cos, sin, start_pos):
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


def run_sdpa(record, a, model):
    record.out("out", sdpa(a["q"], a["k"], a["v"], record.tap), "query", *HEADS)


def projected(a, name, x, start_pos):
    """x through q, k or v, in heads and, where there are positions to rotate to, rotated."""
    heads = a["heads"] if name == "q" else a.get("kv_heads", a["heads"])
    y = split_heads(functional.linear(x, a[f"{name}.weight"], a[f"{name}.bias"]), heads)
    return apply_rope(y, a["cos"], a["sin"], start_pos) if "cos" in a and name != "v" else y


def run_attention(record, a, model):
    x, start = a["x"], a["start_pos"]
    end = start + len(x)
    q, k, v = (projected(a, name, x, start) for name in "qkv")
    for name, tensor in zip("qkv", (q, k, v)):
        record.tap(name, tensor, "token", *HEADS)
    a["cache.k"][start:end], a["cache.v"][start:end] = k, v
    attn_out = sdpa(q, a["cache.k"][:end], a["cache.v"][:end], record.tap)
    record.tap("attn_out", attn_out, "token", *HEADS)
    record.out("out", functional.linear(attn_out.flatten(1), a["o.weight"], a["o.bias"]), "token", "channel")
    for name in ("cache.k", "cache.v"):
        record.out(name, a[name], "position", *HEADS)


# Values

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


def heads_attention_inputs(rng, T, C, H, G, D, kv_heads=True):
    return attention_inputs(rng, T, C, D, H, G) | {"heads": scalar(H)} | ({"kv_heads": scalar(G)} if kv_heads else {})


def cached(rng, inputs, start, free):
    """The same with a cache: rows of a real prefix, room for x, and rows that nobody wrote."""
    a = {name: torch.from_numpy(array).double() if array.ndim else array.item() for name, array in inputs.items()}
    T, C = a["x"].shape
    prefix = torch.from_numpy(normal(rng, start, C)).double()
    result = inputs | {"start_pos": scalar(start)}
    for name in "kv":
        result[f"cache.{name}"] = filled_cache(rng, start + T + free, projected(a, name, prefix, 0))
    return result


# Cases

LARGE = (110, -130)  # scores of one head above 90, of the next below -120


def attend_cases(lesson, rows):
    size = lesson.size
    for what, (T, S, H, G, D), says in rows:
        past, (H, G) = S - T, size.heads(H, G)
        (T,), D = size(T), size.width(D)
        inputs = heads_inputs(lesson.rng(f"attend_{what}"), T, past + T, H, G, D, LARGE if what == "large_scores" else (0,))
        lesson.add(f"attend_{what}", "sdpa", says, inputs, run_sdpa)


def attention_cases(lesson, rows, kv_heads=True, theta=None):
    size = lesson.size
    for what, (T, C, H, G, D), (start, free), says in rows:
        rng, (H, G) = lesson.rng(f"attention_{what}"), size.heads(H, G)
        (T,), C, D = size(T), C + size.more, size.width(D)
        inputs = heads_attention_inputs(rng, T, H * D if what == "as_wide" else C, H, G, D, kv_heads)
        if theta:
            inputs |= table_inputs(theta, start + T + free + 2, D)
        lesson.add(f"attention_{what}", "attention", says, cached(rng, inputs, start, free), run_attention)

    rng, (H, G) = lesson.rng("attention_past_the_end"), size.heads(6, 3)
    inputs = heads_attention_inputs(rng, 2, 5, H, G if kv_heads else H, 4, kv_heads)
    inputs |= table_inputs(theta, 9, 4) if theta else {}
    inputs = cached(rng, inputs, 3, 0)
    inputs |= {name: inputs[name][:4] for name in ("cache.k", "cache.v")}
    lesson.add_error("attention_past_the_end", "attention", "the second token has no row in the cache", inputs,
                     "5 positions do not fit into a cache of 4")


def check_parts():
    """What is written here equals what PyTorch has of it: attention with heads, and the turn of a complex number."""
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(6, 3, batch_first=True).double()
    with torch.no_grad():
        x = torch.randn(5, 6, dtype=torch.float64)
        q, k, v = (split_heads(functional.linear(x, w, b), 3)
                   for w, b in zip(theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)))
        ours = functional.linear(sdpa(q, k, v).flatten(1), theirs.out_proj.weight, theirs.out_proj.bias)
        future = torch.ones(5, 5, dtype=torch.bool).triu(1)
        assert (ours - theirs(x[None], x[None], x[None], attn_mask=future)[0][0]).abs().max() < 1e-14
        q = torch.randn(4, 2, 6, dtype=torch.float64)
        assert (apply_rope(q, *rope_table(10.0, 9, 6, torch.float64), 5) - hybrid.apply_rope(q, 10.0, 5)).abs().max() < 1e-14
        turn = torch.polar(torch.ones(4, 3).double(), torch.outer(torch.arange(4.0).double() + 5, 10.0 ** (-torch.arange(3).double() * 2 / 6)))
        z = torch.complex(q[..., :3], q[..., 3:]) * turn[:, None]
        assert (apply_rope(q, *rope_table(10.0, 9, 6, torch.float64), 5) - torch.cat([z.real, z.imag], -1)).abs().max() < 1e-14
