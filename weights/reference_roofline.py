"""The cases of lesson 23: FLOPs and bytes, counted while the work is done.

Nothing here knows a formula. A machine has a memory with addresses, and an operation of it reads what it needs into registers, computes, and
writes what comes out. Every addition, multiplication, ... is counted when it happens. So is every element that is written, and every element
that is read, once in an operation however often it is used there: what an operation has read is at hand, and nothing stays for the next one.

Two machines: Scalars works on real numbers, one at a time, and its results are compared with PyTorch's; Arrays knows of an array nothing
but its shape, and counts the pairs that NumPy broadcasts. Where a case is small enough both run, and they must agree.
"""
import json
import math
from collections import namedtuple
from contextlib import contextmanager

import numpy as np
import torch

from hybrid import rotate
from reference_case import model_path
from tiny_hybrid import tiny_hybrid

Sizes = namedtuple("Sizes", "width heads kv_heads head_width inner_width layers vocabulary")
LLAMA_3_8B = Sizes(4096, 32, 8, 128, 14336, 32, 128256)
LLAMA_3_70B = Sizes(8192, 64, 8, 128, 28672, 80, 128256)
LLAMA_2_7B = Sizes(4096, 32, 32, 128, 11008, 32, 32000)
TINY_LLAMA = Sizes(2048, 32, 4, 64, 5632, 22, 32000)


class Machine:
    """A tensor is an array of addresses: views and cuts of it are the same memory."""

    def __init__(self):
        self.flops = self.moved = 0
        self.parts = {}  # name: [FLOPs, elements]

    @contextmanager
    def part(self, name):
        flops, moved = self.flops, self.moved
        yield
        part = self.parts.setdefault(name, [0, 0])
        part[0] += self.flops - flops
        part[1] += self.moved - moved


class Number:
    """What an operation has at hand. Its machine counts what is done with it."""

    def __init__(self, machine, value):
        self.machine, self.value = machine, value

    def _make(self, value):
        self.machine.flops += 1
        return Number(self.machine, value)

    def __add__(self, other):
        return self._make(self.value + other.value)

    def __sub__(self, other):
        return self._make(self.value - other.value)

    def __mul__(self, other):
        return self._make(self.value * other.value)

    def __truediv__(self, other):
        return self._make(self.value / other.value)

    def larger(self, other):
        return self._make(max(self.value, other.value))

    def exp(self):
        return self._make(math.exp(self.value))


class Scalars(Machine):
    def __init__(self):
        super().__init__()
        self.memory = np.zeros(0)
        self.at_hand = {}  # address: what this operation has read

    def new(self, *shape, values=None):
        first = len(self.memory)
        self.memory = np.concatenate([self.memory, np.zeros(math.prod(shape)) if values is None else np.ravel(values)])
        return np.arange(first, len(self.memory)).reshape(shape)

    def values(self, tensor):
        return torch.from_numpy(self.memory[tensor])

    def change(self, tensor, function, *operands):
        """Beside the operations: what is done while a number is at hand, and not counted."""
        self.memory[tensor] = function(*map(self.values, operands)).numpy()

    def read(self, address):
        if address not in self.at_hand:
            self.at_hand[address] = Number(self, self.memory[address])
            self.moved += 1
        return self.at_hand[address]

    def write(self, address, number):
        self.memory[address] = number.value
        self.moved += 1

    @contextmanager
    def operation(self):
        self.at_hand.clear()
        yield

    def product(self, out, x, weight):
        """out (rows, columns) = x (rows, n) times weight (columns, n), transposed."""
        with self.operation():
            for r, c in np.ndindex(out.shape):
                total = Number(self, 0.0)
                for a, b in zip(x[r], weight[c]):
                    total = total + self.read(a) * self.read(b)
                self.write(out[r, c], total)

    def softmax(self, out, scores, visible):
        """What is not visible has its score at hand as minus infinity, and is reckoned with as all others."""
        with self.operation():
            for r, row in enumerate(scores):
                numbers = [self.read(a) for a in row]
                if visible is not None:
                    numbers = [n if seen else Number(self, -math.inf) for n, seen in zip(numbers, visible[r])]
                largest, total = Number(self, -math.inf), Number(self, 0.0)
                for n in numbers:
                    largest = largest.larger(n)
                powers = [(n - largest).exp() for n in numbers]
                for power in powers:
                    total = total + power
                for address, power in zip(out[r], powers):
                    self.write(address, power / total)

    def copy(self, out, x):
        with self.operation():
            for to, source in zip(out.flat, x.flat):
                self.write(to, self.read(source))


