import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError
from sample_documents import SRT, VTT


def test_each_cue_or_speaker_is_a_segment():
    assert read_document(SRT.encode(), "x.srt", DocumentOptions()).segments == (
        "Where are you going, my dear friend?",
        "Home!",
        "2 < 3, I <3 it",
        "La la la",
        "你好，世界 مرحبا",
    )


def test_a_cue_keeps_its_line_count_and_tags():
    document = read_document(SRT.encode(), "x.srt", DocumentOptions())
    written = document.render(
        ["Où vas-tu donc, mon cher ami ?", "Chez moi !", "2 < 3, j' <3 ça", "La", "Hello"]
    )
    cues = written.decode().split("\r\n\r\n")
    assert cues[0].endswith("\r\n<i>Où vas-tu donc,</i>\r\nmon {\\an8}cher ami ?")
    assert cues[1].endswith("\r\n- Chez moi !\r\n- <b>2 < 3</b>, j' <3 ça")
    assert cues[2].endswith("\r\n♪ La ♪")
    assert [cue.split("\r\n")[:2] for cue in cues] == [cue.split("\r\n")[:2] for cue in SRT.split("\r\n\r\n")]


def test_a_spoken_number_is_text():
    content = b"1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:03.000 --> 00:00:04.000\n7 apples\n"
    assert read_document(content, "x.srt", DocumentOptions()).segments == ("42", "7 apples")


def test_an_arrow_between_times_of_day_is_text():
    cue = "1\n00:00:01,000 --> 00:00:02,000\n"
    for text in ("10:30 -> 11:00 daily", "42\n10:30 --> 11:00", "Open\n7\na -> b", "Open\n\n9:00 -> 10:00"):
        content = f"{cue}{text}\n\n2\n00:00:03.000 --> 00:00:04.000\nBye\n".encode()
        document = read_document(content, "x.srt", DocumentOptions())
        assert " ".join(document.segments) == f"{text} Bye".replace("\n\n", " ").replace("\n", " ")
        assert document.render(document.segments) == content


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("1\n10:30 -> 11:00\nHi\n", 2),
        ("1\n00:00:01 --> 00:00:02\nHi\n", 2),
        ("00:00:01,000 -> 00:00:02,000\nHi\n", 1),
        ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\n2\n0:03,0 -> 0:04,0\nHo\n", 6),
        ("1\n00:00:01,000 --> 00:00:02,000\nHi\n2\n00:00:03,000 -> 00:00:04,000\nHo\n", 5),
    ],
)
def test_a_malformed_cue_time_is_rejected(content, line):
    with pytest.raises(
        DataError, match=f"x.srt line {line} is not a cue time; write 00:00:01,000 --> 00:00:02,000"
    ):
        read_document(content.encode(), "x.srt", DocumentOptions())


def test_a_url_is_unchanged():
    cue = "1\n00:00:01,000 --> 00:00:02,000\n"
    document = read_document(
        f"{cue}Subtitles by www.example.org\nand tom@example.org\n".encode(), "x.srt", DocumentOptions()
    )
    written = document.render(["Sous-titres de www.exemple.org et de Thomas"]).decode()
    assert "www.example.org" in written
    assert "tom@example.org" in written


def read_vtt(content):
    return read_document(content.encode(), "x.vtt", DocumentOptions())


def test_each_webvtt_cue_or_voice_is_a_segment():
    assert read_vtt(VTT).segments == (
        "Where are you going, my dear friend?",
        "Home & away!",
        "Home!",
        "2 < 3, I agree",
        "La la la",
        "你好，世界 مرحبا",
    )


def test_a_webvtt_cue_keeps_its_tags_settings_and_lines():
    document = read_vtt(VTT)
    texts = [
        "Où --> vas-tu donc, très cher ami ?",
        "Chez moi & loin !",
        "Oui !",
        "2 < 3, moi aussi",
        "Do re mi",
        "Hello",
    ]
    written = document.render(texts).decode()
    assert "\r\n<v.loud Mary Ann>Où --&gt; <i.x>vas-tu</i> donc,\r\ntrès cher ami ?\r\n" in written
    assert "\r\n<v Tom>Chez moi &amp; loin !</v>\r\n" in written
    assert "\r\n- Oui !\r\n- 2 &lt; 3," in written
    assert "\r\n<00:00:05.000>Do <00:00:05.400>re <b>mi</b>\r\n" in written
    assert written.count("-->") == VTT.count("-->")
    assert len(written.split("\r\n")) == len(VTT.split("\r\n"))
    assert written[: written.index("<v.loud")] == VTT[: VTT.index("<v.loud")]
    assert read_vtt(written).segments == tuple(texts)


def test_comments_styles_and_text_outside_webvtt_cues_stay():
    head = "WEBVTT\rKind: captions\r\rNOTE\ra --> b\r\rText without a time\r\r"
    content = f"{head}00:01.000 --> 00:02.000\rNOTE this\r"
    document = read_vtt(content)
    assert document.segments == ("NOTE this",)
    assert document.render(["X"]).decode() == content.replace("NOTE this", "X")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x.vtt line 1 is not WEBVTT"),
        ("WEBVTT2\n", "x.vtt line 1 is not WEBVTT"),
        ("WEBVTT\n\n00:01.000 -> 00:02.000\nHi\n\n00:01:02 --> x\n", "x.vtt line 6 is not a cue time"),
        ("WEBVTT\n\na\n00:00:01.000 -> 00:00:02.000\nHi\n", "x.vtt line 4 is not a cue time"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\nHi --> you\n", "x.vtt line 4 is not a cue time"),
    ],
)
def test_malformed_webvtt_is_rejected(content, message):
    with pytest.raises(DataError) as error:
        read_vtt(content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
