"""Agreement of the engines with torch in fp32, on a model and a test set of yours.

    python benchmarks/engine_agreement.py runs/en-de --source test.en --reference test.de

Prints one JSON line: for greedy search and for beam 4 the share of identical lines, BLEU (lowercased if the
model is), and its difference. A line that differs need not be worse.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from regard.data.bucketing import bucket_by_length
from regard.data.pairs import concatenate_rows
from regard.inference.ctranslate2 import CTranslate2Engine
from regard.inference.eager import EagerEngine
from regard.inference.engine import Engine
from regard.inference.incremental import IncrementalDecoder
from regard.metrics.translation import corpus_bleu
from regard.search.config import SearchConfig
from regard.text.corpus_files import read_texts
from regard.translation.model_folder import TranslationFolder, load_translation_model, read_translation_folder

BATCH_TOKENS = 4096


def load_torch_fp32(folder: TranslationFolder) -> Engine:
    return EagerEngine(load_translation_model(folder.path).transformer)


def load_torch_int8(folder: TranslationFolder) -> Engine:
    return EagerEngine(IncrementalDecoder(load_translation_model(folder.path).transformer, "int8"))


REFERENCE = "torch-fp32"
ENGINES: dict[str, Callable[[TranslationFolder], Engine]] = {
    REFERENCE: load_torch_fp32,
    "torch-int8": load_torch_int8,
    "ctranslate2-fp32": lambda folder: CTranslate2Engine(folder.path, folder.config, "fp32"),
    "ctranslate2-int8": lambda folder: CTranslate2Engine(folder.path, folder.config, "int8"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = read_translation_folder(options.model)
    sources = folder.tokenizer.tokenize([text.strip() for text in read_texts(options.source)])
    references = read_texts(options.reference)
    engines = {name: make(folder) for name, make in ENGINES.items()}
    results: dict[str, object] = {"benchmark": "agree", "model": options.model.name, "lines": len(sources)}
    for beam in (1, 4):
        texts = {
            name: folder.tokenizer.detokenize(translate_all(engine, sources, SearchConfig(beam)))
            for name, engine in engines.items()
        }
        scores = {
            name: corpus_bleu(lines, references, folder.tokenizer.lowercase).score
            for name, lines in texts.items()
        }
        results[f"beam {beam}"] = {
            name: {
                "same": round(sum(map(str.__eq__, lines, texts[REFERENCE])) / len(lines), 4),
                "bleu": round(scores[name], 2),
                "difference": round(scores[name] - scores[REFERENCE], 2),
            }
            for name, lines in texts.items()
        }
    print(json.dumps(results))


def translate_all(
    engine: Engine, sources: Sequence[Sequence[int]], config: SearchConfig
) -> list[Sequence[int]]:
    """Return the best translation of each source, in batches of similar lengths."""
    translations: list[Sequence[int]] = [()] * len(sources)
    for batch in bucket_by_length(concatenate_rows(sources).lengths, BATCH_TOKENS // config.beam):
        batch_results = engine.translate([sources[index] for index in batch], config)
        for index, hypotheses in zip(batch, batch_results, strict=True):
            translations[index] = hypotheses[0].tokens
    return translations


if __name__ == "__main__":
    main()
