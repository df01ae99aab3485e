"""What can be wrong with labelled texts, beside what can be wrong with any line."""

from regard.text.examination import Kinds
from regard.text.findings import CONTROL, NOT_UTF8, NUL, Kind

ONE_LABEL = Kind(
    "one label",
    "fatal",
    "every text has the same label",
    "give texts of at least two labels",
)
TOO_MANY = Kind(
    "too many labels",
    "fatal",
    "nearly every line has a label of its own",
    "put the label first, label<TAB>text, or say in a first line text<TAB>label that it comes last",
)
HEADER = Kind("header", "note", "the first line names the columns", "nothing", leaves_out=True)
NO_LABEL = Kind(
    "no label",
    "bad",
    "not two columns with a tab between them, or not JSON with label and text",
    "mend it or leave it out",
    leaves_out=True,
)
BLANK = Kind("blank", "bad", "a text without a label, or the reverse", "leave it out", leaves_out=True)
LONG = Kind("long text", "bad", "far longer than what one label is for", "split it up", leaves_out=True)
LONG_LABEL = Kind(
    "long label", "bad", "a label should be a word or two", "look whether it is a text", leaves_out=True
)
SHARED = Kind(
    "shared",
    "bad",
    "its text is in the other corpus too",
    "leave it out, or the test measures memory",
    leaves_out=True,
)
CONFLICT = Kind(
    "conflict",
    "bad",
    "the same text has another label elsewhere",
    "decide for one: it is learned from both ways",
)
RARE = Kind(
    "rare label", "note", "too few texts to learn it from, or to measure it by", "find more, or merge it"
)
IMBALANCE = Kind(
    "imbalance",
    "note",
    "the most frequent label has many times as many texts as the rarest",
    "look at macro F1 beside accuracy, which the frequent one decides",
)
DUPLICATE = Kind(
    "duplicate", "note", "the same text and label as an earlier one", "harmless unless there are very many"
)

LABEL_KINDS = Kinds(
    (HEADER, NO_LABEL, NOT_UTF8, BLANK, NUL, CONTROL, LONG, LONG_LABEL, SHARED),
    missing=NO_LABEL,
    shared=SHARED,
    noun="text",
)
