"""The cases of lesson 14 and their small byte-level tokenizer, both with the `tokenizers` library.

needs: tokenizers 0.20. The intermediate ids of `merge` come from a byte-pair encoder of the module's own; it checks that the last
of them are those of the library.
"""
import json
import random
import shutil
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from references.values import SEED
from train.byte_level import byte_of_character, llama3_cut
from train.story_grammar import make_story

LESSON, MODEL = "14_tokenizer", "references/models/bpe_small"
SPECIALS = ["<bos>", "<eos>", "<turn>", "<turn>user"]
SIZE = 440
TEXT_SEED = 3  # of the stories, where the seed is the committed one
EXTRA = ["def run(n):\n    if n < 10:\n        return n\n    return n - 10\n\n\n", "In 1984, 1988, 2004, 2020 and 2024. ",
         "That's what I said; it's what she's said, and they're sure we'll go. ", "Soooo, aaah, zzzzz, hmmmm, noooo, ... ",
         "un café, un thé, deux idées, très léger, à côté de l'été. ", "你好，你们好。我们都好。", "😀😃😄 👍👍 🎉 😀 "]


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = llama3_cut()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=[AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    rng = random.Random(TEXT_SEED)
    tokenizer.train_from_iterator([make_story(rng) for _ in range(60)] + EXTRA * 12, trainer)
    return tokenizer


def bytes_of_tokens(tokenizer):
    byte = byte_of_character()
    names = {id: name for name, id in tokenizer.get_vocab().items()}
    return [b"" if i < len(SPECIALS) else bytes(byte[c] for c in names[i]) for i in range(tokenizer.get_vocab_size())]


class Cases:
    def __init__(self, root, seed, tokenizer):
        self.root, self.seed, self.tokenizer, self.count = root / LESSON, seed, tokenizer, 0
        self.bytes = bytes_of_tokens(tokenizer)
        self.id = {token: i for i, token in enumerate(self.bytes) if i >= len(SPECIALS)}
        merges = [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
        vocabulary = tokenizer.get_vocab()
        self.merges = {(vocabulary[a], vocabulary[b]): (rank, vocabulary[a + b]) for rank, (a, b) in enumerate(merges)}

    def text(self, what, *choices):
        """Each seed has a text of its own: the committed one takes the first."""
        if self.seed == SEED:
            return choices[0]
        return random.Random(zlib.crc32(f"{self.seed}/{what}".encode())).choice(choices[1:] or choices)

    def add(self, what, run, says, inputs, outputs, taps=(), error=None, model=MODEL):
        self.count += 1
        folder = self.root / f"{self.count:02d}_{run}_{what}"
        for place, tensors in (("in", inputs), ("out", outputs), ("taps", dict(taps))):
            for name, values in tensors.items():
                (folder / place).mkdir(parents=True, exist_ok=True)
                values = np.array(list(values), "<i4")
                np.save(folder / place / f"{name}.npy", values.reshape(-1, 2) if name == "merges" else values)
        dims = {"ready": ["step"], "text": ["byte"], "lengths": ["byte"], "merges": ["merge", "half"]}
        case = {"run": run, "says": says, **({"model": model} if model else {}), **({"error": error} if error else {}),
                "tensors": [{"name": name, "dims": dims.get(name, ["token"]), "error32": 0.0} for name in [*dict(taps), *outputs]]}
        (folder / "case.json").write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n")

    def rounds(self, piece):
        """The ids of a piece before and after each merge."""
        ids = [self.id[bytes([byte])] for byte in piece]
        rounds = [ids]
        while pairs := [(self.merges[pair][0], i) for i, pair in enumerate(zip(ids, ids[1:])) if pair in self.merges]:
            i = min(pairs)[1]
            ids = ids[:i] + [self.merges[ids[i], ids[i + 1]][1]] + ids[i + 2:]
            rounds.append(ids)
        return rounds

    def merge(self, what, says, *pieces):
        piece = self.text(what, *pieces)
        rounds = self.rounds(piece.encode())
        cut = [part for part, _ in self.tokenizer.pre_tokenizer.pre_tokenize_str(piece)]
        if len(cut) == 1:
            assert self.tokenizer.encode(piece).ids == rounds[-1], piece
        taps = {"bytes": rounds[0]} | {f"merge_{n}": ids for n, ids in enumerate(rounds) if n}
        self.add(what, "merge", says, {"piece": piece.encode()}, {"ids": rounds[-1]}, taps)

    def encode(self, what, says, *texts):
        text = self.text(what, *texts)
        ids = self.tokenizer.encode(text).ids
        self.add(what, "encode", says, {"text": text.encode()}, {"ids": ids})

    def ids_of(self, text):
        return self.tokenizer.encode(text).ids

    def joined(self, ids):
        return b"".join(self.bytes[i] for i in ids)

    def decode(self, what, says, ids):
        text = self.joined(ids)
        if "�" not in text.decode(errors="replace"):
            assert self.tokenizer.decode(ids, skip_special_tokens=True).encode() == text
        self.add(what, "decode", says, {"ids": ids}, {"text": text})

    def decode_next(self, what, says, ids):
        """What goes out after each token: all but a last character that is not whole."""
        held, out, ready = b"", [], []
        for i in ids:
            held += self.bytes[i]
            whole = len(held)
            for back in range(1, min(3, whole) + 1):
                length = character_length(held[-back])
                if length:
                    whole -= back if length > back else 0
                    break
            out.append(held[:whole])
            ready.append(whole)
            held = held[whole:]
        assert b"".join(out) + held == self.joined(ids)
        if not held and "�" not in self.joined(ids).decode(errors="replace"):
            assert all("�" not in part.decode(errors="replace") for part in out)
        self.add(what, "decode_next", says, {"ids": ids}, {"ready": ready, "text": b"".join(out)})


    def learn_merges(self, what, says, number, *choices):
        """choices: lists of pieces, of which each seed takes one."""
        pieces = [piece.encode() for piece in self.text(what, *choices)]
        merges, taps = learned(pieces, number)
        assert merges == merges_of_library(pieces, number)
        self.add(what, "learn_merges", says, {"text": b"".join(pieces), "lengths": map(len, pieces), "number": [number]}, {"merges": merges}, taps,
                 model=None)


def learned(pieces, number):
    """Algorithm 1 of Sennrich and others, word for word, on bytes; of equally frequent pairs the smallest. The taps are the ids after each merge."""
    words, merges = [list(piece) for piece in pieces], []
    taps = {"bytes": sum(words, [])}
    while len(merges) < number and (counts := Counter(pair for word in words for pair in zip(word, word[1:]))):
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        for word in words:
            for i, _ in enumerate(word):  # the list gets shorter behind i
                if tuple(word[i:i + 2]) == best:
                    word[i:i + 2] = [256 + len(merges)]
        merges.append(best)
        taps[f"learned_{len(merges)}"] = sum(words, [])
    return merges, taps


def merges_of_library(pieces, number):
    """The same of BpeTrainer. Its characters are the bytes, read as Latin-1, so that its first 256 ids are their values."""
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=256 + number, initial_alphabet=[chr(byte) for byte in range(256)], show_progress=False)
    tokenizer.train_from_iterator([piece.decode("latin-1") for piece in pieces], trainer)
    ids = tokenizer.get_vocab()
    assert all(ids[chr(byte)] == byte for byte in range(256))
    return [(ids[a], ids[b]) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]


def character_length(byte):
    """Bytes of the character that begins with this one; 0 for a byte that stands inside one."""
    return 0 if byte & 0xC0 == 0x80 else 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1


def merge_cases(c):
    c.merge("one_byte", "nothing to merge", "x", "q", "é"[:1])
    c.merge("two_bytes", "one merge", "he", "in", "er")
    c.merge("no_merge", "neighbours that never became a token stay apart", "qxj", "xqz", "jqv")
    c.merge("middle_first", "the pair of the lowest rank stands in the middle, not at the left", " her", " hat", " he")
    c.merge("word", "merges in several places, by rank", " friends", " happened", " hands")
    c.merge("longest_is_wrong", "the longest token at the left is not what the merges build", " took", " river", " withered")
    c.merge("three_equal", "the same pair twice, one over the other: the left one is taken", "ooo", "zzz", "...")
    c.merge("many_equal", "the same pair many times", "zzzzzzz", "ooooooo", "mmmmmmm")
    c.merge("spaces", "spaces are bytes as all others", "        ", "     ", "           ")
    c.merge("accents", "é is two bytes", "idées", "légère", "élève")
    c.merge("chinese", "three bytes a character", "你们都好", "我们好", "都好你")
    c.merge("emoji", "four bytes a character; some are tokens, some are not", "😀🦊👍", "🎉🐈", "👍🚀")
    c.merge("every_byte_kind", "a control character, a byte order mark, an accent", "\x01\ufeffñ\x7f", "\x02\u00a0ß", "\x1f\u2028ø")
    c.merge("long_word", "many merges", " Thereforestingtherewas", " Onceuponatimetherewas", " grandmotherofallthose")


def encode_cases(c):
    c.encode("nothing", "no text, no token", "")
    c.encode("word", "one piece", "hello", "there", "story")
    c.encode("sentence", "a word carries its space in front", "Once upon a time, there was a happy fox.", "Tom had a red ball.", "Lily saw a big dog.")
    c.encode("spaces", "several spaces: the last one belongs to the word", "a  b   c    the dog", "in   the  barn", "go   there  now")
    c.encode("lines", "ends of lines and indentation", "def f(n):\n    return n\n\n\n  the end\t!\r\n", "if n:\n\n    run(n)\n", "a\n\n  b\n\t\tc\n")
    c.encode("digits", "numbers are cut every three digits", "In 20242024 there were 1988 and 7.", "1984198419 or 202020", "20042004 and 10")
    c.encode("contractions", "'s and 'll are pieces", "That's what they'll say, she'S sure.", "It's theirs, we'll see.", "They're sure she's in.")
    c.encode("accents", "two bytes a character", "Un café très léger à côté.", "Deux idées d'été.", "La fête à l'école")
    c.encode("decomposed", "the same accents written as letter and mark", "cafe\u0301 tre\u0300s", "ide\u0301e", "e\u0301te\u0301")
    c.encode("chinese", "no spaces between words", "你好，世界。我们都好！", "我们你们", "好好好。")
    c.encode("emoji", "characters that are joined to one sign", "👍🏽 👩‍🚀 😀!", "👨‍👩‍👧 🎉", "🏳️‍🌈 👍")
    c.encode("special", "a special token is one id, not letters", "<bos>Once upon a time<eos>", "<bos>There was a dog<eos>", "<bos>Hi<eos>")
    c.encode("specials_in_the_text", "the one that stands first in the text comes first", "the<turn>fox<eos>and<bos>a dog<turn>", "a<eos>b<turn>c<bos>",
             "x<turn>y<bos>z<eos>w")
    c.encode("special_longer", "of two that begin at one place the longer is taken", "<turn>user says<turn>us", "<turn>users<turn>u", "<turn><turn>user")
    c.encode("special_cuts_a_word", "what a special token separates never merges", "th<eos>ere ha<turn>ppy", "wa<bos>s the<eos>re", "Onc<turn>e")
    c.encode("nearly_special", "text that only looks like one", "<bos <eo> < turn> <<bos>>", "bos> <turn <e<eos>", "<bo<bos>s>")
    c.encode("only_specials", "no text between them", "<bos><bos><eos>", "<eos><bos>", "<turn><turn>")
    rng = random.Random(TEXT_SEED if c.seed == SEED else c.seed)
    c.encode("story", "a story", make_story(rng))


def decode_cases(c):
    c.decode("nothing", "no tokens, no text", [])
    c.decode("sentence", "tokens carry their own spaces", c.ids_of(c.text("decode", "Tom had a red drum.", "Lily saw the dog.", "A fox ran.")))
    c.decode("space_in_front", "the first space belongs to the text", c.ids_of(c.text("space", " there was a cat", " the dog", "  two")))
    c.decode("specials", "a special token is no text", c.ids_of(c.text("special", "<bos>Tom<turn> said so<eos>", "<bos>Hi<eos>", "a<turn>b")))
    c.decode("characters_in_parts", "a character whose bytes stand in several tokens", c.ids_of(c.text("parts", "ñandú, 🦊 and 世界", "øre 🐈", "ß 🚀界")))
    c.decode("half_a_character", "bytes that are no character come back as they are", c.ids_of("世")[:1] + c.ids_of("a") + c.ids_of("ñ")[1:])
    c.add("unknown_id", "decode", "an id past the vocabulary reads memory that is not the table's", {"ids": [5, SIZE]}, {},
          error=f"token id {SIZE} is not below {SIZE}")


def stream_cases(c):
    c.add("every_byte", "character_length", "each byte that there is, as the first of a character", {"bytes": range(256)},
          {"lengths": [character_length(byte) for byte in range(256)]})
    c.decode_next("ascii", "every token is whole characters", c.ids_of(c.text("ascii", "the cat ran.", "a dog sat.", "Tom is in.")))
    c.decode_next("two_bytes", "ñ comes in two tokens", c.ids_of(c.text("two", "a ñandú ran", "øre is", "ß ñ")))
    c.decode_next("three_bytes", "世 comes in three tokens", c.ids_of(c.text("three", "in 世界!", "界世", "a界 b")))
    c.decode_next("four_bytes", "🦊 comes in several tokens", c.ids_of(c.text("four", "fox 🦊🐈 ran", "🚀 go 🦊", "🐈🐈")))
    c.decode_next("mixed", "whole characters and parts of them", c.ids_of(c.text("mixed", "café ñ 你世 😀🦊é", "éß世🐈 a", "été界🚀好")))
    c.decode_next("bytes_alone", "every byte is a token of its own", [c.id[bytes([b])] for b in c.text("alone", "é世🦊!", "ñ界🐈.", "ø你🚀?").encode()])
    c.decode_next("special_inside", "a special token gives no bytes and waits for none",
                  c.ids_of("a ñ")[:-1] + [1] + c.ids_of("ñ")[-1:] + [1] + c.ids_of("!"))
    c.decode_next("broken", "bytes that no character begins with go straight out",
                  [c.id[bytes([b])] for b in (0x61, 0x80, 0x62, 0xFF, 0xE4, 0x41, 0xBF, 0xBF, 0xBF, 0xBF, 0xC3, 0xA9)])
    c.decode_next("unfinished", "the text ends inside a character, which never goes out", c.ids_of("the 🦊")[:-1])
    c.merge("nothing", "an empty piece: of no tokens there are no pairs", "")


def learn_cases(c):
    words = "low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3
    c.learn_merges("one_pair", "one merge", 1, ["abcab"], ["xyzxy"], ["bacba"])
    c.learn_merges("pair_of_a_token", "what was merged is part of the next pair", 3, ["abcd", "abce", "abf"], ["xyzu", "xyzv", "xyw"])
    c.learn_merges("words", "the example of the paper", 10, words.split(), (words + "lowest lowest slow").split())
    c.learn_merges("repeated", "a word that occurs five times counts five times", 4, ["the"] * 5 + ["cat", "car", "cap", "can"],
                   ["and"] * 4 + ["dog", "dot", "door"])
    c.learn_merges("equal_left", "equally frequent pairs: the smaller left id, not the first of the text", 3, ["zy", "ba", "yx", "zy", "ba", "yx"],
                   ["xw", "dc", "zy"])
    c.learn_merges("equal_right", "equally frequent pairs with one left half: the smaller right id", 3, ["ad", "ab", "ac"], ["xz", "xw", "xy"])
    c.learn_merges("equal_to_a_token", "an equally frequent pair of bytes comes before one with a merged token", 4, ["zxw", "zxw", "zx", "uv", "uv"],
                   ["yxw", "yxw", "yx", "st", "st"])
    c.learn_merges("overlapping_counted", "aaa holds the pair aa twice", 2, ["aaa", "bc", "bc", "aaa", "bc"], ["dddd", "ef", "ef", "ef"])
    c.learn_merges("overlapping_merged", "of aaaaa the pairs at 0 and at 2 are merged", 3, ["aaaaa", "baaab", "aa"], ["ccccccc", "dcccd", "cc"])
    c.learn_merges("borders", "a pair never stands in two words", 2, ["x", "y", "x", "y", "x", "y", "ab"], ["pq", "p", "pq", "p", "q", "q"])
    c.learn_merges("both_directions", "ab and ba are two pairs", 3, ["ab", "cd", "ba", "cd", "ba", "cd", "ab", "cd"], ["xy", "zu", "yx", "zu", "yx", "zu"])
    c.learn_merges("twice_in_a_word", "every place of a word is merged", 3, ["banana", "bandana"], ["papaya", "papa"])
    c.learn_merges("too_many", "when every word is one token, no pair is left", 20, ["to", "tom", "at"], ["in", "into", "so"])
    c.learn_merges("none_wanted", "no merges", 0, ["ab", "ab"])
    c.learn_merges("no_text", "no pieces, no pairs", 3, [])
    c.learn_merges("empty_pieces", "a piece of no bytes and pieces of one", 2, ["", "a", "", "bc", "b"])
    c.learn_merges("bytes", "bytes from 128 on", 5, ["é", "été", "thé", "世", "世界"], ["ñ", "ñandú", "año", "🦊", "🦊🦊"])
    story = make_story(random.Random(TEXT_SEED if c.seed == SEED else c.seed))
    cut = llama3_cut()
    c.learn_merges("story", "the pieces of a story", 24, [story[begin:end] for _, (begin, end) in cut.pre_tokenize_str(story)])
    c.decode_next("begun_twice", "a character begins before the one before it is whole, whose bytes go out",
                  [c.id[bytes([b])] for b in (0xE4, 0xC3, 0xA9, 0xF0, 0x9F, 0xE4, 0xB8, 0x96, 0x21)])


def make(root, seed):
    tokenizer = train()
    folder = root / "models" / Path(MODEL).name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    shutil.rmtree(root / LESSON, ignore_errors=True)
    cases = Cases(root, seed, tokenizer)
    for group in (merge_cases, encode_cases, decode_cases, stream_cases, learn_cases):
        group(cases)
    print(f"{LESSON}: {cases.count} cases", flush=True)
