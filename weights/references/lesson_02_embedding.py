"""The cases of lesson 02: the rows of two tables, a decoder of them alone, and texts that are cut into tokens."""
import random

import numpy as np
import torch
from torch import nn

from references.case import WEIGHTS, write_lesson
from references.decoder_cases import partial_models
from references.tiny_models import TINY_A, save_tiny
from references.values import DECODER, SEED, integers, normal
from train.story_grammar import make_story
from train.tokenizer import Tokenizer


def run_embed(record, a, model):
    tokens = a["tokens"]
    token = nn.Embedding.from_pretrained(a["token_embedding"])
    position = nn.Embedding.from_pretrained(a["position_embedding"])
    record.out("x", token(tokens) + position(torch.arange(len(tokens))), "token", "channel")


# A word, and two that begin with it.
FAMILIES = [("the", "there", "then"), ("so", "something", "some"), ("to", "together", "took"), ("be", "because", "bed"), ("for", "forest", "fort")]


def bytes_of(text):
    return integers(*text.encode())


def encode_inputs(tokens, text):
    return {"vocabulary": bytes_of("".join(tokens)), "lengths": integers(*map(len, tokens)), "text": bytes_of(text)}


def run_encode(tokens, text):
    def run(record, a, model):
        ids = Tokenizer(tokens).encode(text)
        whole = "".join(tokens[i] for i in ids)
        assert whole in (text, " " + text)
        record.tap("whole", torch.tensor(list(whole.encode())), "byte")
        record.out("ids", torch.tensor(ids), "token")
    return run


def small_vocabulary(lesson):
    """Letters, and words in no order: neither the first nor the last token that fits is always the longest."""
    words = [" " + word for family in FAMILIES for word in family] + [" a", " an", " and", " cat"]
    texts = ["\n", " ", ",", ".", "<", ">", *"abcdefghijklmnopqrstuvwxyz", *words]
    return ["<bos>", "<eos>"] + [texts[i] for i in lesson.rng("encode").permutation(len(texts))]


def encode_cases(lesson):
    small = small_vocabulary(lesson)
    short, longest, longer = FAMILIES[0 if lesson.seed == SEED else 1 + lesson.seed % (len(FAMILIES) - 1)]

    def encode(what, says, text, tokens=small):
        lesson.add(f"encode_{what}", "encode", says, encode_inputs(tokens, text), run_encode(tokens, text))

    def unknown(what, says, text, character, tokens=small):
        try:
            Tokenizer(tokens).encode(text)
            raise AssertionError(text)
        except StopIteration:
            lesson.add_error(f"encode_{what}", "encode", says, encode_inputs(tokens, text), f"no token begins with {character}")

    encode("word", "one word, without the space that its token begins with", short)
    encode("prefixes", "tokens that are the beginning of others", f"{longer} {short} {longest}")
    encode("growing", "each further letter is a token too, or none is until the whole word", f"a and an {longest}")
    encode("space_in_front", "there is a space already", f" {short} cat")
    encode("two_spaces", "one space is a token, the other belongs to the word", f"{short}  cat")
    encode("newline_in_front", "a newline gets no space in front of it", f"\n{short} {longer}")
    encode("no_space_between", "only the first word has its space", f"{longer}{short}")
    encode("unknown_word", "a word that is no token is spelled", f"cats, {short}y and {longest}by.")
    encode("nothing", "a text of no characters is a space", "")
    encode("special_in_the_text", "what is written like <bos> is five characters", f"<bos>{short}<eos>")
    unknown("unknown_character", "a character that is in no token", f"{short} 7 cats", "'7'")
    unknown("unknown_first", "the first character is in no token", f"Cat and {short}", "'C'")
    unknown("unknown_bytes", "a character of two bytes, of which neither is a token", f"{short} caf\u00e9", "'\u00e9'")
    trained = Tokenizer.load(WEIGHTS / DECODER / "vocabulary.json").tokens
    story = make_story(random.Random(int(lesson.rng("encode_story").integers(2 ** 31))))
    encode("trained_story", "the vocabulary of the trained decoder", story[:200], trained)
    encode("trained_other_words", "words that the trained decoder does not know", f"Theodora's {longest}fore was {short} best-liked bear", trained)


def cases(lesson):
    V, S, C = lesson.size(7, 5, 4)

    def inputs(what, *tokens):
        rng = lesson.rng(what)
        return {"tokens": integers(*tokens), "token_embedding": normal(rng, V, C), "position_embedding": normal(rng, S, C)}

    for what, tokens, says in (("one_token", [3], "position 0"),
                               ("two_tokens", [4, 1], "small enough to be read in full"),
                               ("repeated", [2, 5, 2, 2], "the same token at several positions"),
                               ("first_and_last_id", [V - 1, 0, V - 1], "the first and the last row of the table"),
                               ("all_positions", [1, 6, 0, 3, 5, 2, 4, 1][:S], "every position is used")):
        lesson.add(f"embed_{what}", "embed", says, inputs(what, *tokens), run_embed)
    lesson.add_error("embed_id_too_large", "embed", "the id after the last one", inputs("id_too_large", 1, V),
                     f"token id {V} is not below {V}")
    lesson.add_error("embed_id_negative", "embed", "ids begin at 0", inputs("id_negative", -1, 2), "token id -1 is negative")
    lesson.add_error("embed_too_many_tokens", "embed", "there is no row for the last position",
                     inputs("too_many_tokens", *np.arange(S + 1) % V), f"{S + 1} tokens do not fit into {S} positions")
    partial_models(lesson)
    context = lesson.model(TINY_A)(torch.float64).config.context
    lesson.add_error("decoder_forward_too_many_tokens", "decoder_forward", "there is no row for the last position",
                     {"tokens": integers(*range(context + 1))}, f"{context + 1} tokens do not fit into {context} positions", TINY_A)
    encode_cases(lesson)


def make(root, seed):
    save_tiny(root, seed)
    write_lesson(root, "02_embedding", seed, cases)
