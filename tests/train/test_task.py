from regard.train.task import SHOWN, Lines, together


def test_a_few_lines_are_all_named_and_of_many_the_first():
    assert str(Lines(("a.tsv",), (1034,))) == "a.tsv line 1034"
    assert str(Lines(("a.en", "a.fr"), (12, 77))) == "a.en and a.fr lines 12, 77"
    assert str(Lines(("a",), tuple(range(1, SHOWN + 1)))).endswith(", 19, 20")
    assert str(Lines(("a",), tuple(range(1, SHOWN + 2)))).endswith(", 19, 20 and 1 more")


def test_batches_of_one_step_name_each_file_and_line_once():
    a, b = ("a.en", "a.fr"), ("b.tsv",)
    assert together([Lines(a, (3, 9)), Lines(b, (1,)), Lines(a, (2, 9))]) == [
        Lines(a, (2, 3, 9)),
        Lines(b, (1,)),
    ]
