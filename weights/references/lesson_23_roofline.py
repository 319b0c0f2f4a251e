"""The cases of lesson 23: FLOPs and bytes, counted by the machines of machines.py."""
import json
from fractions import Fraction

import numpy as np

from references.case import model_path, write_lesson
from references.machines import Arrays, Scalars, Sizes, run_attention, run_forward, run_linear, run_tiny, sizes_of
from references.tiny_models import tiny_hybrid

LLAMA_3_8B = Sizes(4096, 32, 8, 128, 14336, 32, 128256)
LLAMA_3_70B = Sizes(8192, 64, 8, 128, 28672, 80, 128256)
LLAMA_2_7B = Sizes(4096, 32, 32, 128, 11008, 32, 32000)
TINY_LLAMA = Sizes(2048, 32, 4, 64, 5632, 22, 32000)


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
        inputs = {name: np.array(value, None if isinstance(value, (float, np.ndarray)) else np.int32) for name, value in inputs.items()}
        directory = self.lesson.directory(f"{run}_{what}", inputs)
        for folder, tensors in (("taps", taps), ("out", outputs), ("tolerance", budgets or {})):
            for name, value in tensors.items():
                self.lesson.save(directory / folder / name, np.array(value, "<i8" if isinstance(value, int) else "<f8"))
        entries = [{"name": name, "dims": list(dims), "error32": 0.0} for name in [*taps, *outputs]]
        self.lesson.describe(directory, run, says, model, {}, entries)

    def quotient(self, run, what, says, inputs, name, values, unit, dims=()):
        """A result that is rounded where counts are not: it may be off by four units in the last place of `unit`, float64 or float32."""
        spacing = np.spacing(np.abs(np.array(values, unit))).astype(np.float64)
        self.write(run, what, says, inputs, {}, {name: values}, {name: 4 * spacing}, dims)


def attention_cases(counts):
    size = counts.lesson.size
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
                     by_hand and (lambda m, rng: run_attention(m, rng, queries, keys, d)), ("scores", "softmax", "attn_out"))


def prefill_cases(counts):
    size = counts.lesson.size
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


def decode_cases(counts):
    size = counts.lesson.size
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


def linear_cases(counts):
    size = counts.lesson.size
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


def forward_cases(counts):
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


def roof_cases(counts):
    devices = (("round", 10.0, 40.0, "numbers that can be divided on paper"), ("h100", 3.35e12, 989e12, "the H100 of the page"),
               ("slow_processor", 200e9, 50e9, "more bandwidth than FLOPs: the ridge lies below 1"))
    for what, bandwidth, peak, says in devices:
        counts.quotient("ridge", what, says, {"bandwidth": bandwidth, "peak": peak}, "ridge", peak / bandwidth, np.float64)
    for what, bandwidth, peak, _ in devices:
        for where, intensity, says in (("left", 0.125, "left of the ridge: memory is the limit"),
                                       ("right", 600.0, "right of the ridge: the processor is the limit")):
            counts.quotient("attainable", f"{what}_{where}", says, {"intensity": intensity, "bandwidth": bandwidth, "peak": peak},
                            "attainable", sorted((bandwidth * intensity, peak))[0], np.float64)


def curve_cases(counts):
    size = counts.lesson.size

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


def seconds_of(flops, moved, bandwidth, peak):
    """One second after the other: what is left after it is what the device could not do of either within it, until nothing is left."""
    seconds = Fraction(0)
    for f, b in zip(map(Fraction, flops), map(Fraction, moved)):
        until_computed, until_moved = f / Fraction(peak), b / Fraction(bandwidth)
        together = sorted((until_computed, until_moved))[0]  # both are at work
        seconds += together + (until_computed - together) + (until_moved - together)  # then one is alone
    return float(seconds)


def seconds_cases(counts):
    H100 = 3.35e12, 989e12

    def add(what, says, operations, device):
        flops, moved = (np.array([operation[i] for operation in operations], np.float64) for i in (0, 1))
        bandwidth, peak = device
        counts.quotient("least_seconds", what, says, {"flops": flops, "bytes": moved, "bandwidth": bandwidth, "peak": peak}, "seconds",
                        seconds_of(flops, moved, bandwidth, peak), np.float64)

    def parts(batch, rows, past):
        machine = Arrays()
        run_forward(machine, LLAMA_3_8B, batch, rows, past)
        return [(flops, 2 * moved) for flops, moved in (machine.parts[part] for part in ("embedding", "projections", "attended", "feed_forward", "output"))]

    n = counts.lesson.size.more
    add("memory", "one operation, left of the ridge", [(30.0 + n, 20.0)], (10.0, 40.0))
    add("compute", "one operation, right of the ridge", [(300.0 + n, 20.0)], (10.0, 40.0))
    add("both", "one operation waits for memory, the next for the processor", [(30.0 + n, 20.0), (300.0, 20.0)], (10.0, 40.0))
    add("no_flops", "a copy: bytes alone", [(0.0, 50.0 + n), (400.0, 10.0)], (10.0, 40.0))
    add("nothing", "no operations take no time", [], (10.0, 40.0))
    add("8b_prompt", "the parts of a prompt of 1024 tokens on the H100 of the page", parts(1, 1024, 0), H100)
    add("8b_step", "the parts of a step", parts(1, 1, 1023), H100)
    add("8b_batch", "the parts of a step of 520 requests", parts(520, 1, 1023), H100)
    add("8b_slow_processor", "the same on a processor that is slower than its memory", parts(520, 1, 1023), (200e9, 50e9))


def cases(lesson):
    counts = Counts(lesson)
    for part in (attention_cases, prefill_cases, decode_cases, linear_cases, forward_cases, roof_cases, curve_cases, seconds_cases):
        part(counts)


def make(root, seed):
    write_lesson(root, "23_roofline", seed, cases)