class Arrays(Machine):
    def new(self, *shape, values=None):
        return np.broadcast_to(np.int8(0), shape)

    def change(self, tensor, function, *operands):
        pass

    def product(self, out, x, weight):
        pairs = np.broadcast(x[:, None], weight[None])  # each is multiplied, and added to a sum
        assert pairs.shape[:2] == out.shape
        self.flops += 2 * pairs.size
        self.moved += x.size + weight.size + out.size

    def softmax(self, out, scores, visible):
        for step in ("largest", "difference", "exponential", "sum", "quotient"):
            self.flops += scores.size
        self.moved += scores.size + out.size

    def copy(self, out, x):
        self.moved += np.broadcast(out, x).size + out.size


def attend(machine, out, q, k, v, visible=None):
    """q, out: (queries, d); k, v: (keys, d). The scale of the scores is in q."""
    scores, weights = machine.new(len(q), len(k)), machine.new(len(q), len(k))
    with machine.part("scores"):
        machine.product(scores, q, k)
    with machine.part("softmax"):
        machine.softmax(weights, scores, visible)
    with machine.part("context"):
        machine.product(out, weights, v.T)


def run_attention(machine, rng, queries, keys, d, requests=1):
    """`requests` times so many queries, each time over keys and values of their own."""
    for _ in range(requests):
        q, k, v = (machine.new(n, d, values=None if rng is None else rng.standard_normal((n, d))) for n in (queries, keys, keys))
        out = machine.new(queries, d)
        attend(machine, out, q, k, v)
        if rng is not None:
            want = torch.softmax(machine.values(q) @ machine.values(k).T, -1) @ machine.values(v)
            assert torch.allclose(machine.values(out), want, rtol=1e-12, atol=1e-12)


def run_linear(machine, rng, rows, inputs, outputs):
    x, weight = (machine.new(n, inputs, values=None if rng is None else rng.standard_normal((n, inputs))) for n in (rows, outputs))
    out = machine.new(rows, outputs)
    machine.product(out, x, weight)
    if rng is not None:
        assert torch.allclose(machine.values(out), machine.values(x) @ machine.values(weight).T)


