"""The cases of lesson 25: blocks, block tables, copy on write, attention through a table, the steps of a scheduler, and prefix caching.

needs: PyTorch, NumPy. Attention and the whole model are PyTorch's own, of each sequence alone; the rest is written here in plain Python.
"""
from functools import reduce

import numpy as np
import torch
from torch.nn import functional

from references.case import write_lesson
from references.tiny_models import TINY_A, TINY_B
from references.values import integers, normal, scalar


def numbers(values):
    return torch.tensor(list(values), dtype=torch.int64)


def record_table(record, holders, table):
    record.out("holders", numbers(holders), "block")
    record.out("size_and_table", numbers([len(table), *table]), "entry")


def run_take(record, a, model):
    holders, table = a["holders"].tolist(), a["table"].tolist()
    free = [block for block, count in enumerate(holders) if not count][:a["n"]]
    done = len(free) == a["n"]
    record.out("done", numbers([done]), "entry")
    record_table(record, [1 if done and block in free else count for block, count in enumerate(holders)], table + free * done)


def run_release(record, a, model):
    table = a["table"].tolist()
    record_table(record, [count - table.count(block) for block, count in enumerate(a["holders"].tolist())], [])


def run_preempt(record, a, model):
    record.out("tokens_computed", numbers([a["tokens"], 0]), "entry")
    run_release(record, a, model)


def run_make_writable(record, a, model):
    holders, table, size = a["holders"].tolist(), a["table"].tolist(), a["block_size"]
    k, v, entry = a["k"].clone(), a["v"].clone(), a["position"] // a["block_size"]
    done, old = True, table[entry]
    if holders[old] > 1:
        done = 0 in holders
        if done:
            new = holders.index(0)
            for rows in (k, v):
                rows.view(-1, size, rows.shape[1])[new] = rows.view(-1, size, rows.shape[1])[old]
            holders[new], holders[old], table[entry] = 1, holders[old] - 1, new
    record.out("done", numbers([done]), "entry")
    record.out("k", k, "row", "dim")
    record.out("v", v, "row", "dim")
    record_table(record, holders, table)


def run_row_of(record, a, model):
    rows = torch.arange(100 * a["block_size"]).view(100, -1)[a["table"]].flatten()
    record.out("rows", rows[a["positions"]], "position")


def run_attend(record, a, model):
    T, S = a["q"].shape[0], a["start_pos"] + a["q"].shape[0]
    k, v = a["k"].clone(), a["v"].clone()
    rows = torch.arange(k.shape[0]).view(-1, a["block_size"])[a["table"]].flatten()[:S]
    k[rows[-T:]], v[rows[-T:]] = a["new_k"], a["new_v"]
    record.tap("keys", k[rows], "position", "dim")
    record.tap("values", v[rows], "position", "dim")
    record.out("k", k, "row", "dim")
    record.out("v", v, "row", "dim")
    mask = torch.ones(S, S, dtype=torch.bool).tril()[-T:]
    scores = torch.matmul(a["q"], k[rows].T) / a["q"].shape[1] ** 0.5
    record.out("out", torch.matmul(functional.softmax(scores.masked_fill(~mask, -torch.inf), 1), v[rows]), "query", "dim")


def run_newest(record, a, model):
    record.out("newest", numbers([max((i for i, held in enumerate(a["held"].tolist()) if held), default=-1)]), "entry")


