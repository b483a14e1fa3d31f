// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// EPUB publications with every feature that a reader has to know; EPUBCheck finds nothing wrong with them.
enum MadeEPUB {
    static let identifier = "urn:uuid:5a4c9f2e-0f2b-4a57-9c1f-7f4f5f1d8a01"
    /// The smallest picture that there is.
    static let picture: [UInt8] = [
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0,
        0,
        0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 5, 0, 1,
        0xff, 0x56, 0xc7, 0x2f, 0x0d, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ]
    static let font = Array("OTTO".utf8) + (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 4) }
    static let sound = [0xff, 0xfb, 0x90, 0x64] + (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 13) }

    /// A font as stored in the container (EPUB 3.3 §4.4.3).
    static var obscuredFont: [UInt8] {
        let identifier = Array(identifier.utf8)
        let key = SHA1.hash(identifier.rawSpan)
        return font.enumerated().map { $0 < 1040 ? $1 ^ key[$0 % 20] : $1 }
    }

    static func archive(_ files: [String: [UInt8]]) -> MadeArchive {
        let rest = files.sorted { $0.key < $1.key }.map { MadeArchive.Entry($0.key, $0.value, deflated: true) }
        let container = MadeArchive.Entry("META-INF/container.xml", Array(MadeArchive.container.utf8), deflated: true)
        return MadeArchive([MadeArchive.Entry("mimetype", "application/epub+zip"), container] + rest)
    }

    static func page(_ title: String, head: String = "", body: String) -> [UInt8] {
        Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE html>
            <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xml:lang="en" lang="en">
            <head><title>\(title)</title>\(head)</head><body>\(body)</body></html>
            """.utf8
        )
    }

    /// Reflowable, with a page laid out by its publisher: all navigation, overlays, accessibility, an obscured font, fallbacks.
    static var complete: [String: [UInt8]] {
        let styled = #"<link rel="stylesheet" type="text/css" href="../style.css"/>"#
        return [
            "EPUB/package.opf": Array(package.utf8),
            "EPUB/nav.xhtml": page("Contents", body: navigation),
            "EPUB/toc.ncx": Array(ncx.utf8),
            "EPUB/cover.png": picture,
            "EPUB/text/c1.xhtml": page(
                "One",
                head: styled,
                body:
                    ##"<section><h1 id="h">One</h1><p id="p1"><span id="pg1" epub:type="pagebreak" role="doc-pagebreak" aria-label="1"/>"##
                    + ##"Call me something.</p><p id="p2"><span id="pg2" epub:type="pagebreak" role="doc-pagebreak" aria-label="2"/>Else.</p>"##
                    + ##"<figure id="f1"><img src="../cover.png" alt="a dot"/></figure></section>"##
            ),
            "EPUB/text/c2é.xhtml": page(
                "Two",
                head: styled + #"<script type="text/javascript" src="../s.js"></script>"#,
                body: ##"<h1>Two</h1><math xmlns="http://www.w3.org/1998/Math/MathML" alttext="x"><mi>x</mi></math>"##
                    + ##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><title>t</title><rect width="1" height="1"/></svg>"##
                    + ##"<table id="t1"><tr><td>a</td></tr></table>"##
            ),
            "EPUB/text/plate.xhtml": page(
                "Plate",
                head: #"<meta name="viewport" content="width=600, height=800"/>"#,
                body: #"<p><img src="../cover.png" alt="a dot"/></p>"#
            ),
            "EPUB/text/notes.xhtml": page("Notes", body: "<p>Notes.</p>"),
            "EPUB/extra.pdf": Array("%PDF-1.4\n%%EOF\n".utf8),
            "EPUB/text/extra.xhtml": page("Extra", body: "<p>The same as words.</p>"),
            "EPUB/style.css": Array("@font-face { font-family: F; src: url(fonts/f.otf); } body { font-family: F; }".utf8),
            "EPUB/s.js": Array("var x = 1;".utf8),
            "EPUB/fonts/f.otf": obscuredFont,
            "EPUB/audio/c1.mp3": sound,
            "EPUB/audio/c1.smil": Array(overlay.utf8),
            "META-INF/encryption.xml": Array(encryption.utf8),
        ]
    }

    private static let package = """
        <?xml version="1.0" encoding="UTF-8"?>
        <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
        <metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
        <dc:identifier id="id">\(identifier)</dc:identifier>
        <dc:title id="t">The Whole</dc:title><meta refines="#t" property="title-type">main</meta>
        <meta refines="#t" property="file-as">Whole, The</meta>
        <meta refines="#t" property="alternate-script" xml:lang="fr">Le Tout</meta>
        <dc:title id="s">And Its Parts</dc:title><meta refines="#s" property="title-type">subtitle</meta>
        <dc:language>en</dc:language><dc:language>fr</dc:language>
        <dc:creator id="a">Ada Author</dc:creator><meta refines="#a" property="role" scheme="marc:relators">aut</meta>
        <meta refines="#a" property="file-as">Author, Ada</meta>
        <dc:contributor id="i">Ina Ink</dc:contributor><meta refines="#i" property="role" scheme="marc:relators">ill</meta>
        <dc:contributor id="x">Ed Itor</dc:contributor><meta refines="#x" property="role" scheme="marc:relators">edt</meta>
        <dc:publisher>House</dc:publisher><dc:date>2020-02-03</dc:date><dc:rights>All</dc:rights><dc:source>urn:isbn:9780000000002</dc:source>
        <dc:subject id="sub">Sea</dc:subject><meta refines="#sub" property="authority">BISAC</meta><meta refines="#sub" property="term">FIC047000</meta>
        <dc:description>All of it.</dc:description>
        <meta property="dcterms:modified">2021-03-04T05:06:07Z</meta>
        <meta id="ser" property="belongs-to-collection">Series</meta><meta refines="#ser" property="collection-type">series</meta>
        <meta refines="#ser" property="group-position">2</meta>
        <meta id="set" property="belongs-to-collection">Set</meta><meta refines="#set" property="collection-type">set</meta>
        <meta property="rendition:layout">reflowable</meta><meta property="rendition:orientation">auto</meta>
        <meta property="rendition:spread">auto</meta><meta property="rendition:flow">paginated</meta>
        <meta property="media:duration">0:00:04.500</meta><meta refines="#c1-smil" property="media:duration">4.5s</meta>
        <meta property="media:narrator">Nora Narrator</meta><meta property="media:active-class">now</meta>
        <meta property="schema:accessMode">textual</meta><meta property="schema:accessMode">visual</meta>
        <meta property="schema:accessModeSufficient">textual,visual</meta><meta property="schema:accessModeSufficient">textual</meta>
        <meta property="schema:accessibilityFeature">alternativeText</meta>
        <meta property="schema:accessibilityFeature">synchronizedAudioText</meta>
        <meta property="schema:accessibilityHazard">none</meta><meta property="schema:accessibilitySummary">For all.</meta>
        <link rel="dcterms:conformsTo" href="http://www.idpf.org/epub/a11y/accessibility-20170105.html#wcag-aa"/>
        <meta id="cert" property="a11y:certifiedBy">Checkers</meta>
        <meta refines="#cert" property="a11y:certifierCredential">Sworn</meta>
        </metadata>
        <manifest>
        <item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
        <item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
        <item id="cover" href="cover.png" media-type="image/png" properties="cover-image"/>
        <item id="c1" href="text/c1.xhtml" media-type="application/xhtml+xml" media-overlay="c1-smil"/>
        <item id="c2" href="text/c2%C3%A9.xhtml" media-type="application/xhtml+xml" properties="mathml scripted svg"/>
        <item id="plate" href="text/plate.xhtml" media-type="application/xhtml+xml"/>
        <item id="notes" href="text/notes.xhtml" media-type="application/xhtml+xml"/>
        <item id="pdf" href="extra.pdf" media-type="application/pdf" fallback="extra"/>
        <item id="extra" href="text/extra.xhtml" media-type="application/xhtml+xml"/>
        <item id="css" href="style.css" media-type="text/css"/><item id="js" href="s.js" media-type="application/javascript"/>
        <item id="font" href="fonts/f.otf" media-type="font/otf"/><item id="c1-mp3" href="audio/c1.mp3" media-type="audio/mpeg"/>
        <item id="c1-smil" href="audio/c1.smil" media-type="application/smil+xml"/>
        </manifest>
        <spine toc="ncx" page-progression-direction="ltr"><itemref idref="c1"/><itemref idref="c2"/>
        <itemref idref="plate" properties="rendition:layout-pre-paginated rendition:spread-none rendition:page-spread-center"/>
        <itemref idref="pdf"/><itemref idref="notes" linear="no"/><itemref idref="nav" linear="no"/></spine>
        <collection role="http://example.org/parts"><link href="text/c1.xhtml"/></collection>
        </package>
        """

    private static let navigation = """
        <nav epub:type="toc" id="toc"><h1>Contents</h1><ol><li><a href="text/c1.xhtml">One <em>and</em> only</a></li>
        <li><span>Rest</span><ol><li><a href="text/c2%C3%A9.xhtml">Two</a></li><li><a href="text/plate.xhtml">Plate</a></li>
        <li><a href="text/notes.xhtml">Notes</a></li></ol></li></ol></nav>
        <nav epub:type="landmarks" hidden="hidden"><ol><li><a epub:type="toc" href="#toc">Contents</a></li>
        <li><a epub:type="bodymatter" href="text/c1.xhtml">Start</a></li></ol></nav>
        <nav epub:type="page-list" hidden="hidden"><ol><li><a href="text/c1.xhtml#pg1">1</a></li><li><a href="text/c1.xhtml#pg2">2</a></li></ol></nav>
        <nav epub:type="loi"><h2>Figures</h2><ol><li><a href="text/c1.xhtml#f1">A dot</a></li></ol></nav>
        <nav epub:type="lot"><h2>Tables</h2><ol><li><a href="text/c2%C3%A9.xhtml#t1">A table</a></li></ol></nav>
        """

    private static let ncx = """
        <?xml version="1.0" encoding="UTF-8"?>
        <ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><head><meta name="dtb:uid" content="\(identifier)"/></head>
        <docTitle><text>The Whole</text></docTitle><navMap><navPoint id="n1" playOrder="1"><navLabel><text>Old one</text></navLabel>
        <content src="text/c1.xhtml"/></navPoint></navMap></ncx>
        """

    private static let overlay = """
        <smil xmlns="http://www.w3.org/ns/SMIL" xmlns:epub="http://www.idpf.org/2007/ops" version="3.0"><body>
        <par id="s1"><text src="../text/c1.xhtml#p1"/><audio src="c1.mp3" clipBegin="0s" clipEnd="2s"/></par>
        <par id="s2"><text src="../text/c1.xhtml#p2"/><audio src="c1.mp3" clipBegin="2s" clipEnd="4.5s"/></par></body></smil>
        """

    private static let encryption = """
        <?xml version="1.0" encoding="UTF-8"?>
        <encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#">
        <enc:EncryptedData><enc:EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/><enc:CipherData>
        <enc:CipherReference URI="EPUB/fonts/f.otf"/></enc:CipherData></enc:EncryptedData></encryption>
        """
}
