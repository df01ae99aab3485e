"""Every figure for one set of translations."""

from collections.abc import Mapping, Sequence

from regard.metrics.bleu import Bleu, bleu
from regard.metrics.chrf import Chrf, chrf
from regard.metrics.moses import tokenised_bleu


def all_scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str | None
) -> Mapping[str, Bleu | Chrf]:
    """BLEU and chrF, cased and in lower case; tokenised BLEU too, if the language of the text is given."""
    scores: dict[str, Bleu | Chrf] = {
        "bleu": bleu(hypotheses, references),
        "bleu_lower": bleu(hypotheses, references, lowercase=True),
        "chrf": chrf(hypotheses, references),
        "chrf_lower": chrf(hypotheses, references, lowercase=True),
    }
    if language is not None:
        scores["bleu_tokenised_lower"] = tokenised_bleu(hypotheses, references, language)
    return scores
