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

VTT = """WEBVTT - A short film\r
Kind: captions\r
Language: en\r
\r
STYLE\r
::cue(.loud) { color: red }\r
\r
REGION\r
id:left\r
width:40%\r
\r
NOTE This comment stays: 00:01\r
and so does its second line\r
\r
intro\r
00:01.000 --> 00:02.500 align:start position:10%\r
<v.loud Mary Ann>Where are <i.x>you</i> going,\r
my dear friend?\r
<v Tom>Home &amp; away!</v>\r
\r
2\r
01:00:03.000 --> 01:00:04.000\r
- Home!\r
- 2 &lt; 3,&nbsp;<c.yellow.bg_blue>I</c> agree\r
\r
00:00:05.000 --> 00:00:06.000\r
<00:00:05.000>La <00:00:05.400>la <b>la</b>\r
\r
00:00:07.000 --> 00:00:08.000\r
\r
NOTE\r
\r
00:00:09.000 --> 00:00:10.000 vertical:rl\r
<lang zh>你好，世界</lang> مرحبا"""

ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- Strings of the app -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2" xmlns:tools="http://schemas.android.com/tools">
    <string name="app_name" translatable="false">Notes</string>
    <string name="greeting">Hello, <b>%1$s</b>! It\'s a \"new\" day\n\nEnjoy it</string>
    <string name="quoted">"  It's   fine  "</string>
    <string name="size"><xliff:g id="size" example="4">%1$s</xliff:g> of %2$d&#160;files &amp; dirs</string>
    <string name="markup">Read &lt;a href=&quot;x.html&quot;>the manual&lt;/a> first\u2026</string>
    <string name="cdata"><![CDATA[<p>Don\'t <b>panic</b> & rest</p>]]></string>
    <string name="reference">@string/greeting</string>
    <string name="theme">?attr/colorPrimary</string>
    <string name="mail">\@home or <a href="https://example.org">away</a>? 100%% sure</string>
    <string name="empty"/>
    <!-- Colours -->
    <color name="red">#ff0000</color>
    <item name="typed" type="string">A typed item</item>
    <item name="alpha" type="dimen" format="float">0.5</item>
    <style name="Theme"><item name="android:text">Not a text</item></style>
    <integer-array name="numbers"><item>1</item></integer-array>
    <string-array name="days">
        <item>Monday</item>
        <item>@string/greeting</item>
    </string-array>
    <string-array name="codes" translatable="false"><item>one</item></string-array>
    <plurals name="songs">
        <item quantity="one">%d song found</item> <!-- one -->
        <item quantity="other">%d songs found</item>
    </plurals>
</resources>
"""

RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <xsd:schema id="root" xmlns="" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
    <xsd:element name="data"/>
  </xsd:schema>
  <resheader name="version">
    <value>2.0</value>
  </resheader>
  <assembly alias="System.Drawing" name="System.Drawing, Version=4.0.0.0" />
  <metadata name="$this.Localizable" type="System.Boolean, mscorlib"><value>True</value></metadata>
  <data name="Welcome" xml:space="preserve">
    <value>Welcome, {0}! You have {1:N0} &lt;b&gt;new&lt;/b&gt; messages
since {2:d MMM yyyy}.</value>
    <comment>Shown at the start</comment>
  </data>
  <data name="button1.Text" xml:space="preserve"><value>  Save &amp; close  </value></data>
  <data name="button1.ToolTip"><value><![CDATA[Closes <i>this</i> & that]]></value></data>
  <data name="Error.NotFound"><value>The file was not found</value></data>
  <data name="label.HeaderText" type="System.String, mscorlib"><value>Name of the file</value></data>
  <data name="button1.Size" type="System.Drawing.Size, System.Drawing"><value>75, 23</value></data>
  <data name="button1.Location" xml:space="preserve"><value>12, 12</value></data>
  <data name="Page.Url" xml:space="preserve"><value>Example page</value></data>
  <data name="&gt;&gt;button1.Name" xml:space="preserve"><value>button1</value></data>
  <data name="&gt;&gt;button1.Type" xml:space="preserve"><value>Windows Forms Button</value></data>
  <data name="Logo" mimetype="application/x-microsoft.net.object.binary"><value>iVBORw0K</value></data>
  <data name="Icon" type="System.Resources.ResXFileRef, System.Windows.Forms"><value>a.ico;x</value></data>
  <data name="Product"><value>Our Product</value><comment>{Locked} a brand</comment></data>
  <data name="Code"><value>Some code</value><comment>@Invariant</comment></data>
  <data name="Empty"><value /></data>
  <data name="Nothing"></data>
</root>
"""

STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <!-- The key is an identifier -->
    <key>%d files in %d folders</key>
    <dict>
        <key>NSStringLocalizedFormatKey</key>
        <string>%1$#@files@ in %2$#@folders@</string>
        <key>files</key>
        <dict>
            <key>NSStringFormatSpecTypeKey</key>
            <string>NSStringPluralRuleType</string>
            <key>NSStringFormatValueTypeKey</key>
            <string>ld</string>
            <key>zero</key>
            <string>No files</string>
            <key>one</key>
            <string>%ld file &amp; more</string>
            <key>other</key>
            <string>%ld files</string>
        </dict>
        <key>folders</key>
        <dict>
            <key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
            <key>NSStringFormatValueTypeKey</key><string>lu</string>
            <key>one</key><string>one folder</string>
            <key>other</key><string>%lu folders</string>
        </dict>
    </dict>
    <key>width</key>
    <dict>
        <key>NSStringVariableWidthRuleType</key>
        <dict><key>20</key><string>Copy</string><key>50</key><string>Copy the file</string></dict>
    </dict>
    <key>only</key>
    <dict><key>NSStringLocalizedFormatKey</key><string>%#@count@</string></dict>
</dict>
</plist>
"""
