from regard.train.task import MAX_SHOWN_LINES, FileLines, merge_file_lines


def test_a_few_lines_are_named_and_of_many_the_first_twenty():
    assert str(FileLines(("a.tsv",), (1034,))) == "a.tsv line 1034"
    assert str(FileLines(("a.en", "a.fr"), (12, 77))) == "a.en and a.fr lines 12, 77"
    assert str(FileLines(("a",), tuple(range(1, MAX_SHOWN_LINES + 1)))).endswith(", 19, 20")
    assert str(FileLines(("a",), tuple(range(1, MAX_SHOWN_LINES + 2)))).endswith(", 19, 20 and 1 more")


def test_merging_names_each_file_and_line_once():
    a, b = ("a.en", "a.fr"), ("b.tsv",)
    assert merge_file_lines([FileLines(a, (3, 9)), FileLines(b, (1,)), FileLines(a, (2, 9))]) == [
        FileLines(a, (2, 3, 9)),
        FileLines(b, (1,)),
    ]
