// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelContentKeys
import CarrelTesting
import Testing

struct `A list of streams` {
    private func read(_ text: String) throws(StreamListError) -> StreamList { try StreamList(Array(text.utf8)) }

    private func failure(_ text: String) -> StreamListError? {
        do throws(StreamListError) {
            _ = try read(text)
            return nil
        } catch { return error }
    }

    @Test func `is read as the sample player has it, with what is protected`() throws {
        let path = try Fixtures.path("drm/axinom/Streams.json")
        let list = try StreamList(try #require(Fixtures.bytes(at: path)))
        #expect(list.entries.count == 4)
        #expect(list.entries.map(\.isProtected) == [false, false, true, true])
        let entry = try #require(list["Axinom demo video - single key (HLS; cbcs)"])
        #expect(entry.videoURL.hasSuffix("/Encrypted_Cbcs/Manifest.m3u8"))
        #expect(entry.licenseServer == "https://drm-fairplay-licensing.axtest.net/AcquireLicense")
        #expect(entry.certificateURL == "https://vtb.axinom.com/FPScert/fairplay.cer")
        let token = try #require(entry.licenseToken)
        #expect(token.hasPrefix("eyJ"))
        #expect(!"\(entry)".contains(token) && !String(reflecting: entry).contains(token.prefix(40)))
        #expect(list.entries[0].licenseToken == nil && list.entries[0].licenseServer == nil)
        for entry in list.entries { try entry.check() }
    }

    @Test(arguments: [
        ("", "streams.malformed", "cannot be read"), ("{}", "streams.malformed", "an object"),
        ("[1]", "streams.entry", "entry 1 is not an object, but a number"),
        (#"[{"videoUrl":"https://a/b"}]"#, "streams.entry", "entry 1, field title: it is missing or empty"),
        (#"[{"title":"A"}]"#, "streams.entry", "entry 1 ('A'), field videoUrl: it is missing or empty"),
        (#"[{"title":7,"videoUrl":"https://a/b"}]"#, "streams.entry", "entry 1, field title: it is not a string, but a number"),
        (
            #"[{"title":"A","videoUrl":["https://a/b"]}]"#, "streams.entry",
            "entry 1 ('A'), field videoUrl: it is not a string, but an array"
        ),
        (#"[{"title":"A","videoUrl":"ftp://a/b"}]"#, "streams.entry", "entry 1 ('A'), field videoUrl: it is not an address"),
        (
            #"[{"title":"A","videoUrl":"https://a/b","licenseServer":null}]"#, "streams.entry",
            "field licenseServer: it is not a string, but null"
        ),
        (
            #"[{"title":"A","videoUrl":"https://a/b","licenceServer":"https://a"}]"#, "streams.entry",
            "has the unknown field 'licenceServer'"
        ),
        (
            #"[{"title":"A","videoUrl":"https://a/b","allowInsecure":"yes"}]"#, "streams.entry",
            "field allowInsecure: it is neither true nor false, but a string"
        ),
        (
            #"[{"title":"A","videoUrl":"https://a/b","licenseToken":"a\nb"}]"#, "streams.entry",
            "field licenseToken: it is not visible ASCII"
        ),
        (#"[{"title":"A\u0007","videoUrl":"https://a/b"}]"#, "streams.entry", "it has control characters"),
        (
            #"[{"title":"A","videoUrl":"https://a/b"},{"title":"B","videoUrl":"https://a/b"},{"title":"A","videoUrl":"https://a/c"}]"#,
            "streams.repeated-title", "entry 3 ('A'), field title: entry 1 has the same title"
        ),
        (#"[{"title":"A","videoUrl":"https://a/b"}"#, "streams.malformed", "cannot be read"),
        (String(repeating: "[", count: 100_000), "streams.malformed", "cannot be read"),
    ])
    func `is refused with the entry and the field`(text: String, code: String, words: String) throws {
        let error = try #require(failure(text))
        #expect(error.code.identifier == code)
        #expect(error.message.contains(words), "\(error.message)")
        #expect(!error.message.hasSuffix(".") && error.message.first?.isUppercase != true)
    }

    @Test func `has bounds: 10 MB, a long title and too many entries are errors`() throws {
        let large = try #require(failure("[" + String(repeating: " ", count: 10_000_000) + "]"))
        #expect(large.code == .tooLarge && large.message.contains("10000002 bytes"))
        let title = String(repeating: "a", count: 2000)
        #expect(failure(#"[{"title":"\#(title)","videoUrl":"https://a/b"}]"#)?.message.contains("more than 1024 bytes") == true)
        let many = "[" + String(repeating: "{},", count: 10_000) + "{}]"
        #expect(failure(many)?.code == .tooLarge)
        #expect(failure("[" + String(repeating: "0,", count: 200_000) + "0]")?.code == .malformed)
    }

    @Test func `allows plain http on this machine, by its own field, or by the caller`() throws {
        func entry(_ url: String, _ server: String = "", _ allows: Bool = false) throws -> StreamEntry {
            try #require(
                read(#"[{"title":"A","videoUrl":"\#(url)","licenseServer":"\#(server)","allowInsecure":\#(allows)}]"#).entries
                    .first
            )
        }
        try entry("http://127.0.0.1:80/a.m3u8").check()
        try entry("http://[::1]/a.m3u8").check()
        for (url, server, field) in [
            ("http://example.org/a", "", "videoUrl"), ("https://example.org/a", "http://keys.example", "licenseServer"),
        ] {
            let refused = try entry(url, server)
            do throws(StreamListError) {
                try refused.check()
                Issue.record("\(url) is allowed")
            } catch {
                #expect(error.code == .insecure && error.message.contains("'A', field \(field)"))
            }
            try entry(url, server).check(allowsPlainHTTP: true)
            try entry(url, server, true).check()
        }
    }
}
