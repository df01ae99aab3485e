"""Does a glossary term stand in place of the word that the model would have written?

    python benchmarks/glossary_in_place.py MODEL --train en de --test en de

From the training text it takes English nouns and adjectives (words that often follow an article) with two
frequent translations, found with a word alignment of its own (IBM model 1 in both directions, intersected),
neither an inflection of the other. The glossary asks for the rarer. Test lines with such a word whose free
translation has another are translated free, with the rarer word required anywhere (`required`), and with
the glossary. A string comparison is the judge: a term is in place if the rarer word is there as often as the
source word, and no other frequent translation of the source word is, unless another source word yields that,
too. BLEU is of all these lines, and of those whose reference has the rarer word. Prints one JSON line.
"""

import argparse
import json
import re
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from regard import Glossary, TranslateOptions, Translator
from regard.metrics.translation import corpus_bleu
from regard.text.corpus_files import read_texts

WORD = re.compile(r"[^\W\d_]+")
MIN_LETTERS, MIN_COUNT = 3, 40
"""Letters of a word, and how often the rarer translation stands for it in the training text."""
MIN_SHARE, LISTED_SHARE = 0.12, 0.05
"""The share of a word's translations that the rarer one has at least, and that others have to be listed."""
MIN_PRECISION = 0.25
"""The share of a translation's links that lead to the word: a collocate has links to others mostly."""
ARTICLES, MIN_ARTICLES = {"the", "a", "an"}, 0.3
"""The share of a term's occurrences that follow an article: nouns and adjectives do."""
MAX_TOGETHER = 0.25
"""The share of a rarer translation's sentences that may hold another one of the word, too."""
SHARED_LETTERS = 3
"""Translations that begin alike are inflections of one another."""


@dataclass(frozen=True)
class Ambiguous:
    """The frequent translations of a source word, and the rarer one asked for."""

    rarer: str
    translations: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--train", type=Path, nargs=2, required=True)
    parser.add_argument("--test", type=Path, nargs=2, required=True)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--all-words", action="store_true", help="verbs, pronouns and all other words, too")
    parser.add_argument("--lines", type=int, help="lines of the test set (default: all)")
    options = parser.parse_args()
    train = [read_texts(path) for path in options.train]
    links = count_links(*train)
    translations = list_translations(links)
    after_article = None if options.all_words else count_after_articles(train[0])
    words = choose_words(links, translations, after_article)
    words = {word: each for word, each in words.items() if are_exclusive(word, each, *train)}
    sources, references = (read_texts(path)[: options.lines] for path in options.test)
    translator = Translator.load(options.model, "cpu", "torch")
    free = translator.translate(sources, beam=options.beam)
    cases = [
        (line, word)
        for line, text in enumerate(sources)
        for word in sorted(set(split(text)) & words.keys())
        if split(free[line]).count(words[word].rarer) < split(text).count(word)
    ]
    lines = sorted({line for line, _ in cases})
    texts = [sources[line] for line in lines]
    outputs = {"free": {line: free[line] for line in lines}}
    seconds, reported = {}, set()
    start = time.perf_counter()
    translator.translate(texts, beam=options.beam)
    seconds["free"] = round(time.perf_counter() - start, 1)
    start = time.perf_counter()
    outputs["required"] = translate_required(translator, sources, cases, words, options.beam)
    seconds["required"] = round(time.perf_counter() - start, 1)
    start = time.perf_counter()
    by_term = defaultdict(list)
    for line in lines:
        by_term[tuple(word for other, word in cases if other == line)].append(line)
    outputs["glossary"] = {}
    for asked, group in by_term.items():
        glossary = Glossary(tuple((word, surface(links, words[word].rarer)) for word in asked))
        request = TranslateOptions(glossary=glossary)
        results = translator.translate_detailed([sources[line] for line in group], options=request)
        outputs["glossary"] |= {line: each.text for line, each in zip(group, results, strict=True)}
        reported |= {line for line, each in zip(group, results, strict=True) if each.misplaced_terms}
    seconds["glossary"] = round(time.perf_counter() - start, 1)
    judged = {
        name: [judge(sources[line], word, words, texts[line], translations) for line, word in cases]
        for name, texts in outputs.items()
    }
    with_rarer = [line for line, word in cases if words[word].rarer in split(references[line])]
    failed = [case for case, ok in zip(cases, judged["glossary"], strict=True) if not ok]
    print(
        json.dumps(
            {
                "benchmark": "glossary in place",
                "words": {word: [each.rarer, *each.translations] for word, each in words.items()},
                "lines": len(lines),
                "cases": len(cases),
                "in_place": {name: round(100 * np.mean(each), 1) for name, each in judged.items()},
                "failed": len(failed),
                "failed_and_reported": sum(line in reported for line, _ in failed),
                "reported_lines": len(reported),
                "bleu": {name: bleu(each, references, lines) for name, each in outputs.items()},
                "lines_with_rarer": len(set(with_rarer)),
                "bleu_with_rarer": {
                    name: bleu(each, references, sorted(set(with_rarer))) for name, each in outputs.items()
                },
                "seconds": seconds,
                "failures": [
                    (word, words[word].rarer, sources[line], free[line], outputs["glossary"][line])
                    for line, word in failed[:40]
                ],
                "examples": [
                    (word, sources[line], free[line], outputs["glossary"][line]) for line, word in cases[:40]
                ],
            },
            ensure_ascii=False,
        )
    )