def run_plan(record, a, model):
    """First come, first served: whoever is older has blocks and rows before whoever is newer."""
    size, prompts, answers = a["block_size"], a["prompt"].tolist(), a["answer"].tolist()
    length, done, held = prompts[:], [0] * len(prompts), [0] * len(prompts)
    here, fed, free, step = [], [], [], 0
    while step == 0 or here or max(a["arrives"].tolist()) >= step:
        here += [i for i, when in enumerate(a["arrives"].tolist()) if when == step]
        budget, pieces = a["budget"], []
        for at, i in enumerate(here):
            count = min(length[i] - done[i], budget)
            want = -(-(done[i] + count) // size)
            if not count:
                break
            for newer in reversed(here[at + 1:]):
                if want - held[i] > a["blocks"] - sum(held):
                    held[newer] = done[newer] = 0
            if want - held[i] > a["blocks"] - sum(held):
                held[i] = done[i] = 0
                break
            held[i] = max(want, held[i])
            pieces.append((step, i, done[i], count))
            budget -= count
        fed += pieces
        free.append(a["blocks"] - sum(held))
        for _, i, start, count in pieces:
            done[i] = start + count
            length[i] += done[i] == length[i]
        for i in [i for i in here if length[i] - prompts[i] == answers[i]]:
            here.remove(i)
            held[i] = 0
        step += 1
        assert step < 300, "a request can never fit"
    record.out("fed", numbers(np.array(fed).flatten()).view(-1, 4), "piece", "column")
    record.out("free", numbers(free), "step")


def mix(value, token):
    return ((value ^ int(token)) * 16777619) % 2 ** 32


def hash_of(tokens):
    """FNV-1a of whole words, as the int32 that has its bits."""
    value = reduce(mix, tokens, 2166136261)
    return value - 2 ** 32 * (value >= 2 ** 31)


def prefixes(tokens, size):
    return [tokens[:end] for end in range(size, len(tokens) + 1, size)]


def run_block_hashes(record, a, model):
    hashes = numbers(hash_of(prefix) for prefix in prefixes(a["tokens"].tolist(), a["block_size"]))
    record.out("count", numbers([len(hashes)]), "entry")
    record.out("hashes", hashes, "block")


def run_share_prefix(record, a, model):
    known = dict(zip(a["known"].tolist(), a["known_block"].tolist()))
    wanted = [known.get(hash_of(prefix)) for prefix in prefixes(a["tokens"].tolist()[:-1], a["block_size"])] + [None]
    table = wanted[:wanted.index(None)]
    record.out("found", numbers([len(table) * a["block_size"]]), "entry")
    record_table(record, [count + table.count(block) for block, count in enumerate(a["holders"].tolist())], table)


def run_serve(record, a, model):
    """Each request alone, in one call: nothing of blocks, steps or others is known here."""
    texts = a["tokens"].split((a["prompt"] + a["answer"]).tolist())
    record.out("logits", torch.cat([model(text[:-1])[prompt - 1:] for text, prompt in zip(texts, a["prompt"].tolist())]),
               "token", "vocabulary")


def prefix_cases(lesson):
    for what, says, size, tokens in (("one", "one block", 4, (5, 6, 7, 8)), ("chain", "the same tokens twice: the second block has another hash", 3, (7, 2, 9, 7, 2, 9)),
                                     ("partial", "the last block is not full", 3, (4, 0, 1, 1, 8, 6, 3, 11)), ("order", "the same tokens in another order", 2, (1, 2, 2, 1, 3, 0))):
        lesson.add(f"block_hashes_{what}", "block_hashes", says, {"tokens": integers(*tokens), "block_size": scalar(size)}, run_block_hashes)

    prompt = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5)
    three = [(prompt[:4], 2), (prompt[:8], 0)]
    for what, says, tokens, holders, known in (
            ("two_blocks", "two of two whole blocks are known", prompt, (1, 0, 1, 2), three),
            ("three_blocks", "three blocks of a longer prompt", prompt + (8, 9, 7), (1, 0, 1, 2), three + [(prompt + (8,), 3)]),
            ("to_its_end", "the prompt ends with a block that is known: it is computed again", prompt[:8], (1, 0, 2, 1), three),
            ("one_more", "the prompt has one token after the blocks that are known", prompt[:9], (3, 0, 2, 1), three),
            ("nothing", "another first token", (9,) + prompt[1:], (1, 0, 1, 2), three),
            ("other_end", "the second block differs in its last token", prompt[:7] + (7,) + prompt[8:], (1, 0, 1, 2), three),
            ("gap", "the second block is not known, the third is", prompt + (8, 9), (1, 2, 1, 0), [(prompt[:4], 3), (prompt + (8,), 1)]),
            ("freed", "the block of a request that has ended: it gets a holder again", prompt, (1, 0, 0, 0), [(prompt[:4], 3)]),
            ("after_others", "the same tokens, but after others", prompt, (1, 1, 1, 0), [(prompt[4:8] + prompt[:4], 1), ((7, 7, 7, 7) + prompt[4:8], 2)]),
            ("short", "a prompt of one token", prompt[:1], (1, 0, 1, 2), three)):
        inputs = {"tokens": integers(*tokens), "block_size": scalar(4), "holders": integers(*holders),
                  "known": integers(*(hash_of(prefix) for prefix, _ in known)), "known_block": integers(*(block for _, block in known))}
        lesson.add(f"share_prefix_{what}", "share_prefix", says, inputs, run_share_prefix)


