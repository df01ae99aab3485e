from documents import SRT
from regard.text.documents.document import Reading, read_document


def test_a_cue_is_a_text_and_so_is_each_speaker():
    assert read_document(SRT.encode(), "x.srt", Reading()).segments == (
        "Where are you going, my dear friend?",
        "Home!",
        "2 < 3, I <3 it",
        "La la la",
        "你好，世界 مرحبا",
    )


def test_a_translation_has_as_many_lines_and_the_same_tags():
    document = read_document(SRT.encode(), "x.srt", Reading())
    written = document.written(
        ["Où vas-tu donc, mon cher ami ?", "Chez moi !", "2 < 3, j' <3 ça", "La", "Hello"]
    )
    cues = written.decode().split("\r\n\r\n")
    assert cues[0].endswith("\r\n<i>Où vas-tu donc,</i>\r\nmon {\\an8}cher ami ?")
    assert cues[1].endswith("\r\n- Chez moi !\r\n- <b>2 < 3</b>, j' <3 ça")
    assert cues[2].endswith("\r\n♪ La ♪")
    assert [cue.split("\r\n")[:2] for cue in cues] == [cue.split("\r\n")[:2] for cue in SRT.split("\r\n\r\n")]


def test_a_number_that_somebody_says_is_text():
    content = b"1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:03.000 --> 00:00:04.000\n7 apples\n"
    assert read_document(content, "x.srt", Reading()).segments == ("42", "7 apples")
