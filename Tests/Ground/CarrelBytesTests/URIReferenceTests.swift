// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

struct `URI references` {
    // RFC 3986 §5.4
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func `resolve as RFC 3986 shows`(reference: String, target: String) {
        #expect(URIReference.resolve(reference, against: "http://a/b/c/d;p?q") == target)
    }

    @Test(
        arguments: [
            ("a", nil, "a"), ("a", "", "a"), ("a/b", "http://h", "http://h/a/b"), ("a", "list.m3u8", "a"),
            ("../a", "x/y/z", "x/a"), ("1.m4s", "../root/", "../root/1.m4s"), ("../../a", "b/c", "../a"), ("..", "../a/b", "../"),
            ("1:2", "http://h/", "http://h/1:2"), ("skd://k", "http://h/p", "skd://k"), ("data:,x", "http://h/p", "data:,x"),
        ] as [(String, String?, String)]
    )
    func `resolve against any base`(reference: String, base: String?, target: String) {
        #expect(URIReference.resolve(reference, against: base) == target)
    }
}