def serve_cases(lesson):
    def served(what, says, model, shared, blocks, size, budget, requests):
        """shared: tokens that all prompts begin with. The first request has the longest prompt, so that its blocks are there when others come."""
        rng, vocabulary = lesson.rng(f"serve_{what}"), lesson.model(model)(torch.float64).config.vocabulary
        arrives, prompt, answer = zip(*requests)
        common = rng.integers(0, vocabulary, shared)
        texts = [np.concatenate([common[:min(p, shared)], rng.integers(0, vocabulary, max(0, p - shared) + a)]) for p, a in zip(prompt, answer)]
        inputs = {"blocks": scalar(blocks), "block_size": scalar(size), "budget": scalar(budget), "arrives": integers(*arrives),
                  "prompt": integers(*prompt), "answer": integers(*answer), "tokens": integers(*np.concatenate(texts))}
        lesson.add(f"serve_{what}", "serve", says, inputs, run_serve, model)

    served("one", "the whole model: one request, its prompt in two chunks", TINY_A, 0, 6, 4, 5, [(0, 7, 4)])
    served("joins", "requests join and leave, and prompts are fed in chunks beside those who decode", TINY_A, 0, 20, 4, 6,
           [(0, 9, 5), (1, 3, 7), (2, 13, 3), (5, 6, 4)])
    served("preempted", "blocks run out: who is computed again gets the same logits", TINY_B, 0, 7, 3, 8, [(0, 7, 8), (0, 6, 7), (1, 4, 6)])
    served("shared", "prompts that begin alike: blocks are shared", TINY_A, 10, 12, 4, 16, [(0, 12, 6), (1, 11, 5), (1, 10, 4), (3, 8, 5)])
    served("shared_preempted", "shared blocks, and too few of them", TINY_B, 9, 7, 3, 9, [(0, 11, 6), (1, 10, 7), (2, 9, 5), (2, 12, 4)])


