"""Small files of types that are not plain text, by name; the text in them is English."""

import gzip
import io
import zipfile

XML = '<?xml version="1.0" encoding="utf-8"?>\n'


def zip_file(*names):
    """A zip archive with empty files of these names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "the cat sings")
    return content.getvalue()


KNOWN_BY_CONTENT = {
    "report.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "letter.docx": zip_file("[Content_Types].xml", "word/document.xml"),
    "slides.pptx": zip_file("[Content_Types].xml", "ppt/presentation.xml"),
    "numbers.xlsx": zip_file("[Content_Types].xml", "xl/workbook.xml"),
    "letter.odt": zip_file("mimetype", "content.xml"),
    "book.epub": zip_file("mimetype", "META-INF/container.xml"),
    "files.zip": zip_file("a.txt"),
    "letter.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "letter.rtf": rb"{\rtf1\ansi The cat sings.\par}",
    "image.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "photo.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "icon.gif": b"GIF89a\x01\0\x01\0\x80",
    "messages.mo": b"\xde\x12\x04\x95\0\0\0\0\x01\0\0\0",
    "data.sqlite": b"SQLite format 3\0\x10\0",
    "tool.exe": b"\x7fELF\x02\x01\x01\0",
    "table.parquet": b"PAR1\x15\x04\x15",
    "figure.eps": b"%!PS-Adobe-3.0 EPSF-3.0\n",
    "page.html": b"<!DOCTYPE html>\n<html><body><p>The cat sings.</p></body></html>\n",
    "part.htm": b"<!-- a part -->\n<html>\n<p>The cat sings.</p></html>\n",
    "page.xhtml": f'{XML}<html xmlns="http://www.w3.org/1999/xhtml"><p>The cat.</p></html>\n'.encode(),
    "fragment.shtml": b'<div class="x">\n<p>The cat sings.</p>\n</div>\n',
    "data.xml": f"{XML}<data><text>The cat sings.</text></data>\n".encode(),
    "strings.svg": b'<svg xmlns="http://www.w3.org/2000/svg"><text>The cat</text></svg>\n',
    "Texts.resx": f'{XML}<root><data name="a"><value>The cat</value></data></root>\n'.encode(),
    "a.stringsdict": f"{XML}<!DOCTYPE plist>\n<plist><dict/></plist>\n".encode(),
    "topic.dita": f'{XML}<!DOCTYPE topic>\n<topic id="a"><title>The cat</title></topic>\n'.encode(),
    "sub.ttml": f'{XML}<tt xmlns="http://www.w3.org/ns/ttml"><body/></tt>\n'.encode(),
    "test.sgm": b'<srcset setid="a" srclang="any">\n<seg id="1">The cat sings.</seg>\n</srcset>\n',
    "a.tmx": b'<tmx version="1.4"><header srclang="en"/><body/></tmx>\n',
    "a.xliff": f'{XML}<xliff version="1.2"><file/></xliff>\n'.encode(),
    "a.xlf": b'<xliff version="2.0"><file id="a"/></xliff>\n',
    "app.ts": f'{XML}<!DOCTYPE TS>\n<TS version="2.1"><context/></TS>\n'.encode(),
    "de.po": b'# German\nmsgid ""\nmsgstr "Language: de\\n"\n\nmsgid "The cat"\nmsgstr ""\n',
    "de.pot": b'msgctxt "menu"\nmsgid "The cat"\nmsgstr ""\n',
    "film.srt": b"1\n00:00:01,000 --> 00:00:02,000\nThe cat sings.\n",
    "film.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\nThe cat sings.\n",
    "film.ass": b"[Script Info]\nTitle: The cat\n\n[Events]\n",
    "film.sub": b"{0}{25}The cat sings.\n",
    "film.sbv": b"0:00:01.000,0:00:02.000\nThe cat sings.\n",
    "song.lrc": b"[00:01.00]The cat sings.\n",
    "en.json": b'{\n  "cat": "The cat sings.",\n  "dog": "The dog sleeps."\n}\n',
    "list.geojson": b'[{"type": "The cat sings."}]\n',
    "rows.jsonl": b'{"text": "The cat sings."}\n{"text": "The dog sleeps."}\n',
    "rows.ndjson": b'{"id": 1}\n{"id": 2}\n',
    "Localizable.strings": b'/* a cat */\n"cat" = "The cat sings.";\n',
    "paper.tex": b"% the cat\n\\documentclass{article}\n\\begin{document}\nThe cat.\n\\end{document}\n",
    "page.php": b'<?php echo "The cat sings."; ?>\n',
    "run.bash": b"#!/bin/bash\necho The cat sings.\n",
    "date.ics": b"BEGIN:VCALENDAR\nSUMMARY:The cat sings\nEND:VCALENDAR\n",
    "table16.csv": "id;text\n1;The cat sings.\n".encode("utf-16"),
    "noise.wasm": bytes(range(256)) * 4,
}
"""Files that show their type in any name."""
KNOWN_BY_NAME = {
    "table.csv": b"id,words\n1,The cat sings.\n",
    "table.tsv": b"id\twords\n1\tThe cat sings.\n",
    "table.tab": b"1\teng\tThe cat sings.\n",
    "en.yaml": b"en:\n  cat: The cat sings.\n",
    "en.yml": b"en:\n  cat: The cat sings.\n",
    "messages_en.properties": b"cat=The cat sings.\n",
    "en.arb": b'{"cat": "The cat sings."}\n',
    "main.ftl": b"cat = The cat sings.\n",
    "setup.ini": b"[main]\ncat = The cat sings.\n",
    "setup.toml": b'[main]\ncat = "The cat sings."\n',
    "setup.cfg": b"[main]\ncat = The cat sings.\n",
    "README.md": b"# The cat\n\nIt *sings*.\n",
    "manual.rst": b"The cat\n=======\n\nIt *sings*.\n",
    "manual.adoc": b"= The cat\n\nIt _sings_.\n",
    "notes.org": b"* The cat\n  It sings.\n",
    "tool.py": b'print("The cat sings.")\n',
    "tool.js": b'console.log("The cat sings.");\n',
    "tool.c": b'#include <stdio.h>\nint main() { puts("The cat sings."); }\n',
    "Tool.java": b'class Tool { String cat = "The cat sings."; }\n',
    "style.css": b'p::after { content: "The cat sings."; }\n',
    "query.sql": b"SELECT 'The cat sings.';\n",
    "part.vue": b"<template><p>The cat sings.</p></template>\n",
    "mail.eml": b"Subject: The cat\n\nIt sings.\n",
    "change.diff": b"--- a\n+++ b\n-The cat\n",
    "page.html~": b"The cat <b>sings</b>.\n",
    "en.json.bak": b"The cat sings.\n",
    "en.yaml.gz": gzip.compress(b"cat: The cat sings.\n"),
    "pages.tar.gz": gzip.compress(bytes(600)),
    "pages.tgz": gzip.compress(bytes(600)),
}
"""Files whose ending shows their type, and nothing else."""
SOURCE_CODE = {
    "tool.cs": b'using System;\nConsole.WriteLine("The cat sings.");\n',
    "tool.pl": b'#!/usr/bin/perl\nprint "The cat sings.";\n',
    "Module.pl": b"# a cat\nuse strict;\n",
    "tool.ts": b'import { cat } from "./cat";\nconst text: string = "The cat sings.";\n',
    "tool.sh": b"#!/bin/sh\necho The cat sings.\n",
    "tool.ml": b'let cat = "The cat sings."\n',
    "rules.mk": b"# the cat\nCAT = sings\n",
    "init.el": b";; the cat\n(setq cat 1)\n",
    "tool.sv": b"module cat;\nendmodule\n",
}
"""Files whose ending is a language too: Czech, Polish, Tsonga, Malayalam, Macedonian, Greek, Swedish."""
PLAIN_FILES = {
    "train.en": b"The cat sings.\nThe dog sleeps.\n",
    "test_2016_flickr.de": b"Die Katze singt.\n",
    "newstest2014-deen-src.en": b"The cat sings.\n",
    "corpus.tok.bpe.fr": b"le ch@@ at chante .\n",
    "corpus": b"The cat sings.\n",
    "corpus.txt": b"<s> The cat sings. </s>\n",
    "corpus.clean": b"<unk> cat\n",
    "corpus.src": b"[1] The cat sings.\n",
    "corpus.eng_Latn": b"{name}, the cat sings\n",
    "train.cs": "Kočka zpívá.\n".encode(),
    "train.pl": b"Kot.\n# use\n",
    "train.ts": b"Vana va tlanga.\n",
    "train.el": "Πού είναι η γάτα;\n".encode(),
    "train.ml": "പൂച്ച പാടുന്നു.\n".encode(),
    "train.mk": "Мачката пее.\n".encode(),
    "train.so": b"Bisadda way heesaysaa.\n",
    "train.sv": b"Katten sjunger.\n",
    "train.sh": b"Macka peva.\n",
    "train.en.gz": gzip.compress(b"The cat sings.\n"),
    "train.txt.bak": b"The cat sings.\n",
    "damaged.en": b"The cat \x00 sings.\nThe \x01 dog.\n",
    "latin.fr": "Le chat est passé.\n".encode("latin-1"),
    "numbers": b"1\n2\n3\n",
    "quotes": b'"The cat" = a song\n- "The dog", he said\n["Well"]\n',
    "tags": b"<b>The cat</b> sings.\n",
    "empty": b"",
}
"""Corpora and other texts of lines."""