def run_forward(machine, sizes, batch, rows, past, model=None, tokens=None, caches=None):
    """A LLaMA as hybrid.py has it. With a model: tokens (batch, rows) and the caches of each sequence; gives the logits (batch, V)."""
    C, H, G, D, F, L, V = sizes
    fed = batch * rows
    given = lambda weight: None if model is None else weight().weight.detach()
    per_head = lambda t: t.reshape(batch, rows, -1, D)

    x = machine.new(fed, C)
    table = machine.new(V, C, values=given(lambda: model.token_embedding))
    with machine.part("embedding"):
        machine.copy(x, table[np.zeros(fed, int) if tokens is None else np.ravel(tokens)])

    for i in range(L):
        layer = model.layers[i] if model else None
        attention, feed_forward = (layer.attention, layer.feed_forward) if layer else (None, None)
        normed, q, context, update = machine.new(fed, C), machine.new(fed, H * D), machine.new(fed, H * D), machine.new(fed, C)
        cache = {name: machine.new(batch, past + rows, G, D, values=caches and np.stack([getattr(c[i], name)[:past + rows] for c in caches]))
                 for name in "kv"}
        new = {name: cache[name][:, past:].reshape(fed, G * D) for name in "kv"}  # the product writes into the cache
        machine.change(normed, lambda t: layer.attention_norm(t), x)
        with machine.part("projections"):
            for name, out, width in (("q", q, H * D), ("k", new["k"], G * D), ("v", new["v"], G * D)):
                machine.product(out, normed, machine.new(width, C, values=given(lambda: getattr(attention, name))))
        turned = lambda t: rotate(t.reshape(batch, rows, -1, D), model.config.theta, past).reshape(t.shape)
        machine.change(q, lambda t: turned(t) / math.sqrt(D), q)
        machine.change(new["k"], turned, new["k"])

        visible = None if model is None else np.arange(past + rows) <= past + np.tile(np.arange(rows), H // G)[:, None]
        with machine.part("attended"):
            for b, g in np.ndindex(batch, G):
                group = lambda t: per_head(t)[b, :, g * H // G:(g + 1) * H // G].swapaxes(0, 1).reshape(-1, D)  # (H/G * rows, D)
                attend(machine, group(context), group(q), cache["k"][b, :, g], cache["v"][b, :, g], visible)
        with machine.part("projections"):
            machine.product(update, context, machine.new(C, H * D, values=given(lambda: attention.o)))
        machine.change(x, torch.add, x, update)

        machine.change(normed, lambda t: layer.ffn_norm(t), x)
        gate, up = machine.new(fed, F), machine.new(fed, F)
        with machine.part("feed_forward"):
            machine.product(gate, normed, machine.new(F, C, values=given(lambda: feed_forward.gate)))
            machine.product(up, normed, machine.new(F, C, values=given(lambda: feed_forward.up)))
        machine.change(gate, lambda a, b: torch.nn.functional.silu(a) * b, gate, up)
        with machine.part("feed_forward"):
            machine.product(update, gate, machine.new(C, F, values=given(lambda: feed_forward.down)))
        machine.change(x, torch.add, x, update)

    last, normed, logits = x.reshape(batch, rows, C)[:, -1], machine.new(batch, C), machine.new(batch, V)
    machine.change(normed, lambda t: model.final_norm(t), last)
    with machine.part("output"):
        machine.product(logits, normed, machine.new(V, C, values=given(lambda: model.output)))
    return logits


@torch.no_grad()
def run_tiny(machine, rng, model, batch, past, rows):
    """The forward on real numbers, compared with the model's own."""
    tokens = rng.permutation(model.config.vocabulary)[:batch * (past + rows)]  # all different: a row read twice would be at hand
    tokens = torch.from_numpy(tokens.reshape(batch, past + rows))
    caches = [model.new_caches() for _ in range(batch)]
    for sequence, cache in zip(tokens, caches):
        if past:
            model(sequence[:past], caches=cache, start_pos=0)
    logits = run_forward(machine, sizes_of(model.config), batch, rows, past, model, tokens[:, past:].numpy(), caches)
    want = torch.stack([model(sequence)[-1] for sequence in tokens])
    assert torch.allclose(machine.values(logits), want, rtol=1e-10, atol=1e-10)


def sizes_of(c):
    return Sizes(c.channels, c.heads, c.kv_heads, c.head_dim, c.hidden, c.layers, c.vocabulary)


class Counts:
    """Adds the cases of the lesson."""

    def __init__(self, lesson):
        self.lesson = lesson

    def count(self, run, what, says, inputs, element_bytes, work, by_hand=None, taps=(), model=None):
        """work(machine) on shapes; by_hand(machine, rng) on numbers, where the case is small enough."""
        machine = Arrays()
        work(machine)
        if by_hand:
            small = Scalars()
            by_hand(small, self.lesson.rng(f"{run}_{what}"))
            assert (small.flops, small.moved, small.parts) == (machine.flops, machine.moved, machine.parts), f"{run}_{what}"
        inputs = {**inputs, "element_bytes": element_bytes}
        numbers = {}
        for part in taps:
            flops, moved = machine.parts[part]
            numbers |= {f"{part}_flops": flops, f"{part}_bytes": moved * element_bytes}
        out = {"flops": machine.flops, "bytes": machine.moved * element_bytes}
        assert max(out.values()) < 2 ** 53  # whole numbers that a double holds, so that equal or not is the question
        self.write(run, what, says, inputs, numbers, out, model=model)
        return machine.flops / (machine.moved * element_bytes)

    def write(self, run, what, says, inputs, taps, outputs, budgets=None, dims=(), model=None):
        inputs = {name: np.array(value, None if isinstance(value, float) else np.int32) for name, value in inputs.items()}
        directory = self.lesson._directory(f"{run}_{what}", inputs)
        for folder, tensors in (("taps", taps), ("out", outputs), ("budget", budgets or {})):
            for name, value in tensors.items():
                self.lesson._save(directory / folder / name, np.array(value, "<i8" if isinstance(value, int) else "<f8"))
        entries = [{"name": name, "dims": list(dims), "error32": 0.0} for name in [*taps, *outputs]]
        self.lesson._describe(directory, run, says, model, {}, entries)

    def quotient(self, run, what, says, inputs, name, values, unit, dims=()):
        """A result that is rounded where counts are not: it may be off by four units in the last place of `unit`, float64 or float32."""
        spacing = np.spacing(np.abs(np.array(values, unit))).astype(np.float64)
        self.write(run, what, says, inputs, {}, {name: values}, {name: 4 * spacing}, dims)


def attention_cases(counts, size):
    for what, sizes, element_bytes, by_hand, says in (
            ("small", (2, 3, 4), 2, True, "small enough to be counted on paper"),
            ("one_query", (1, 5, 3), 2, True, "a query alone: keys and values are most of what is moved"),
            ("one_key", (6, 1, 5), 2, True, "a single key: its softmax is still five FLOPs a score"),
            ("four_bytes", (3, 7, 2), 4, True, "elements of 4 bytes"),
            ("one_byte", (5, 2, 9), 1, True, "elements of 1 byte"),
            ("square", (8, 8, 8), 2, True, "all sizes are equal: only the sums tell what was counted"),
            ("wide", (9, 4, 16), 2, True, "more queries than keys"),
            ("group", (4, 1024, 128), 2, False, "a group of four heads of Llama-3-8B over 1024 keys"),
            ("long", (131072, 131072, 128), 2, False, "more FLOPs than 32 bits hold")):
        queries, keys, d = size(*sizes)
        counts.count("attention", what, says, {"queries": queries, "keys": keys, "d": d}, element_bytes,
                     lambda m: run_attention(m, None, queries, keys, d),
                     by_hand and (lambda m, rng: run_attention(m, rng, queries, keys, d)), ("scores", "softmax", "context"))


def prefill_cases(counts, size):
    for what, (N, d), element_bytes, by_hand, says in (
            ("one_token", (1, 4), 2, True, "a prompt of one token is a step of decoding"),
            ("small", (3, 2), 2, True, "small enough to be counted on paper"),
            ("longer", (13, 6), 4, True, "elements of 4 bytes"),
            ("thousand", (1024, 128), 2, False, "the sizes of the table on the page")):
        N, d = size(N, d)
        counts.count("prefill_attention", what, says, {"N": N, "d": d}, element_bytes, lambda m: run_attention(m, None, N, N, d),
                     by_hand and (lambda m, rng: run_attention(m, rng, N, N, d)))


def run_decode(machine, rng, N, d, batch, shared):
    run_attention(machine, rng, batch if shared else 1, N, d, requests=1 if shared else batch)


def decode_cases(counts, size):
    for what, (N, d, batch), shared, element_bytes, by_hand, says in (
            ("one_request", (5, 3, 1), False, 2, True, "a single request, small enough to be counted on paper"),
            ("one_request_shared", (5, 3, 1), True, 2, True, "a single request has nobody to share with: the same"),
            ("own_caches", (5, 3, 4), False, 2, True, "four requests, each with its own keys and values"),
            ("shared_cache", (5, 3, 4), True, 2, True, "four requests that read the same keys and values"),
            ("own_four_bytes", (7, 2, 3), False, 4, True, "elements of 4 bytes"),
            ("shared_four_bytes", (7, 2, 3), True, 4, True, "elements of 4 bytes"),
            ("thousand", (1024, 128, 1), False, 2, False, "the sizes of the table on the page"),
            ("thousand_own", (1024, 128, 256), False, 2, False, "256 requests with a cache each"),
            ("thousand_shared", (1024, 128, 256), True, 2, False, "256 requests behind one prefix")):
        N, d, batch = size(N, d, batch)
        counts.count("decode_attention", what, says, {"N": N, "d": d, "batch": batch, "shared": int(shared)}, element_bytes,
                     lambda m: run_decode(m, None, N, d, batch, shared), by_hand and (lambda m, rng: run_decode(m, rng, N, d, batch, shared)))


def linear_cases(counts, size):
    for what, sizes, element_bytes, by_hand, says in (
            ("one_row", (1, 3, 2), 2, True, "one token: the weight is most of what is moved"),
            ("small", (4, 3, 2), 2, True, "small enough to be counted on paper"),
            ("four_bytes", (2, 5, 7), 4, True, "elements of 4 bytes"),
            ("decode", (1, 4096, 14336), 2, False, "the up matrix of Llama-3-8B for one token"),
            ("prefill", (1024, 4096, 14336), 2, False, "the same for a prompt of 1024: more FLOPs than 32 bits hold")):
        rows, inputs, outputs = size(*sizes)
        counts.count("linear", what, says, {"rows": rows, "in": inputs, "out": outputs}, element_bytes,
                     lambda m: run_linear(m, None, rows, inputs, outputs),
                     by_hand and (lambda m, rng: run_linear(m, rng, rows, inputs, outputs)))


def forward_cases(counts, size):
    parts = ("embedding", "projections", "attended", "feed_forward", "output")

    def add(what, says, sizes, call, element_bytes=2, tiny=None, model=None):
        batch, rows, past = call
        inputs = {**({} if model else sizes._asdict()), "batch": batch, "rows": rows, "past": past}
        by_hand = tiny and (lambda m, rng: run_tiny(m, rng, tiny, batch, past, rows))
        counts.count("forward", what, says, inputs, element_bytes, lambda m: run_forward(m, sizes, batch, rows, past), by_hand, parts, model)

    a, b = (tiny_hybrid(name, counts.lesson.seed).double() for name in ("hybrid_13", "hybrid_13_b"))
    for what, model, call, element_bytes, says in (
            ("one_token", a, (1, 1, 0), 2, "the smallest call"),
            ("step", a, (1, 1, 5), 2, "one token behind five that are in the cache"),
            ("prompt", a, (1, 4, 0), 2, "a prompt of four tokens: weights are read once, logits wanted once"),
            ("chunk", b, (1, 3, 4), 2, "three tokens behind four"),
            ("batch", b, (3, 1, 4), 2, "three sequences in one step: weights are shared, caches are not"),
            ("batch_of_chunks", a, (2, 3, 2), 4, "everything at once, in elements of 4 bytes")):
        add(f"tiny_{what}", says, sizes_of(model.config), call, element_bytes, model)
    add("multi_head", "Llama-2-7B: as many key/value heads as heads", LLAMA_2_7B, (1, 1, 2047))
    add("tinyllama", "TinyLlama, a prompt", TINY_LLAMA, (1, 512, 0))
    add("8b_prompt", "Llama-3-8B, a prompt of 1024 tokens", LLAMA_3_8B, (1, 1024, 0))
    add("8b_step", "Llama-3-8B, one request", LLAMA_3_8B, (1, 1, 1023))
    add("8b_batch", "Llama-3-8B, 64 requests", LLAMA_3_8B, (64, 1, 1023))
    add("70b_step", "Llama-3-70B: wider, and layers are 80", LLAMA_3_70B, (1, 1, 8191))
    stories = json.loads((model_path(counts.lesson.root, "stories") / "config.json").read_text())
    sizes = Sizes(*(stories[name] for name in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
                                               "num_hidden_layers", "vocab_size")))
    add("stories_prompt", "the model that tells stories, read from its file", sizes, (1, 64, 0), 2, None, "stories")
    add("stories_step", "the same, a step of four stories", sizes, (4, 1, 200), 2, None, "stories")


def roof_cases(counts, size):
    devices = (("round", 10.0, 40.0, "numbers that can be divided on paper"), ("h100", 3.35e12, 989e12, "the H100 of the page"),
               ("slow_processor", 200e9, 50e9, "more bandwidth than FLOPs: the ridge lies below 1"))
    for what, bandwidth, peak, says in devices:
        counts.quotient("ridge", what, says, {"bandwidth": bandwidth, "peak": peak}, "ridge", peak / bandwidth, np.float64)
    for what, bandwidth, peak, _ in devices:
        for where, intensity, says in (("left", 0.125, "left of the ridge: memory is the limit"),
                                       ("right", 600.0, "right of the ridge: the processor is the limit")):
            counts.quotient("attainable", f"{what}_{where}", says, {"intensity": intensity, "bandwidth": bandwidth, "peak": peak},
                            "attainable", sorted((bandwidth * intensity, peak))[0], np.float64)


def curve_cases(counts, size):
    def intensities(works):
        machines = [Arrays() for _ in works]
        for machine, work in zip(machines, works):
            work(machine)
        return [m.flops / m.moved for m in machines]

    def prefill(what, says, contexts, d, element_bytes):
        contexts = size(*contexts)
        values = intensities([lambda m, N=N: run_attention(m, None, N, N, d) for N in contexts])
        counts.quotient("prefill_curve", what, says, {"contexts": contexts, "d": d, "element_bytes": element_bytes}, "out",
                        [y / element_bytes for y in values], np.float32, ("point",))

    def decode(what, says, batches, N, d, shared, element_bytes):
        batches = size(*batches)
        values = intensities([lambda m, B=B: run_decode(m, None, N, d, B, shared) for B in batches])
        counts.quotient("decode_curve", what, says, {"batches": batches, "N": N, "d": d, "shared": int(shared), "element_bytes": element_bytes},
                        "out", [y / element_bytes for y in values], np.float32, ("point",))

    prefill("small", "three points", [1, 2, 5], 3, 2)
    prefill("page", "the curve of the page", [64, 256, 1024, 4096], 128, 2)
    prefill("four_bytes", "elements of 4 bytes", [16, 32], 64, 4)
    decode("own", "a cache each: the curve is flat", [1, 2, 5], 7, 3, False, 2)
    decode("shared", "one cache: the curve rises", [1, 2, 5], 7, 3, True, 2)
    decode("page_own", "the flat curve of the page", [1, 16, 64, 256], 1024, 128, False, 2)
    decode("page_shared", "the rising curve of the page", [1, 16, 64, 256], 1024, 128, True, 2)


def roofline(lesson, size):
    counts = Counts(lesson)
    for cases in (attention_cases, prefill_cases, decode_cases, linear_cases, forward_cases, roof_cases, curve_cases):
        cases(counts, size)
