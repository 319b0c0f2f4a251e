"""Machines that count FLOPs and bytes while the work is done, and the work that lesson 23 gives them.

Nothing here knows a formula. A machine has a memory with addresses, and an operation of it reads what it needs into registers, computes, and
writes what comes out. Every addition, multiplication, ... is counted when it happens. So is every element that is written, and every element
that is read, once in an operation however often it is used there: what an operation has read is at hand, and nothing stays for the next one.

Two machines: Scalars works on real numbers, one at a time, and its results are compared with PyTorch's; Arrays knows of an array nothing
but its shape, and counts the pairs that NumPy broadcasts. Where a case is small enough both run, and they must agree.
"""
import math
from collections import namedtuple
from contextlib import contextmanager

import numpy as np
import torch

from train.hybrid import apply_rope

Sizes = namedtuple("Sizes", "hidden_size num_heads num_kv_heads head_dim intermediate_size num_layers vocab_size")


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


def sdpa(machine, out, q, k, v, visible=None):
    """q, out: (queries, d); k, v: (keys, d). The scale of the scores is in q."""
    scores, weights = machine.new(len(q), len(k)), machine.new(len(q), len(k))
    with machine.part("scores"):
        machine.product(scores, q, k)
    with machine.part("softmax"):
        machine.softmax(weights, scores, visible)
    with machine.part("attn_out"):
        machine.product(out, weights, v.T)


def run_attention(machine, rng, queries, keys, d, requests=1):
    """`requests` times so many queries, each time over keys and values of their own."""
    for _ in range(requests):
        q, k, v = (machine.new(n, d, values=None if rng is None else rng.standard_normal((n, d))) for n in (queries, keys, keys))
        out = machine.new(queries, d)
        sdpa(machine, out, q, k, v)
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
        turned = lambda t: apply_rope(t.reshape(batch, rows, -1, D), model.config.theta, past).reshape(t.shape)
        machine.change(q, lambda t: turned(t) / math.sqrt(D), q)
        machine.change(new["k"], turned, new["k"])

        visible = None if model is None else np.arange(past + rows) <= past + np.tile(np.arange(rows), H // G)[:, None]
        with machine.part("attended"):
            for b, g in np.ndindex(batch, G):
                group = lambda t: per_head(t)[b, :, g * H // G:(g + 1) * H // G].swapaxes(0, 1).reshape(-1, D)  # (H/G * rows, D)
                sdpa(machine, group(context), group(q), cache["k"][b, :, g], cache["v"][b, :, g], visible)
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
