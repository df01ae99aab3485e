"""Sample documents of each format, with the constructs that parsers of the format get wrong."""

TXT = "Hello, world!\r\n\r\n  two  spaces \n\tتحية 你好 🙂\u2028same line\n\x0c\nno newline"

SRT = """1\r
00:00:01,000 --> 00:00:02,500\r
<i>Where are you going,</i>\r
my {\\an8}dear friend?\r
\r
2\r
00:00:03,000 --> 00:00:04,000 X1:100\r
- Home!\r
- <b>2 < 3</b>, I <3 it\r
\r
3\r
00:00:05,000 --> 00:00:06,000\r
♪ La la la ♪\r
\r
4\r
00:00:07,000 --> 00:00:08,000\r
\r
5\r
00:00:09,000 --> 00:00:10,000\r
你好，世界\r
مرحبا"""

PO = r"""# Translators: nobody yet
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n==0 ? 0 : n==1 ? 1 : 2);\n"

#. a comment
#: src/a.c:12
#, c-format
msgid "Cannot open %s: \"%s\"\n"
msgstr ""

msgctxt "menu|file"
msgid "_Open <b>file</b>…"
msgstr   ""

#: src/b.c:3
msgid ""
"Usage: %(prog)s [OPTION]\n"
"\n"
"This text is so long that the tool which wrote it had to break it into more than "
"one line.\n"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

#, fuzzy
#| msgid "older"
msgid "old"
msgstr "vieux"

msgid "done"
msgstr "fait"

msgid "%s"
msgstr ""

#~ msgid "gone"
#~ msgstr "parti"
"""

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<!-- <tu><tuv><seg>no</seg></tuv></tu> -->
<tmx version="1.4">
  <header srclang="en-US" datatype='html' note="a > b"/>
  <body>
    <tu tuid="1">
      <prop type="x">kept</prop>
      <tuv xml:lang="en-US">
        <seg>Press <bpt i="1">&lt;b></bpt>the <hi>red</hi> button<ept i="1">&lt;/b></ept> &amp; wait</seg>
      </tuv>
    </tu>
    <tu><tuv xml:lang="EN-us"><seg>Two</seg></tuv><tuv xml:lang="fr"><seg/></tuv></tu>
    <tu><tuv xml:lang="en-US"><seg>Done</seg></tuv><tuv xml:lang="fr"><seg>Fait</seg></tuv></tu>
    <tu><tuv xml:lang="en-US"><seg> </seg></tuv></tu>
    <tu><tuv xml:lang="en-US"><seg>Line <ph x="1">{0}</ph>, 你好 🙂 مرحبا</seg></tuv></tu>
  </body>
</tmx>"""

XLIFF = """\ufeff<?xml version="1.0" encoding="UTF-8"?>\r
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\r
  <file original="a" source-language="en" target-language="fr"><body>\r
    <group>\r
      <trans-unit id="1">\r
        <source>It&apos;s <g id="1">a <x id="2"/> big <g id="3">house</g></g>&#33;</source>\r
        <alt-trans><source>no</source><target>non</target></alt-trans>\r
      </trans-unit>\r
      <trans-unit id="2"><source>Two</source><target state="new">Two</target></trans-unit>\r
      <trans-unit id="3"><source>Three</source><target xml:lang="fr" /><note>x</note></trans-unit>\r
      <trans-unit id="4"><source>Four</source><target>Quatre</target></trans-unit>\r
      <trans-unit id="5" translate="no"><source>Five</source></trans-unit>\r
      <trans-unit id="6"><source><![CDATA[Some <b>bold</b> & text]]></source></trans-unit>\r
      <trans-unit id="7"><source>See <mrk mtype="protected">Foo Bar</mrk> now</source>\
<seg-source><mrk mtype="seg">See</mrk></seg-source></trans-unit>\r
    </group>\r
  </body></file>\r
</xliff>\r
"""

XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr">
 <file id="f"><unit id="u"><notes><note>Not this</note></notes>
  <segment state="initial">
   <source>Click <pc id="1">here <ph id="2"/></pc> twice</source>
  </segment>
  <segment><source>One</source><target>Un</target></segment>
  <ignorable><source> </source></ignorable>
 </unit><unit id="v" translate="no"><segment><source>No</source></segment></unit></file>
</xliff>
"""

HTML = """<!DOCTYPE html>
<html lang=en><head><meta charset="utf-8"><title>Caf&eacute; &amp; bar</title>
<style>p { color: red }</style><script>if (a<b && c) { "text" }</script></head>
<body class='x>y'>
<!-- not <b>this</b> -->
<h1 title="A &quot;tip&quot;">Hello, <em>big <b>wide</b></em> world!</h1>
<p>Click <a href="x?a=1&b=2" title='right here'>this&nbsp;link</a>,
   then run <code>ls -l &lt; x</code> on <span translate="no">Foo Bar</span>.<br>New line
<ul><li>One<li>Two <img src=cat.png alt="My cat"> cats</ul>
<pre>not  this</pre><textarea>nor this</textarea>
<input placeholder="Your name" value=x><p></p><p>&nbsp;</p><p>|</p>
<p>H<sub>2</sub>O, 5 &lt; 6 &unknown; 你好<b>世界</b> 🙂 <bdo dir=rtl>مرحبا</bdo></p>
</body></html>"""

MARKDOWN = """---
title: not this
---
# Hello *big* world #

Some **bold text** and `code here`, a [link to *us*](http://x.y/z_a "t"), see
<https://a.b> or https://c.d/e_f. A second line{hard}
and H<sub>2</sub>O, 2\\*3 &amp; more[^1]

> A quote **over
> two lines** ends `code
> here` too

- [ ] item ![My cat](cat.png) one
- item two
  goes on

  a second paragraph
1. [a ref][r] ~~gone~~ ***both*** snake_case 2 * 3

| Head | b \\| c |
|------|:------:|
| *x* y | `k` z |

Another heading
===============

```py
print("not this")
```

    nor this

<div>nor <b>this</b></div>

[^1]: The note. 你好 🙂 مرحبا

[r]: http://z "title"
""".replace("{hard}", "  ")

TSV = "id\ttext\tnote\r\n1\tHello there \tx\r\n2\t\ty\r\n\r\n3\t你好 🙂\t"

CSV = (
    "\ufeffid,text,note\r\n"
    '1,"say ""hi"", you", a\r\n'
    '2,"two\r\nlines","b"\r\n'
    "\r\n"
    '3,"",\r\n'
    '4,a 5" disk,c\r\n'
    "5,one"
)

JSONL = (
    '{"text": "Hello \\"you\\"", "id": 1}\r\n{"source":"caf\\u00e9"}\n\n{ "text" : "" }\n'
    '{"text": "a", "translation": "b"}\n{"text": "你好\\n🙂"}'
)