def split(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFC", text).casefold())


def surface(links: "Links", word: str) -> str:
    """Return the most frequent spelling of a target word, with its capitals."""
    return links.spellings[word].most_common(1)[0][0]


def bleu(outputs: dict[int, str], references: Sequence[str], lines: Sequence[int]) -> float | None:
    if not lines:
        return None
    return round(corpus_bleu([outputs[n] for n in lines], [references[n] for n in lines]).score, 2)


def translate_required(
    translator: Translator,
    sources: Sequence[str],
    cases: Sequence[tuple[int, str]],
    words: dict[str, Ambiguous],
    beam: int,
) -> dict[int, str]:
    """Return translations that contain the rarer words anywhere."""
    groups = defaultdict(list)
    for line in sorted({line for line, _ in cases}):
        groups[tuple(words[word].rarer for other, word in cases if other == line)].append(line)
    outputs = {}
    for required, lines in groups.items():
        options = TranslateOptions(required=tuple(SURFACES[word] for word in required))
        texts = translator.translate([sources[line] for line in lines], beam=beam, options=options)
        outputs |= dict(zip(lines, texts, strict=True))
    return outputs


def judge(
    source: str, word: str, words: dict[str, Ambiguous], output: str, translations: dict[str, tuple[str, ...]]
) -> bool:
    """Return whether the rarer word stands for the source word, and no other translation does."""
    source_words, output_words = split(source), split(output)
    others = set(source_words) - {word}
    yielded = {target for other in others for target in translations.get(other, ())}
    displaced = set(words[word].translations) - {words[word].rarer} - yielded
    is_there = output_words.count(words[word].rarer) >= source_words.count(word)
    return is_there and not displaced & set(output_words)


@dataclass(frozen=True)
class Links:
    """How often words are aligned, in the intersection of both directions."""

    counts: dict[str, Counter[str]]
    """By source word."""
    targets: Counter[str]
    spellings: dict[str, Counter[str]]
    """The spellings of each target word."""


SURFACES: dict[str, str] = {}


def count_links(sources: Sequence[str], targets: Sequence[str]) -> Links:
    pairs = [(split(a), split(b)) for a, b in zip(sources, targets, strict=True)]
    forward = align(pairs)
    backward = {(line, j, i) for line, i, j in align([(b, a) for a, b in pairs])}
    counts, target_counts = defaultdict(Counter), Counter()
    for line, i, j in forward & backward:
        counts[pairs[line][0][i]][pairs[line][1][j]] += 1
        target_counts[pairs[line][1][j]] += 1
    spellings = defaultdict(Counter)
    for text in targets:
        for word in WORD.findall(unicodedata.normalize("NFC", text))[1:]:  # the first may be capitalized
            spellings[word.casefold()][word] += 1
    SURFACES.update({word: each.most_common(1)[0][0] for word, each in spellings.items()})
    return Links(counts, target_counts, spellings)


def align(pairs: Sequence[tuple[list[str], list[str]]], rounds: int = 5) -> set[tuple[int, int, int]]:
    """Return links (line, source word, target word): for each target word the best source word of model 1."""
    ids: list[dict[str, int]] = [{}, {}]
    sides = [
        [np.array([known.setdefault(word, len(known)) for word in pair[side]], np.int64) for pair in pairs]
        for side, known in enumerate(ids)
    ]
    sizes = [np.array([len(row) for row in side]) for side in sides]
    line = np.repeat(np.arange(len(pairs)), sizes[0] * sizes[1])
    i = np.concatenate([np.repeat(np.arange(n), m) for n, m in zip(*sizes, strict=True)])
    j = np.concatenate([np.tile(np.arange(m), n) for n, m in zip(*sizes, strict=True)])
    first = [np.concatenate([[0], np.cumsum(size)[:-1]]) for size in sizes]
    s, t = np.concatenate(sides[0])[first[0][line] + i], np.concatenate(sides[1])[first[1][line] + j]
    _, pair = np.unique(s * len(ids[1]) + t, return_inverse=True)
    place = first[1][line] + j
    source_of_pair = np.zeros(pair.max() + 1, np.int64)
    source_of_pair[pair] = s
    probability = np.ones(pair.max() + 1)
    for _ in range(rounds):
        weight = probability[pair]
        weight /= np.bincount(place, weight)[place]
        count = np.bincount(pair, weight)
        probability = count / np.bincount(source_of_pair, count)[source_of_pair]
    order = np.lexsort((probability[pair], place))
    is_last = np.append(np.diff(place[order]) > 0, True)
    chosen = order[is_last]
    return set(zip(line[chosen].tolist(), i[chosen].tolist(), j[chosen].tolist(), strict=True))


def list_translations(links: Links) -> dict[str, tuple[str, ...]]:
    """Return the frequent translations of each source word, the most frequent first."""
    listed = {}
    for word, counts in links.counts.items():
        total = counts.total()
        listed[word] = tuple(
            other for other, n in counts.most_common() if n >= LISTED_SHARE * total and n >= 5
        )
    return listed


def count_after_articles(sources: Sequence[str]) -> dict[str, float]:
    """Return the share of each word's occurrences that follow an article."""
    all_, after = Counter(), Counter()
    for text in sources:
        words = split(text)
        all_.update(words)
        after.update(word for before, word in pairwise(words) if before in ARTICLES)
    return {word: after[word] / count for word, count in all_.items()}


def choose_words(
    links: Links, translations: dict[str, tuple[str, ...]], after_article: dict[str, float] | None
) -> dict[str, Ambiguous]:
    """Return source words with two frequent translations that are not inflections of one another."""
    chosen = {}
    for word, counts in links.counts.items():
        if after_article is not None and after_article[word] < MIN_ARTICLES:
            continue
        total = counts.total()
        good = [
            other
            for other, n in counts.most_common()
            if n >= max(MIN_COUNT, MIN_SHARE * total)
            and n >= MIN_PRECISION * links.targets[other]
            and min(len(other), len(word)) >= MIN_LETTERS
        ]
        if len(good) < 2 or good[0] != counts.most_common(1)[0][0]:
            continue
        begin = strip_accents(good[0])[:SHARED_LETTERS]
        rarer = next((each for each in good[1:] if strip_accents(each)[:SHARED_LETTERS] != begin), None)
        if rarer is not None:
            chosen[word] = Ambiguous(rarer, translations[word])
    return chosen


def are_exclusive(word: str, each: Ambiguous, sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Return whether the rarer translation mostly stands without the others: not nackt with Oberkörper."""
    together = [
        len(set(split(target)) & set(each.translations)) > 1
        for source, target in zip(sources, targets, strict=True)
        if each.rarer in target.casefold() and word in source.casefold()
        if each.rarer in split(target) and word in split(source)
    ]
    return bool(together) and float(np.mean(together)) <= MAX_TOGETHER


def strip_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


if __name__ == "__main__":
    main()
