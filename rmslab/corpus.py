"""The course's own text: sentences around 猫吃鱼 from a small grammar. No download, the same for a seed.

Who eats, chases or fears what depends on who it is, so a language model has something to learn; adjectives,
places and times are left to chance, so the loss never reaches zero.
"""

import random

import torch

# Animal: (its measure word, what it eats, what it fears, how it calls).
ANIMALS = {
    "猫": ("只", ("鱼", "老鼠"), "狗", "喵喵"),
    "狗": ("条", ("骨头", "肉"), "老虎", "汪汪"),
    "鸟": ("只", ("虫子", "米"), "猫", "喳喳"),
    "羊": ("头", ("草", "白菜"), "狼", "哀哀"),
    "狼": ("匹", ("羊", "兔子"), "老虎", "回头"),
    "兔子": ("只", ("萝卜", "白菜"), "狼", "咕咕"),
    "老鼠": ("只", ("米", "花生"), "猫", "吱吱"),
    "老虎": ("头", ("肉", "羊"), "猎人", "呜呜"),
}
ADJECTIVES = ("大", "小", "黑", "白", "胖", "饿")
PLACES = ("河边", "山上", "院子里", "树下", "桥上")
TIMES = ("早上", "中午", "晚上", "昨天", "今天")
NUMBERS = ("一", "两", "三")
RESTING = ("睡觉", "散步", "唱歌")
END = "。"


def sentence(source: random.Random) -> list[str]:
    """One sentence as words, ending with a full stop."""
    animal = source.choice(list(ANIMALS))
    measure, foods, other, sound = ANIMALS[animal]
    subject = [animal]
    if source.random() < 0.5:
        subject = [source.choice(ADJECTIVES), *subject]
    if source.random() < 0.5:
        subject = [source.choice(NUMBERS), measure, *subject]
    if source.random() < 0.3:
        subject = [source.choice(TIMES), *subject]
    place = ["在", source.choice(PLACES)] if source.random() < 0.4 else []
    predicate = source.choice((
        ["吃", source.choice(foods)],
        ["想", "吃", source.choice(foods)],
        ["不", "吃", source.choice(foods), "，", "怕", other],
        [sound, "叫"],
        [source.choice(RESTING)],
        ["看见", other, "，", "跑", "了"],
    ))  # fmt: skip
    return [*subject, *place, *predicate, END]


def words(count: int, seed: int = 0) -> list[str]:
    """At least ``count`` words of text: whole sentences, one after another."""
    source, text = random.Random(seed), []
    while len(text) < count:
        text += sentence(source)
    return text


class Corpus:
    """The text as numbers.

    Attributes:
        vocabulary: every word once, in the order of code points; a word's number is its place here.
        tokens: int64, shape (N,).
    """

    def __init__(self, count: int = 20_000, seed: int = 0):
        text = words(count, seed)
        self.vocabulary = sorted(set(text))
        number = {word: i for i, word in enumerate(self.vocabulary)}
        self.tokens = torch.tensor([number[word] for word in text])

    def batch(self, size: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """``size`` random pieces of the text and, one place further on, what follows: both (B, T) int64."""
        starts = torch.randint(len(self.tokens) - length, (size, 1), generator=generator)
        places = starts + torch.arange(length)
        return self.tokens[places], self.tokens[places + 1]
