"""Small tokenizers in tokenizers/, and in references/tokenizers/ the ids that the libraries give, which tests compare with.

    python3 make_tokenizers.py                 writes both
    python3 make_tokenizers.py --llama DIR     writes also the ids of Llama 2 and 3

needs: sentencepiece 0.2, tiktoken 0.14, tokenizers 0.20.
"""
import argparse
import base64
import io
import json
import random
import struct
from pathlib import Path

import sentencepiece
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from train.byte_level import PATTERN, byte_of_character, llama3_cut
from train.story_grammar import make_story

HERE = Path(__file__).parent
OUT = HERE / "tokenizers"
REFERENCES = HERE / "references" / "tokenizers"
LLAMA3_SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
                   "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>",
                   "<|eot_id|>", "<|python_tag|>"]
LLAMA3_SPECIALS += [f"<|reserved_special_token_{i}|>" for i in range(2, 256 - len(LLAMA3_SPECIALS) + 2)]


def training_text():
    rng = random.Random(7)
    stories = [make_story(rng) for _ in range(1500)]
    # A little of what the stories lack, so that merges of these kinds exist too.
    return stories + ["It's 12 o'clock, isn't it? We've 3456 apples; they'll do. I'm here, you're there, he'd go."] * 40 \
        + ["Le café était fermé à Noël. Où êtes-vous? Ça va, garçon?"] * 40 + ["    if x == 10:\n\treturn\n\n"] * 40


def hard_texts():
    """Text that tokenizers get wrong, as bytes."""
    texts = ["", " ", "  ", "     ", "\n", "\n\n", "\t", " \n", "\n ", "\r\n\r\n", "a", " a", "  a", "a ", "a  ", "a  b", "a   b    c",
             "Once upon a time, there was a little girl named Lily.", "\tif x:\n\t\treturn  1\n", "tabs\t\tand  spaces \t mixed \n\n\n end",
             "0 1 12 123 1234 12345 1234567890", "3.14159, -1e10, 0x1F, 1/2 ½ Ⅷ ٣٤٥ ²³", "it's IT'S we're WE'LL they'd I'm you've don't 'tis 'S 'ſ",
             "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m", "cafe\u0301 nai\u0308ve A\u030angstro\u0308m \u212b", "\u1e9b\u0323 \ufb01 \u2460 \uff21 \u0130 \u01c5",
             "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff01", "\u3053\u3093\u306b\u3061\u306f \uc548\ub155\ud558\uc138\uc694 \u041f\u0440\u0438\u0432\u0435\u0442 \u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947",
             "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd \U0001f1eb\U0001f1f7 \u2764\ufe0f", "\x00", "a\x00b", "\x01\x02\x7f \x1b[0m \u0085 \u200b \ufeff \u180e",
             "\u00a0a\u2003b\u3000c\u2028d\u2029e\u202f", "\u2581", "\u2581\u2581 a\u2581b", "<s>", "</s> <unk>", "a<s>b</s>c", "<0x0A>", "<|begin_of_text|>hi<|eot_id|>",
             "<|start_header_id|>user<|end_header_id|>\n\nHello", "<bos>a <eos> b", "<pad>", "[INST] x [/INST]", "<tool> <tool>x", "  <mask>  a",
             "\ufffd", "\U0010ffff \ue000 \ufdd0", "e" + "\u0301" * 20, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
             "the" * 100, " " * 300, "\n" * 100, "\u4f60" * 80, "don't" * 30, "Onceuponatimetherewasalittlegirlwholikedtoplayintheparkwithherfriend" * 3,
             "!?.,;:()[]{}<>@#$%^&*-_=+|\\/~`\"'", "...!!!???---===", "http://example.com/a?b=c&d=e#f", "for(int i=0;i<10;++i){x[i]*=2;}\r\n"]
    encoded = [text.encode() for text in texts]
    encoded += [b"\xff", b"a\xffb", b"\xe4\xbd", b"\xe4\xbda", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"ok \xf0\x9f\x91 no", b"\x80\x80 \xe2\x82"]
    rng = random.Random(5)
    alphabet = [" ", " ", "\n", "\t", "'", "s", "t", "ll", "the", "Lily", "1", "23", ".", "!", "\u00e9", "e\u0301", "\u4f60", "\U0001f44d", "\u200d", "\u00a0", "\u2581", "<s>", "\x00", "A", "z"]
    encoded += ["".join(rng.choice(alphabet) for _ in range(40)).encode() for _ in range(60)]
    return encoded + [" ".join(make_story(rng) for _ in range(3)).encode()]


