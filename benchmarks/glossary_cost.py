"""What does a glossary cost? Terms drawn from the training text, required in a test set, honoured and scored.

    python benchmarks/glossary.py MODEL --train en de --test en de

Terms are pairs of words that keep company in the training text (by Dice's coefficient), the surest first.
Each line whose source has a term must have its translation; without a glossary the model is free. Prints
one JSON line: how often terms occur, how often they are in the answer with and without, and both BLEU.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from regard import Glossary, SearchConfig, TranslateOptions
from regard.metrics.translation import corpus_bleu
from regard.text.corpus_files import read_texts
from regard.translation.translator import Translator

WORD = re.compile(r"[^\W\d_]{4,}")
MAX_TERMS, MIN_COUNT = 100, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--train", type=Path, nargs=2, required=True)
    parser.add_argument("--test", type=Path, nargs=2, required=True)
    options = parser.parse_args()
    terms = dict(extract_terms(*map(read_texts, options.train)))
    sources, references = map(read_texts, options.test)
    lines = [i for i, text in enumerate(sources) if any(word in terms for word in WORD.findall(text))]
    some = [sources[i] for i in lines]
    asked = TranslateOptions(glossary=Glossary(tuple(terms.items())))
    found, seconds = {}, {}
    for name, wishes in (("free", TranslateOptions()), ("glossary", asked)):
        translator = Translator.load(options.model, engine="torch", search=SearchConfig(), options=wishes)
        began = time.perf_counter()
        found[name] = [each.text for each in translator.translate_detailed(some, SearchConfig(), wishes)]
        seconds[name] = round(time.perf_counter() - began, 1)
    wanted = [
        (at, terms[word]) for at, text in enumerate(some) for word in set(WORD.findall(text)) & terms.keys()
    ]
    print(
        json.dumps(
            {
                "benchmark": "glossary",
                "terms": len(terms),
                "lines": len(some),
                "occurrences": len(wanted),
                "honoured": {
                    name: sum(contains_term(texts[at], term) for at, term in wanted)
                    for name, texts in found.items()
                },
                "bleu": {
                    name: round(corpus_bleu(texts, [references[i] for i in lines]).score, 2)
                    for name, texts in found.items()
                },
                "seconds": seconds,
                "missed": [
                    (some[at], term, found["glossary"][at])
                    for at, term in wanted
                    if not contains_term(found["glossary"][at], term)
                ][:10],
            },
            ensure_ascii=False,
        )
    )


def contains_term(text: str, term: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE) is not None


def extract_terms(sources: list[str], targets: list[str]) -> Iterator[tuple[str, str]]:
    """Words and the words that keep them company, each once, the surest pairs first."""
    left, right, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for source, target in zip(sources, targets, strict=True):
        words, others = set(WORD.findall(source)), set(WORD.findall(target))
        left.update(words)
        right.update(others)
        both.update((word, other) for word in words for other in others)
    sure = sorted(
        ((2 * count / (left[a] + right[b]), a, b) for (a, b), count in both.items() if count >= MIN_COUNT),
        reverse=True,
    )
    taken: set[str] = set()
    for _, a, b in sure:
        if a not in taken and b not in taken:
            taken |= {a, b}
            yield a, b
        if len(taken) >= 2 * MAX_TERMS:
            return


if __name__ == "__main__":
    main()
