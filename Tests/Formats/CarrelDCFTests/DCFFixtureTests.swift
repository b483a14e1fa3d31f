// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelJSON
import CarrelMP4
import CarrelTesting
import Testing

struct `DCF files of others` {
    @Test(arguments: ["epub.cbc", "epub.ctr", "mp3.cbc", "note.cbc", "note.ctr", "tiny.cbc", "tiny.ctr"])
    func `decrypt to their clear source`(name: String) throws {
        let oracle = try Oracles.media("dcf/\(name).dcf")
        let reader = BytesReader(try oracle.bytes)
        let file = try DCFFile(reader)
        let object = try #require(file.objects.first)
        #expect(file.objects.count == 1)
        #expect(file.version == 2)
        #expect(object.contentType == oracle.entry["content_type"]?.string)
        #expect(object.headers.cipher == (name.hasSuffix("cbc") ? .cbc : .counter))
        #expect(object.headers.isPadded == name.hasSuffix("cbc"))
        #expect(object.headers.contentID == "cid:shared/\(oracle.entry["clear_source"]?.string ?? "")")
        #expect(object.headers.rightsIssuer == "http://ri.example/rights?cid=shared")
        #expect(Hex.encode(object.payload.iv.bytes) == oracle.entry["keys"]?.array?.first?["iv_used"]?.string)
        let clear = try ClearPayloadReader(object.payload, of: reader, key: try oracle.key())
        #expect(clear.length == oracle.entry["plaintext_size"]?.int.map(Int64.init))
        var whole: [UInt8] = []
        try clear.forEachPiece(of: 1000) { whole.append(copying: $0) }
        #expect(sha256(whole) == oracle.entry["plaintext_sha256"]?.string)
        // any range alone
        for (from, count) in [(0, 1), (15, 2), (16, 16), (17, 100), (1, 0), (900, 60), (4000, 500)] {
            let range = Int64(min(from, whole.count))..<Int64(min(from + count, whole.count))
            #expect(try clear.readAll(range) == Array(whole[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
        #expect(try clear.read(clear.length - 1..<clear.length) == whole.suffix(1))
    }

    @Test func `hold several objects, encrypted and clear`() throws {
        let oracle = try Oracles.media("dcf/multi-object.dcf")
        let reader = BytesReader(try oracle.bytes)
        let file = try DCFFile(reader)
        let expected = try #require(oracle.entry["objects"]?.array)
        #expect(file.objects.map(\.headers.contentID) == expected.map { $0["content_id"]?.string })
        #expect(file.objects.map(\.headers.cipher) == [.cbc, .cbc, .none])
        #expect(
            file.objects[0].headers.textual == [
                DCFTextualHeader("Content-Name", "Two objects"), DCFTextualHeader("Content-Vendor", "Example"),
            ]
        )
        #expect(file.objects[0].headers.value(of: "content-vendor") == "Example")
        for (object, expected) in zip(file.objects, expected) {
            let clear = try ClearPayloadReader(
                object.payload,
                of: reader,
                key: object.headers.cipher == .none ? nil : try oracle.key()
            )
            #expect(sha256(try clear.readAll(0..<clear.length)) == expected["plaintext_sha256"]?.string)
        }
    }