def make_sentencepiece(folder, **options):
    """`folder` gets tokenizer.model; llama2.c's form of it beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in training_text() for line in text.split("\n")), model_writer=model,
        model_type="bpe", normalization_rule_name="identity", num_threads=1, minloglevel=2, **options)
    (folder / "tokenizer.model").write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def write_llama2c(sp, path):
    tokens = []
    for i in range(sp.vocab_size()):
        text = sp.id_to_piece(i).replace("\u2581", " ")
        text = {sp.bos_id(): "\n<s>\n", sp.eos_id(): "\n</s>\n"}.get(i, text)
        tokens.append((text.encode(), sp.get_score(i)))
    rows = b"".join(struct.pack("<fi", score, len(text)) + text for text, score in tokens)
    path.write_bytes(struct.pack("<i", max(len(text) for text, _ in tokens)) + rows)


def llama_like(vocabulary, merges, first):
    """Characters, with bytes to fall back on: as the tokenizer.json of Llama 2."""
    t = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if first:
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.add_special_tokens([AddedToken(name, normalized=False) for name in ("<unk>", "<s>", "</s>")])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t


def merges_of(sp):
    """The merges that give what the pieces and scores of a SentencePiece model give."""
    ids = {sp.id_to_piece(i): i for i in range(sp.vocab_size())}
    merges = []
    for piece, i in ids.items():
        if i > 258:
            for cut in range(1, len(piece)):
                if piece[:cut] in ids and piece[cut:] in ids:
                    merges.append((sp.get_score(i), ids[piece[:cut]], ids[piece[cut:]], piece[:cut], piece[cut:]))
    merges.sort(key=lambda m: (-m[0], m[1], m[2]))
    return ids, [(left, right) for *_, left, right in merges]


def byte_level(size, pre_tokenizer, normalizer=None, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer, t.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer is not None:
        t.normalizer = normalizer
    t.train_from_iterator(training_text(), trainers.BpeTrainer(
        vocab_size=size, show_progress=False, special_tokens=["<bos>", "<eos>", "<pad>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_tokens([AddedToken("<tool>", normalized=True), AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                            processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", 0)])])
    return t


def write_ranks(path, trained):
    """The ranks of a byte-level BPE: bytes first, then its merges in order."""
    table = byte_of_character()
    tokens = [bytes([byte]) for byte in range(256)]
    for merge in json.loads(trained.to_str())["model"]["merges"]:
        left, right = merge if isinstance(merge, list) else merge.split(" ")
        token = bytes(table[c] for c in left + right)
        if token not in tokens:
            tokens.append(token)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)))


def ranks_of(path):
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in path.read_text().splitlines())}


def open_tiktoken(path):
    ranks = ranks_of(path)
    return tiktoken.Encoding(path.stem, pat_str=PATTERN, mergeable_ranks=ranks,
                             special_tokens={name: len(ranks) + i for i, name in enumerate(LLAMA3_SPECIALS)})


def references(name, encode, with_specials, decode, lists):
    """Writes what a library gives: [{"bytes" (hex), "ids", "specials", "text" (hex)}], and of lists of ids their text."""
    cases = []
    for text in hard_texts():
        ids = encode(text)
        case = {"bytes": text.hex(), "ids": ids, "text": decode(ids).hex()}
        if with_specials:
            case["specials"] = with_specials(text)
        cases.append(case)
    decoded = [{"ids": ids, "text": decode(ids).hex()} for ids in lists]
    REFERENCES.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(case) for case in cases), ",\n".join(json.dumps(case) for case in decoded)
    (REFERENCES / f"{name}.json").write_text(f'{{"encode": [\n{rows[0]}\n], "decode": [\n{rows[1]}\n]}}\n')


def id_lists(size, seed=3):
    """Arbitrary ids, one after the other: also such as no text gives."""
    rng = random.Random(seed)
    return [[rng.randrange(size) for _ in range(rng.randrange(1, 12))] for _ in range(40)]


def replaced(text):
    return text.decode(errors="replace")


def sentencepiece_references(name, sp):
    references(name, sp.encode, None, lambda ids: sp.decode(ids).encode(), id_lists(sp.vocab_size()))


def tiktoken_references(name, t):
    references(name, lambda text: t.encode_ordinary(replaced(text)), lambda text: t.encode(replaced(text), allowed_special="all"),
               lambda ids: t.decode_bytes(ids), id_lists(t.max_token_value - 255))


def json_references(name, t):
    def encode(text, specials_are_text):
        t.encode_special_tokens = specials_are_text
        return t.encode(replaced(text), add_special_tokens=False).ids
    references(name, lambda text: encode(text, True), lambda text: encode(text, False),
               lambda ids: t.decode(ids).encode(), id_lists(t.get_vocab_size()))


def tiny(normalizer=None, pre_tokenizer=None, decoder=None, **model):
    """Characters and a few merges of them, to see one part at work."""
    characters = sorted(set("abcdefgilmnost XAB-_.12345\u00e9e\u0301\u2581\u00c5\u00ef\n\t"))
    vocabulary = {token: i for i, token in enumerate(["<unk>"] + characters + ["ab", "bc", "abc", "--", "12", "fi", " a", "\u2581a"])}
    merges = [("a", "b"), ("b", "c"), ("-", "-"), ("1", "2"), ("f", "i"), (" ", "a"), ("\u2581", "a")]
    t = Tokenizer(models.BPE(vocabulary, merges, **model))
    for name, part in (("normalizer", normalizer), ("pre_tokenizer", pre_tokenizer), ("decoder", decoder)):
        if part is not None:
            setattr(t, name, part)
    return t


def part_references():
    """Each part of a tokenizer.json by itself."""
    texts = ["abc", "a-b--c---", "12 345 a1b22", " ab  abc ", "caf\u00e9 cafe\u0301 \u00c5 \u212b \ufb01 \u2460\u00b2", "ABX \u0130", "xyz abc zzz", "--ab", "ab--", "\t ab\n", "", "--", "a b", "1a12b", "\u2581ab"]
    n, p, d = normalizers, pre_tokenizers, decoders
    both = {"pattern": "-", "name": "string"}, {"pattern": Regex("-+|[12]+"), "name": "regex"}
    parts = {f"split {kind['name']} {behavior} {invert}": tiny(pre_tokenizer=p.Split(kind["pattern"], behavior, invert))
             for kind in both for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous") for invert in (False, True)}
    parts |= {form: tiny(normalizer=getattr(n, form)()) for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")}
    parts |= {f"strip {left} {right}": tiny(normalizer=n.Strip(left, right)) for left in (False, True) for right in (False, True)}
    parts |= {f"digits {each}": tiny(pre_tokenizer=p.Digits(each)) for each in (False, True)}
    parts |= {f"metaspace {scheme} {cuts}": tiny(pre_tokenizer=p.Metaspace(prepend_scheme=scheme, split=cuts), decoder=d.Metaspace(prepend_scheme=scheme))
              for scheme in ("always", "first", "never") for cuts in (False, True)}
    parts |= {f"unknown {fused} {whole}": tiny(unk_token="<unk>", fuse_unk=fused, ignore_merges=whole) for fused in (False, True) for whole in (False, True)}
    parts["replace"] = tiny(normalizer=n.Sequence([n.Replace("ab", "c"), n.Replace(Regex("[12]+"), "-"), n.Prepend("a")]))
    parts["strip decoder"] = tiny(decoder=d.Sequence([d.Replace("b", "a"), d.Strip("a", 1, 0), d.Fuse(), d.Strip("c", 2, 0)]))
    rows = []
    for name, t in parts.items():
        cases = [{"text": text, "ids": (ids := t.encode(text).ids), "decoded": t.decode(ids)} for text in texts]
        rows.append(json.dumps({"part": name, "tokenizer": json.loads(t.to_str()), "cases": cases}))
    (REFERENCES / "parts.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")


def save(t, name):
    (OUT / name).mkdir(parents=True, exist_ok=True)
    t.save(str(OUT / name / "tokenizer.json"))
    json_references(name, Tokenizer.from_file(str(OUT / name / "tokenizer.json")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama", type=Path, metavar="DIR",
                        help="a folder that holds llama2.tokenizer.model and llama3.tokenizer.model, which are not part of the project")
    llama = parser.parse_args().llama

    sp = make_sentencepiece(OUT / "sentencepiece", vocab_size=700, byte_fallback=True, remove_extra_whitespaces=False,
                            split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.9995)
    sentencepiece_references("sentencepiece", sp)
    write_llama2c(sp, OUT / "sentencepiece" / "tokenizer.bin")
    plain = make_sentencepiece(OUT / "sentencepiece_plain", vocab_size=300, user_defined_symbols=["<tool>", "Lily"])
    sentencepiece_references("sentencepiece_plain", plain)

    ids, merges = merges_of(sp)
    save(llama_like(ids, merges, first=False), "fallback")
    save(llama_like(ids, merges, first=True), "metaspace")
    save(byte_level(700, llama3_cut(), ignore_merges=True), "bytelevel")
    save(byte_level(600, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)]),
                    normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])), "gpt2")

    write_ranks(OUT / "tiktoken" / "tokenizer.model", byte_level(800, llama3_cut()))
    tiktoken_references("tiktoken", open_tiktoken(OUT / "tiktoken" / "tokenizer.model"))
    part_references()
    if llama:
        sentencepiece_references("llama2", sentencepiece.SentencePieceProcessor(str(llama / "llama2.tokenizer.model")))
        tiktoken_references("llama3", open_tiktoken(llama / "llama3.tokenizer.model"))


if __name__ == "__main__":
    main()
