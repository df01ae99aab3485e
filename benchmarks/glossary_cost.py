"""Cost of a glossary: terms extracted from the training text, then required in the translation of a test set.

    python benchmarks/glossary_cost.py MODEL --train en de --test en de

Terms are word pairs that co-occur in the training text (Dice coefficient), the best first. Lines whose
source has a term are translated with and without the glossary. Prints one JSON line: how often terms
occur, how often they are in the translations, and BLEU and seconds of both.
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
    texts = [sources[i] for i in lines]
    with_glossary = TranslateOptions(glossary=Glossary(tuple(terms.items())))
    translations, seconds = {}, {}
    for name, translate_options in (("free", TranslateOptions()), ("glossary", with_glossary)):
        translator = Translator.load(
            options.model, engine="torch", search=SearchConfig(), options=translate_options
        )
        start = time.perf_counter()
        results = translator.translate_detailed(texts, SearchConfig(), translate_options)
        translations[name] = [result.text for result in results]
        seconds[name] = round(time.perf_counter() - start, 1)
    required = [
        (line, terms[word])
        for line, text in enumerate(texts)
        for word in set(WORD.findall(text)) & terms.keys()
    ]
    print(
        json.dumps(
            {
                "benchmark": "glossary",
                "terms": len(terms),
                "lines": len(texts),
                "occurrences": len(required),
                "honoured": {
                    name: sum(contains_term(outputs[line], term) for line, term in required)
                    for name, outputs in translations.items()
                },
                "bleu": {
                    name: round(corpus_bleu(outputs, [references[i] for i in lines]).score, 2)
                    for name, outputs in translations.items()
                },
                "seconds": seconds,
                "missed": [
                    (texts[line], term, translations["glossary"][line])
                    for line, term in required
                    if not contains_term(translations["glossary"][line], term)
                ][:10],
            },
            ensure_ascii=False,
        )
    )


def contains_term(text: str, term: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE) is not None


def extract_terms(sources: list[str], targets: list[str]) -> Iterator[tuple[str, str]]:
    """Yield co-occurring word pairs by falling Dice coefficient, each word once."""
    left, right, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for source, target in zip(sources, targets, strict=True):
        words, others = set(WORD.findall(source)), set(WORD.findall(target))
        left.update(words)
        right.update(others)
        both.update((word, other) for word in words for other in others)
    ranked = sorted(
        ((2 * count / (left[a] + right[b]), a, b) for (a, b), count in both.items() if count >= MIN_COUNT),
        reverse=True,
    )
    taken: set[str] = set()
    for _, a, b in ranked:
        if a not in taken and b not in taken:
            taken |= {a, b}
            yield a, b
        if len(taken) >= 2 * MAX_TERMS:
            return


if __name__ == "__main__":
    main()
