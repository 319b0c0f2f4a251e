"""The tokenizer of weights/decoder: whole words with their leading space, and every printable ASCII character by itself."""
import json
from pathlib import Path

BOS, EOS = 0, 1
CHARACTERS = ["\n"] + [chr(code) for code in range(32, 127)]


class Tokenizer:
    def __init__(self, tokens):
        self.tokens = tokens  # token i is the string tokens[i]; the first two are specials and match no text
        self.ids = {token: i for i, token in enumerate(tokens) if i > EOS}
        self.longest = max(map(len, self.ids))

    @classmethod
    def from_words(cls, words):
        return cls(["<bos>", "<eos>"] + CHARACTERS + [" " + word for word in sorted(words)])

    @classmethod
    def load(cls, path):
        return cls(json.loads(Path(path).read_text())["tokens"])

    def save(self, path):
        text = json.dumps({"tokens": self.tokens, "bos_token_id": BOS, "eos_token_id": EOS}, indent=0)
        Path(path).write_text(text + "\n")

    def encode(self, text):
        """Greedy longest match from left to right. The caller puts BOS in front."""
        if not text.startswith((" ", "\n")):
            text = " " + text
        ids, i = [], 0
        while i < len(text):
            length = next(n for n in range(self.longest, 0, -1) if text[i:i + n] in self.ids)
            ids.append(self.ids[text[i:i + length]])
            i += length
        return ids

    def decode(self, ids):
        text = "".join(self.tokens[i] for i in ids if i > EOS)
        return text[1:] if text.startswith(" ") else text
