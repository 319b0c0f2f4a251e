"""The cases of lesson 26: shares of weights, products over ranks, the parallel embedding and output, a layer, bytes.

The right answers are those of one rank: nothing is split here but what goes in. In `torch.chunk`'s words, rank r has chunk r.
"""
import torch
from torch.nn import functional

from references.case import write_lesson
from references.values import EPSILON, integers, linear_weight, norm_weight, normal, scalar, signed


def run_share(record, a, model):
    n, rank, ranks = a["n"], a["rank"], a["ranks"]
    chunk = torch.arange(n).chunk(ranks)[rank]
    record.out("part", torch.stack([chunk[0], torch.tensor(len(chunk))]), "number")


def run_kv_share(record, a, model):
    n, rank, ranks = a["n"], a["rank"], a["ranks"]
    copies = torch.arange(n).repeat_interleave(max(1, ranks // n))  # one head may stand on several ranks
    chunk = copies.chunk(ranks)[rank]
    record.out("part", torch.stack([chunk[0], torch.tensor(len(chunk))]), "number")


def run_take(record, a, model, dim):
    record.out("out", a["weight"].narrow(dim, a["first"], a["count"]), "row", "column")


def run_split_layer(record, a, model):
    rank, ranks, D, G = a["rank"], a["ranks"], a["head_dim"], a["kv_heads"]
    for name in ("q", "k", "v"):
        heads = a[name].view(-1, D, a[name].shape[1])
        if name != "q":
            heads = heads.repeat_interleave(max(1, ranks // G), 0)
        record.out(name, heads.chunk(ranks)[rank].flatten(0, 1), "row", "column")
    record.out("o", a["o"].chunk(ranks, 1)[rank], "row", "column")
    for name in ("gate", "up"):
        record.out(name, a[name].chunk(ranks)[rank], "row", "column")
    record.out("down", a["down"].chunk(ranks, 1)[rank], "row", "column")


def run_column_parallel(record, a, model):
    record.out("out", functional.linear(a["x"], a["weight"], a.get("bias")), "token", "output")


def everywhere(record, name, value, ranks, reduces, gathers, *dims):
    """Every rank has the whole answer, after so many calls."""
    record.out(name, value.expand(ranks, *value.shape), "rank", *dims)
    record.out("calls", torch.tensor([[reduces, gathers]] * ranks), "rank", "all_reduce or all_gather")


def run_row_parallel(record, a, model):
    x, weight = torch.cat(tuple(a["x"]), 1), torch.cat(tuple(a["weight"]), 1)
    record.tap("partial", functional.linear(a["x"][0], a["weight"][0]), "token", "output")
    everywhere(record, "out", functional.linear(x, weight, a.get("bias")), a["ranks"], 1, 0, "token", "output")


def run_embed(record, a, model):
    table, words = a["table"].flatten(0, 1), a["table"].shape[1]
    out = functional.embedding(a["tokens"], table)
    record.tap("own", out * (a["tokens"] < words)[:, None], "token", "channel")
    everywhere(record, "out", out, a["ranks"], 1, 0, "token", "channel")


def run_output(record, a, model):
    everywhere(record, "logits", functional.linear(a["x"], a["table"].flatten(0, 1)), a["ranks"], 0, 1, "token", "word")


def rotated(x, a):
    """x (N, H, D), the pairs as halves of a head."""
    cos, sin = a["cos"][:len(x), None], a["sin"][:len(x), None]
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def attention_of(record, a, x, taps):
    N, D, H, G, ranks = len(x), a["head_dim"], a["heads"], a["kv_heads"], a["ranks"]
    q, k, v = (functional.linear(x, a[name]).view(N, -1, D) for name in ("q", "k", "v"))
    q, k = rotated(q, a), rotated(k, a)
    scores = torch.matmul(q.transpose(0, 1), k.repeat_interleave(H // G, 1).permute(1, 2, 0)) / D ** 0.5  # (H, N, N)
    weights = scores.masked_fill(torch.ones(N, N).triu(1).bool(), -torch.inf).softmax(-1)
    attn_out = torch.matmul(weights, v.repeat_interleave(H // G, 1).transpose(0, 1)).transpose(0, 1)  # (N, H, D)
    if taps:
        record.tap("q", q[:, :H // ranks], "token", "head", "channel")
        for name, tensor in (("k", k), ("v", v)):
            record.tap(name, tensor[:, :max(1, G // ranks)], "token", "head", "channel")
        record.tap("attn_out", attn_out[:, :H // ranks], "token", "head", "channel")
    return functional.linear(attn_out.flatten(1), a["o"])


def feed_forward_of(a, x):
    return functional.linear(functional.silu(functional.linear(x, a["gate"])) * functional.linear(x, a["up"]), a["down"])


def rms_norm(x, weight, epsilon):
    return x * (torch.mean(x.square(), -1)[..., None] + epsilon).rsqrt() * weight


def run_attention(record, a, model):
    everywhere(record, "out", attention_of(record, a, a["x"], True), a["ranks"], 1, 0, "token", "channel")


def run_feed_forward(record, a, model):
    everywhere(record, "out", feed_forward_of(a, a["x"]), a["ranks"], 1, 0, "token", "channel")


def run_layer(record, a, model):
    x = a["x"] + attention_of(record, a, rms_norm(a["x"], a["attention_norm"], a["epsilon"]), True)
    record.tap("after_attention", x, "token", "channel")
    x = x + feed_forward_of(a, rms_norm(x, a["ffn_norm"], a["epsilon"]))
    everywhere(record, "out", x, a["ranks"], 2, 0, "token", "channel")


def run_bytes(record, a, model):
    """Counted message by message: in an all-reduce each rank sends every other its part of x, and then its part of the sum."""
    ranks, sent = a["ranks"], 0
    sums = ["embedding"] + ["attention", "feed-forward"] * a["layers"]
    for rank in range(ranks):
        for peer in set(range(ranks)) - {rank}:
            sent += len(sums) * 2 * 4 * (a["N"] * a["C"] // ranks) + 4 * (a["N"] * a["V"] // ranks)
    record.out("bytes", torch.tensor([sent]), "number")


def layer_inputs(rng, N, C, heads, D, F, ranks):
    H, G = heads
    angles = rng.uniform(-3, 3, (N, D // 2))
    return {"x": normal(rng, N, C), "attention_norm": norm_weight(rng, C), "ffn_norm": norm_weight(rng, C),
            "q": linear_weight(rng, H * D, C, 1.8), "k": linear_weight(rng, G * D, C, 1.8), "v": linear_weight(rng, G * D, C),
            "o": linear_weight(rng, C, H * D), "gate": linear_weight(rng, F, C, 1.5), "up": linear_weight(rng, F, C, 1.5),
            "down": linear_weight(rng, C, F), "cos": torch.from_numpy(angles).cos().float().numpy(),
            "sin": torch.from_numpy(angles).sin().float().numpy(), "heads": scalar(H), "kv_heads": scalar(G),
            "head_dim": scalar(D), "epsilon": scalar(EPSILON), "ranks": scalar(ranks)}


def share_cases(lesson):
    def share(run, function, what, says, n, rank, ranks):
        inputs = {"n": scalar(n), "rank": scalar(rank), "ranks": scalar(ranks)}
        lesson.add(f"{run}_{what}", run, says, inputs, function)

    def refused(run, what, says, n, rank, ranks):
        inputs = {"n": scalar(n), "rank": scalar(rank), "ranks": scalar(ranks)}
        lesson.add_error(f"{run}_{what}", run, says, inputs, f"{n} cannot be dealt out evenly to {ranks} ranks")

    for what, says, n, rank, ranks in (("alone", "one rank has everything", 6, 0, 1), ("first", "rank 0 begins at 0", 12, 0, 3),
                                       ("second", "rank 1 begins where rank 0 ends", 12, 1, 3), ("last", "the last of four", 20, 3, 4),
                                       ("one_each", "one for each rank", 8, 5, 8)):
        share("share_of", run_share, what, says, n, rank, ranks)
    refused("share_of", "remainder", "six heads for four ranks", 6, 1, 4)
    refused("share_of", "too_few", "three heads for six ranks", 3, 1, 6)
    for what, says, n, rank, ranks in (("more", "more key/value heads than ranks", 8, 1, 2), ("as_many", "one for each rank", 4, 3, 4),
                                       ("fewer_0", "two heads, six ranks: rank 2 is the last that reads head 0", 2, 2, 6),
                                       ("fewer_1", "two heads, six ranks: rank 3 is the first that reads head 1", 2, 3, 6),
                                       ("fewer_2", "four heads, eight ranks: ranks 6 and 7 read head 3", 4, 6, 8),
                                       ("one", "one head, which every rank has", 1, 3, 4)):
        share("kv_share_of", run_kv_share, what, says, n, rank, ranks)
    refused("kv_share_of", "remainder", "three heads for two ranks", 3, 0, 2)
    refused("kv_share_of", "fewer_remainder", "two heads for three ranks: the middle one's query heads would read both", 2, 1, 3)


def weight_cases(lesson):
    for run, dim in (("take_rows", 0), ("take_columns", 1)):
        for what, says, (K, C), first, count in (("first", "from the beginning", (6, 4), 0, 2), ("middle", "from the middle", (6, 8), 2, 2),
                                                 ("end", "to the end", (4, 6), 3, 1), ("all", "all of them", (5, 5), 0, 5)):
            rng = lesson.rng(f"{run}_{what}")
            inputs = {"weight": normal(rng, K, C), "first": scalar(first), "count": scalar(count)}
            lesson.add(f"{run}_{what}", run, says, inputs, lambda record, a, model, dim=dim: run_take(record, a, model, dim))
    for what, says, heads, D, F, rank, ranks in (
            ("alone", "one rank: everything", (2, 1), 4, 6, 0, 1), ("two_ranks", "two ranks, two key/value heads", (4, 2), 2, 6, 1, 2),
            ("heads", "three query heads and one key/value head for each rank", (6, 2), 4, 10, 0, 2),
            ("replicated", "two key/value heads for four ranks: ranks 2 and 3 have the second", (8, 2), 2, 12, 2, 4),
            ("one_kv_head", "one key/value head, on every rank", (3, 1), 4, 9, 2, 3)):
        rng = lesson.rng(f"split_{what}")
        inputs = layer_inputs(rng, 1, 12, heads, D, F, ranks) | {"rank": scalar(rank)}
        for name in ("x", "cos", "sin"):
            del inputs[name]
        lesson.add(f"split_layer_{what}", "split_layer", says, inputs, run_split_layer)


def product_cases(lesson):
    for what, says, (N, C, K), bias in (("one_token", "one token, no bias", (1, 4, 3), False), ("bias", "with the rank's part of the bias", (2, 5, 3), True),
                                        ("tokens", "more tokens than outputs", (6, 4, 2), True), ("square", "all sizes are equal", (4, 4, 4), True)):
        N, C, K = lesson.size(N, C, K)
        rng = lesson.rng(f"column_{what}")
        inputs = {"x": normal(rng, N, C), "weight": linear_weight(rng, K, C)} | ({"bias": signed(rng, 0.3, 0.9, K)} if bias else {})
        lesson.add(f"column_parallel_{what}", "column_parallel", says, inputs, run_column_parallel)
    for what, says, ranks, (N, C, K), bias in (
            ("alone", "one rank: nothing to add up", 1, (2, 4, 3), True), ("two_ranks", "two parts of each sum", 2, (2, 3, 4), False),
            ("bias", "the bias comes once, on three ranks", 3, (2, 2, 5), True), ("many", "eight ranks with one input each", 8, (3, 1, 4), True),
            ("square", "all sizes are equal", 4, (4, 4, 4), False)):
        N, C, K = lesson.size(N, C, K)
        rng = lesson.rng(f"row_{what}")
        inputs = {"x": normal(rng, ranks, N, C), "weight": linear_weight(rng, ranks * K, C).reshape(ranks, K, C), "ranks": scalar(ranks)}
        inputs |= {"bias": signed(rng, 0.3, 0.9, K)} if bias else {}
        lesson.add(f"row_parallel_{what}", "row_parallel", says, inputs, run_row_parallel)


def vocabulary_cases(lesson):
    for what, says, ranks, words, C, tokens in (
            ("alone", "one rank knows every token", 1, 7, 3, (4, 0, 6)), ("edges", "the first and the last token of each rank", 3, 4, 5, (0, 3, 4, 7, 8, 11)),
            ("second", "tokens of rank 1 alone", 2, 5, 4, (6, 5, 9)), ("again", "tokens that come again", 4, 3, 2, (2, 11, 2, 5, 11))):
        C, = lesson.size(C)
        rng = lesson.rng(f"embed_{what}")
        inputs = {"tokens": integers(*tokens), "table": normal(rng, ranks, words, C), "ranks": scalar(ranks)}
        lesson.add(f"embed_{what}", "embed", says, inputs, run_embed)
    for what, says, ranks, (N, C, words) in (("alone", "one rank", 1, (2, 4, 5)), ("one_token", "one token: the parts stand one after the other", 3, (1, 4, 2)),
                                             ("tokens", "each token has a part from every rank", 2, (3, 5, 4)), ("square", "as many tokens as words and ranks", 3, (3, 3, 3))):
        N, C, words = lesson.size(N, C, words)
        rng = lesson.rng(f"output_{what}")
        inputs = {"x": normal(rng, N, C), "table": linear_weight(rng, ranks * words, C, 2.0).reshape(ranks, words, C), "ranks": scalar(ranks)}
        lesson.add(f"output_{what}", "output", says, inputs, run_output)


def layer_cases(lesson):
    shapes = (("alone", "one rank", (2, 6), (2, 1), 4, 6, 1), ("two_ranks", "two ranks, one key/value head for each", (3, 8), (4, 2), 4, 10, 2),
              ("replicated", "four ranks share two key/value heads", (3, 6), (4, 2), 2, 8, 4), ("one_kv_head", "three ranks, one key/value head", (4, 10), (6, 1), 4, 9, 3),
              ("one_token", "one token, eight ranks", (1, 8), (8, 8), 2, 16, 8))
    for run, function in (("attention", run_attention), ("feed_forward", run_feed_forward), ("layer", run_layer)):
        for what, says, (N, C), heads, D, F, ranks in shapes:
            N, C = lesson.size(N, C)
            rng = lesson.rng(f"{run}_{what}")
            lesson.add(f"{run}_{what}", run, says, layer_inputs(rng, N, C, heads, D, F, ranks), function)


def bytes_cases(lesson):
    for what, says, layers, N, C, V, ranks in (("alone", "one rank sends nothing", 2, 3, 8, 10, 1), ("two_ranks", "two ranks, one token", 1, 1, 4, 6, 2),
                                               ("layers", "more layers", 5, 1, 192, 1024, 2), ("tokens", "more tokens", 3, 7, 16, 24, 4),
                                               ("eight", "eight ranks", 4, 2, 64, 128, 8)):
        inputs = {"layers": scalar(layers), "N": scalar(N), "C": scalar(C), "V": scalar(V), "ranks": scalar(ranks)}
        lesson.add(f"bytes_sent_{what}", "bytes_sent", says, inputs, run_bytes)


def cases(lesson):
    for part in (share_cases, weight_cases, product_cases, vocabulary_cases, layer_cases, bytes_cases):
        part(lesson)


def make(root, seed):
    write_lesson(root, "26_tensor_parallel", seed, cases)
