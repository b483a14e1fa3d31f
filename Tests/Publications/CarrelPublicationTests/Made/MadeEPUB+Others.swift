// SPDX-License-Identifier: Apache-2.0

extension MadeEPUB {
    /// Every page laid out by its publisher, read from right to left.
    static var fixedLayout: [String: [UInt8]] {
        let viewport = #"<meta name="viewport" content="width=600, height=800"/>"#
        let package = """
            <?xml version="1.0" encoding="UTF-8"?>
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">\(identifier)</dc:identifier>
            <dc:title>Pages</dc:title><dc:language>ja</dc:language><meta property="dcterms:modified">2021-03-04T05:06:07Z</meta>
            <meta property="rendition:layout">pre-paginated</meta><meta property="rendition:spread">landscape</meta>
            <meta property="rendition:orientation">portrait</meta></metadata>
            <manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
            <item id="p1" href="p1.xhtml" media-type="application/xhtml+xml"/><item id="p2" href="p2.svg" media-type="image/svg+xml"/>
            <item id="cover" href="cover.png" media-type="image/png" properties="cover-image"/></manifest>
            <spine page-progression-direction="rtl"><itemref idref="p1" properties="page-spread-right"/>
            <itemref idref="p2" properties="page-spread-left"/></spine></package>
            """
        let svg =
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 800"><title>Two</title><rect width="600" height="800"/></svg>"#
        return [
            "EPUB/package.opf": Array(package.utf8),
            "EPUB/nav.xhtml": page(
                "Contents",
                head: viewport,
                body:
                    #"<nav epub:type="toc"><ol><li><a href="p1.xhtml">Page</a></li><li><a href="p2.svg">Two</a></li></ol></nav>"#
            ),
            "EPUB/p1.xhtml": page("Page", head: viewport, body: #"<p><img src="cover.png" alt="a dot"/></p>"#),
            "EPUB/p2.svg": Array(svg.utf8),
            "EPUB/cover.png": picture,
        ]
    }

    /// EPUB 2, with NCX, guide, a cover that a `meta` names, and roles as attributes.
    static var version2: [String: [UInt8]] {
        func page(_ title: String, _ body: String) -> [UInt8] {
            Array(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">
                <html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>\(title)</title></head><body>\(body)</body></html>
                """.utf8
            )
        }
        let package = """
            <?xml version="1.0" encoding="UTF-8"?>
            <package xmlns="http://www.idpf.org/2007/opf" version="2.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">
            <dc:identifier id="id" opf:scheme="UUID">\(identifier)</dc:identifier><dc:title>Older</dc:title><dc:language>en</dc:language>
            <dc:creator opf:role="aut" opf:file-as="Author, Ada">Ada Author</dc:creator>
            <dc:contributor opf:role="trl">Tess Lator</dc:contributor><dc:subject>Sea, Wind</dc:subject>
            <dc:date opf:event="publication">1999-01-02</dc:date><dc:date opf:event="modification">2001-02-03</dc:date>
            <meta name="cover" content="cover"/><meta name="calibre:series" content="Series"/>
            <meta name="calibre:series_index" content="3"/></metadata>
            <manifest><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
            <item id="cover" href="cover.png" media-type="image/png"/><item id="c1" href="c1.html" media-type="application/xhtml+xml"/>
            <item id="c2" href="c2.html" media-type="application/xhtml+xml"/></manifest>
            <spine toc="ncx"><itemref idref="c1"/><itemref idref="c2" linear="no"/></spine>
            <guide><reference type="text" title="Start" href="c1.html"/><reference type="toc" title="Contents" href="c2.html#toc"/></guide>
            </package>
            """
        let ncx = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">
            <ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><head><meta name="dtb:uid" content="\(identifier)"/></head>
            <docTitle><text>Older</text></docTitle><navMap>
            <navPoint id="n1" playOrder="1"><navLabel><text>One</text></navLabel><content src="c1.html"/>
            <navPoint id="n2" playOrder="2"><navLabel><text>Two</text></navLabel><content src="c2.html#toc"/></navPoint></navPoint></navMap>
            <pageList><navLabel><text>Pages</text></navLabel><pageTarget id="p1" type="normal" value="1" playOrder="3">
            <navLabel><text>1</text></navLabel><content src="c1.html#p1"/></pageTarget></pageList></ncx>
            """
        return [
            "EPUB/package.opf": Array(package.utf8), "EPUB/toc.ncx": Array(ncx.utf8), "EPUB/cover.png": picture,
            "EPUB/c1.html": page("One", #"<p id="p1">One&#160;word.</p><p><img src="cover.png" alt="a dot"/></p>"#),
            "EPUB/c2.html": page("Two", ##"<h1 id="toc">Contents</h1><p><a href="c1.html">One</a></p>"##),
        ]
    }
}
