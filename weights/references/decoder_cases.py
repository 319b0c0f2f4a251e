"""What the cases of lessons 02 to 08 share: runs of the decoder of part I and of its attention."""
import torch
from torch import nn

from references.case import WEIGHTS
from references.tiny_models import TINY_A, TINY_B
from references.values import DECODER, attention_inputs, filled_cache, integers, random_tokens, scalar, story_tokens
from train.torch_decoder import PARTS, Attention, Cache, sdpa

# One call of a part or of a model without a past

def run_sdpa(mask):
    def run(record, a, model):
        record.out("out", sdpa(a["q"], a["k"], a["v"], mask, record.tap), "query", "dim")
    return run


def attention_module(a):
    (D, C), dtype = a["q.weight"].shape, a["x"].dtype
    attention = Attention(C, D).to(dtype)
    attention.load_state_dict({name: a[name] for name in attention.state_dict()})
    return attention


def run_attention(mask):
    def run(record, a, model):
        record.out("out", attention_module(a)(a["x"], mask, tap=record.tap), "token", "channel")
    return run


def run_decoder_forward(lesson):
    """Mean and variance are taps of the lesson about them; later lessons know the norm as one step."""
    final = ("mean", "variance")

    def run(record, a, model):
        tap = lambda name, *rest: name in final and lesson != "03_layer_norm" or record.tap(name, *rest)
        record.out("logits", model(a["tokens"], PARTS[lesson], tap=tap), "token", "vocabulary")
    return run


def decoder_forward(lesson, what, tokens, says, model, taps=True):
    lesson.add(f"decoder_forward_{what}", "decoder_forward", says, {"tokens": tokens}, run_decoder_forward(lesson.name), model, taps)


def partial_models(lesson):
    """The whole-model cases of the lessons before the model is whole."""
    for what, model, length, says in (
            ("one_token", TINY_A, 1, "the smallest model call"),
            ("two_tokens", TINY_A, 2, "small enough to be read in full"),
            ("five_tokens", TINY_B, 5, "all sizes differ, and a head is wider than the model"),
            ("whole_context_a", TINY_A, None, "every position is used"),
            ("whole_context_b", TINY_B, None, "every position is used; some tokens come twice")):
        decoder_forward(lesson, what, random_tokens(lesson, what, model, length), says, model)
    trained_model(lesson, 6, "the trained decoder on a story; text comes only with lesson 07")
    vocabulary = lesson.model(TINY_A)(torch.float64).config.vocabulary
    lesson.add_error("decoder_forward_unknown_token", "decoder_forward", "an id past the vocabulary reads memory that is not the table's",
                     {"tokens": integers(3, vocabulary)}, f"token id {vocabulary} is not below {vocabulary}", TINY_A)


def trained_model(lesson, length, says, taps=False):
    if not (WEIGHTS / DECODER / "model.safetensors").exists():
        lesson.skip()
        return
    what = f"story_{length}"
    tokens = story_tokens(WEIGHTS / DECODER, lesson.rng(what), length)
    decoder_forward(lesson, what, tokens, says, DECODER, taps)


def attention_cases(lesson, mask):
    for what, shape, says in (("one_token", (1, 3, 2), "one token sees itself alone"),
                              ("two_tokens", (2, 3, 4), "small enough to be read in full"),
                              ("square", (4, 5, 5), "C = D: a missing transpose shows only in the values"),
                              ("five_tokens", (5, 6, 3), "all sizes differ"),
                              ("wide_head", (7, 4, 6), "a head is wider than the model")):
        rng, (T, C, D) = lesson.rng(f"attention_{what}"), lesson.size(*shape)
        C = D if what == "square" else C
        lesson.add(f"attention_{what}", "attention", says, attention_inputs(rng, T, C, D), run_attention(mask))


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


# Calls with a past

def quiet(record, *names, endings=()):
    """A tap for all but mean, variance, and tensors with one of these names or endings."""
    return lambda name, *rest: name in ("mean", "variance", *names) or name.endswith(endings) or record.tap(name, *rest)


def run_cached_forward(*not_tapped):
    """The new keys and values are the new rows of the caches that come out, so they are no taps of their own."""
    def run(record, a, model):
        caches = [Cache(a[f"layers.{i}.k"], a[f"layers.{i}.v"]) for i in range(len(model.layers))]
        tap = quiet(record, *not_tapped, endings=(".k", ".v"))
        record.out("logits", model(a["tokens"], caches=caches, start_pos=a["start_pos"], tap=tap), "token", "vocabulary")
        for i, cache in enumerate(caches):
            dims = ("position", "head", "dim") if cache.k.dim() == 3 else ("position", "dim")
            record.out(f"layers.{i}.k", cache.k, *dims)
            record.out(f"layers.{i}.v", cache.v, *dims)
    return run


def run_prompt(*not_tapped):
    def run(record, a, model):
        record.out("logits", model(a["tokens"], tap=quiet(record, *not_tapped)), "token", "vocabulary")
    return run


def cached_inputs(lesson, what, model_name, start, T, free=None):
    """T tokens after `start` others, whose keys and values are in caches with `free` more rows, or with the rows of the whole context.

    The tokens depend on the model alone."""
    rng, tokens = lesson.rng(f"decoder_forward_{what}"), random_tokens(lesson, f"tokens of {model_name}", model_name)
    model = lesson.model(model_name)(torch.float64)
    caches = model.new_caches()
    with torch.no_grad():
        model(torch.from_numpy(tokens[:start]).long(), caches=caches)
    capacity = model.config.context if free is None else start + T + free
    result = {"tokens": tokens[start:start + T], "start_pos": scalar(start)}
    for i, cache in enumerate(caches):
        for letter, past in zip("kv", cache):
            result[f"layers.{i}.{letter}"] = filled_cache(rng, capacity, past[:start])
    return result
