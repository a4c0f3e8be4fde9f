"""Sentences made by a small grammar of our own: a text of any length, character by character."""

import numpy as np

from inkcap.training.data import counter
from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.options import Option, OptionValues

SENTENCE_OPTIONS = (
    Option("n", "2000", "how many pieces of the text"),
    Option("length", "64", "characters of a piece"),
    Option("seed", "0", "seed of the sentences"),
)

CHARACTERS = " .abcdefghijklmnopqrstuvwxyz"
"""Every character that a sentence may have; its place is its number."""

GRAMMAR: dict[str, tuple[str, ...]] = {
    "sentence": ("noun-phrase verb noun-phrase", "noun-phrase verb noun-phrase adverb", "noun-phrase moves place"),
    "noun-phrase": ("determiner noun", "determiner adjective noun"),
    "place": ("preposition determiner noun", "adverb"),
    "determiner": ("the", "a", "every", "my"),
    "adjective": ("quick", "lazy", "small", "brown", "young", "grey"),
    "noun": ("fox", "jay", "wolf", "zebra", "goat", "hen", "quail", "pike"),
    "verb": ("sees", "likes", "follows", "greets", "watches"),
    "moves": ("jumps", "sleeps", "runs", "dives"),
    "preposition": ("over", "under", "behind", "with"),
    "adverb": ("today", "again", "quietly", "often"),
}
"""What each kind of phrase may be; a word that is no kind stands for itself."""


def load_sentences(options: OptionValues) -> Dataset:
    """Make a text and cut it into pieces; the target of every character is the one behind it."""
    count = options.integer("n", 2, 1_000_000)
    length = options.integer("length", 2, 4096)
    seed = options.integer("seed", 0, 2**63 - 1)
    text = make_text(count * length + 1, seed)
    numbers = np.array([CHARACTERS.index(character) for character in text], dtype=np.int64)
    dataset = Dataset(
        name="sentences",
        inputs={"x": numbers[:-1].reshape(count, length)},
        targets={"y": numbers[1:].reshape(count, length)},
        class_names={"y": tuple(CHARACTERS)},
        description=f"Sentences of a small grammar: {count} pieces of {length} characters, seed {seed}.",
        kind="text",
    )
    return with_manifest(dataset, "sentences", options={name: options.text(name) for name in ("n", "length", "seed")})


def make_text(length: int, seed: int) -> str:
    """Write sentences one behind another until there are as many characters."""
    key = counter.key_of(seed, "sentences")
    sentences: list[str] = []
    written = 0
    while written < length:
        # No sentence has more choices than this: each phrase and each word is one.
        choices = iter(counter.uniforms(key, [len(sentences)], 32)[0].tolist())
        words: list[str] = []
        waiting = ["sentence"]
        while waiting:
            part = waiting.pop(0)
            ways = GRAMMAR.get(part)
            if ways is None:
                words.append(part)
            else:
                waiting[:0] = ways[int(next(choices) * len(ways))].split()
        sentences.append(f"{' '.join(words)}. ")
        written += len(sentences[-1])
    return "".join(sentences)[:length]