    @Test(arguments: ["book-cbc", "book-ctr", "book-null"])
    func `of our own layout decrypt to the book`(name: String) throws {
        let bytes = try Fixtures.bytes("drm/dcf/expected.json")
        let expected = try JSON.parse(bytes.rawSpan)
        let key = Secret(try #require(Hex.decode(expected["key_hex"]?.string ?? "")))
        let reader = BytesReader(try Fixtures.bytes("drm/dcf/\(name).dcf"))
        let object = try #require(try DCFFile(reader).objects.first)
        #expect(object.contentType == expected["content_type"]?.string)
        #expect(object.headers.contentID == expected["content_id"]?.string)
        #expect(object.headers.rightsIssuer == expected["rights_issuer"]?.string)
        #expect(object.headers.value(of: "Content-Name") == "Fixture book")
        #expect(Int(object.headers.cipher.rawValue) == expected["files"]?["\(name).dcf"]?["method"]?.int)
        #expect(object.headers.clearLength == 3170)
        let clear = try ClearPayloadReader(object.payload, of: reader, key: key)
        let text = try Fixtures.bytes("drm/dcf/book.txt")
        #expect(try clear.readAll(0..<clear.length) == text)
        #expect(sha256(text) == expected["plaintext_sha256"]?.string)
    }

    @Test func `whose padding is wrong are refused where it is`() throws {
        let bytes = try Fixtures.bytes("drm/dcf/book-cbc-badpad.dcf")
        let reader = BytesReader(bytes)
        let object = try #require(try DCFFile(reader).objects.first)
        let key = Secret(try #require(Hex.decode("166634c675823c235a4a9446fad52e4d")))
        let clear = try ClearPayloadReader(object.payload, of: reader, key: key)
        // the blocks before the last are not in doubt
        #expect(try clear.read(0..<3152).count == 3152)
        let wrong = Malformed("padding is wrong (another key, or altered bytes)", at: bytes.count - 16)
        #expect(fault { _ = try clear.read(3000..<3170) } == wrong)
        var passed = 0
        #expect(fault { try clear.forEachPiece(of: 1024) { passed += $0.byteCount } } == wrong)
        #expect(passed == 3072)
    }

    @Test func `that are cut off are refused where they are`() throws {
        let reader = BytesReader(try Fixtures.bytes("drm/dcf/book-cbc-truncated.dcf"))
        #expect(fault { _ = try DCFFile(reader) } == Malformed("box odrm reaches past the end of the file", at: 20))
    }

    @Test func `have user data`() throws {
        let file = try DCFFile(BytesReader(try Fixtures.bytes("media/ext/mp4parser/file6141.odf")))
        let object = try #require(file.objects.first)
        #expect(file.objects.map(\.headers.contentID) == ["cid:cid6141", "cid:cid614x-1", "cid:cid614x-2"])
        #expect(object.contentType == "audio/x-mpeg")
        #expect(object.headers.cipher == .cbc)
        #expect(object.headers.isPadded)
        #expect(object.headers.clearLength == 191_808)
        #expect(object.headers.contentID == "cid:cid6141")
        #expect(object.headers.rightsIssuer.hasPrefix("http://localhost:8080/iop-server/offer/offers.cm?"))
        #expect(object.headers.textual.map(\.text) == ["id:cid6141", "creator:CoreMedia"])
        #expect(object.payload.encryptedLength == 191_824)
        #expect(
            object.userData.map(\.type) == [
                "titl", "dscp", "cprt", "auth", "icnu", "infu", "cvru", "lrcu", "gnre", "gnre", "perf", "rtng", "clsf", "kywd",
                "albm", "yrrc",
            ]
        )
        #expect(object.userData[0].text == "Title")
        #expect(object.userData[0].language == "eng")
        #expect(object.userData[4].text == "uri:abc")
        #expect(object.userData[4].language == nil)
        #expect(object.userData[8].language == "grk")
        #expect(object.userData[8].text?.hasPrefix("Τι ") == true)
        #expect(object.userData[9].text == "Genre")
        #expect(object.userData[14].text == "Album Title")
        #expect(object.userData[15].text == nil)
    }

    @Test func `are all read by a test`() throws {
        let known = [
            "media/dcf": [
                "av.pdcf-cbc.mp4", "av.pdcf-ctr.mp4", "epub.cbc.dcf", "epub.ctr.dcf", "mp3.cbc.dcf", "multi-object.dcf",
                "note.cbc.dcf",
                "note.ctr.dcf", "tiny.cbc.dcf", "tiny.ctr.dcf",
            ],
            "media/marlin": ["av.acbc.mp4", "av.acgk.mp4"],
            "media/isma": ["av.isma-iaec.mp4"],
            "media/ext/mp4parser": ["file6141.odf"],
            "drm/dcf": [
                "book-cbc-badpad.dcf", "book-cbc-truncated.dcf", "book-cbc.dcf", "book-ctr.dcf", "book-null.dcf", "book.txt",
                "expected.json",
            ],
        ]
        for (folder, files) in known { #expect(try FolderList.names(Fixtures.path(folder)) == files, "\(folder)") }
    }
}