def cases(lesson):
    def table_case(run, function, what, says, holders, table, **more):
        inputs = {"holders": integers(*holders), "table": integers(*table), **{name: scalar(x) for name, x in more.items()}}
        lesson.add(f"{run}_{what}", run, says, inputs, function)

    table_case("take", run_take, "two", "two of four free blocks", (0, 0, 0, 0), (2,), n=2)
    table_case("take", run_take, "between", "free blocks between taken ones", (1, 0, 2, 0, 0), (0, 2), n=2)
    table_case("take", run_take, "all", "exactly as many as are free", (0, 1, 0), (1,), n=2)
    table_case("take", run_take, "too_many", "fewer are free: nothing changes", (0, 1, 0, 3), (1,), n=3)
    table_case("take", run_take, "none_free", "none is free", (1, 2), (0, 1), n=1)
    table_case("release", run_release, "own", "blocks with one holder", (1, 0, 1, 1), (3, 0))
    table_case("release", run_release, "shared", "a block that others hold too stays", (3, 1, 1), (0, 2))
    rng = lesson.rng("write")
    for what, says, holders, table, position in (
            ("own", "one holder: nothing is copied", (1, 1, 0), (1, 0), 1), ("shared", "a block of two holders", (2, 1, 0, 0), (1, 0), 4),
            ("three", "a block of three holders", (1, 3, 1, 0), (1, 2), 2), ("full", "no block is free for the copy", (2, 1), (1, 0), 5)):
        inputs = {"holders": integers(*holders), "table": integers(*table), "position": scalar(position), "block_size": scalar(3),
                  "k": normal(rng, 3 * len(holders), 2), "v": normal(rng, 3 * len(holders), 2)}
        lesson.add(f"make_writable_{what}", "make_writable", says, inputs, run_make_writable)
    for what, says, table, size, positions in (("one", "one block", (4,), 4, range(4)), ("turned", "blocks that are not in order", (5, 2, 7), 3, range(9)),
                                               ("wide", "some positions", (3, 1), 16, (0, 15, 16, 31, 20))):
        inputs = {"table": integers(*table), "block_size": scalar(size), "positions": integers(*positions)}
        lesson.add(f"row_of_{what}", "row_of", says, inputs, run_row_of)
    for what, says, table, size, start, T, D in (
            ("prompt", "a whole prompt in one call", (2, 0), 3, 0, 5, 4), ("step", "one token after five", (1, 3), 3, 5, 1, 4),
            ("chunk", "three tokens after four: the chunk crosses a block", (4, 1, 2), 3, 4, 3, 6), ("first", "one token, nothing before it", (1,), 2, 0, 1, 3),
            ("long", "a chunk of six after nine", (6, 0, 5, 2), 4, 9, 6, 8)):
        rng = lesson.rng(f"attend_{what}")
        rows = size * (max(table) + 1)
        inputs = {"table": integers(*table), "block_size": scalar(size), "start_pos": scalar(start), "q": normal(rng, T, D), "new_k": normal(rng, T, D),
                  "new_v": normal(rng, T, D), "k": normal(rng, rows, D), "v": normal(rng, rows, D)}
        lesson.add(f"attend_{what}", "attend", says, inputs, run_attend)
    for what, says, held in (("last", "all hold blocks", (1, 2, 3)), ("waits", "the last ones wait", (2, 1, 0, 0)), ("none", "nobody holds any", (0, 0))):
        lesson.add(f"newest_{what}", "newest", says, {"held": integers(*held)}, run_newest)
    table_case("preempt", run_preempt, "decoding", "a request that had drawn tokens", (1, 1, 2), (2, 0), tokens=9, computed=8)
    table_case("preempt", run_preempt, "prefill", "a prompt that was half done", (0, 1, 1), (1,), tokens=7, computed=3)

    def trace(what, says, blocks, size, budget, requests):
        arrives, prompt, answer = zip(*requests)
        inputs = {"blocks": scalar(blocks), "block_size": scalar(size), "budget": scalar(budget), "arrives": integers(*arrives),
                  "prompt": integers(*prompt), "answer": integers(*answer)}
        lesson.add(f"plan_{what}", "plan", says, inputs, run_plan)

    trace("one", "one request, its prompt in one step", 8, 4, 16, [(0, 5, 4)])
    trace("chunks", "a prompt in three chunks", 8, 4, 4, [(0, 11, 3)])
    trace("beside", "a long prompt beside the decoding of another", 12, 4, 6, [(0, 3, 8), (1, 17, 3)])
    trace("joins", "requests join and leave", 16, 4, 8, [(0, 5, 3), (1, 7, 6), (2, 2, 2), (9, 6, 3)])
    trace("preempted", "blocks run out: the newest is computed again", 5, 2, 8, [(0, 3, 6), (0, 4, 5)])
    trace("preempted_twice", "three requests in too few blocks", 6, 3, 7, [(0, 4, 9), (1, 5, 8), (1, 3, 7)])
    rng = lesson.rng("traces")
    for i in range(3):
        requests = sorted((int(rng.integers(0, 9)), int(rng.integers(1, 14)), int(rng.integers(1, 10))) for _ in range(7))
        trace(f"random_{i + 1}", "seven requests at random", 9, 3, 7, requests)
    prefix_cases(lesson)
    serve_cases(lesson)


def make(root, seed):
    write_lesson(root, "25_batching", seed, cases)
