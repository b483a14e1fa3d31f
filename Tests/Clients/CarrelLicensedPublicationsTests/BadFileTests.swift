// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelPlayerTesting
import CarrelPublication
import CarrelRights
import CarrelTesting
import Testing

struct `A damaged or hostile DCF` {
    /// Opens a file within a second, and says why it was refused; nil if it was opened.
    private func refusal(_ bytes: [UInt8], _ book: BookWorld) async throws -> String? {
        let path = book.write("bad.dcf", bytes)
        let start = ContinuousClock.now
        var message: String?
        do throws(Publication.OpeningError) {
            let publication = try await book.open(path)
            message = publication.protectionErrorMessage
            publication.close()
        } catch {
            message = error.message
        }
        #expect(ContinuousClock.now - start < .seconds(1))
        return message
    }

    @Test func `is refused with a reason`() async throws {
        let book = try await BookWorld()
        try await book.license()
        let whole = try BookWorld.dcf(try await BookWorld.epub(), cipher: .cbc)
        let object = try #require(try DCFFile(BytesReader(whole)).objects.first)
        let start = Int(object.payload.start)
        #expect(try await refusal(whole, book) == nil)
        for count in [13, 40, start - 20, start + 5, whole.count / 2, whole.count - 1] {
            let message = try await refusal(Array(whole.prefix(count)), book)
            #expect(message?.contains("damaged") == true, "\(count) bytes: \(message ?? "opened")")
        }
        func changed(_ place: Int, _ bytes: [UInt8]) -> [UInt8] {
            var file = whole
            file.replaceSubrange(place..<place + bytes.count, with: bytes)
            return file
        }
        let huge: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0]
        let lengths = [
            // of odrm, of the headers, of the data
            changed(Int(object.start) + 8, huge), changed(Int(object.start) + 20, [0xff, 0xff, 0xff, 0xff]),
            changed(start - 16 - 20, huge), changed(start - 16 - 8, huge),
        ]
        for (number, file) in lengths.enumerated() {
            let message = try await refusal(file, book)
            #expect(message?.contains("damaged") == true, "length \(number): \(message ?? "opened")")
        }
        // padding, which nothing else protects here
        var untagged = try BookWorld.dcf(try await BookWorld.epub(), cipher: .cbc, isTagged: false)
        untagged[untagged.count - 17] ^= 1
        let message = try await refusal(untagged, book)
        #expect(message?.contains("padding is wrong") == true, "\(message ?? "opened")")
    }

    @Test func `of the fixtures opens or is refused as their table says`() async throws {
        let table = try Fixtures.bytes("drm/dcf/expected.json")
        let expected = try JSON.parse(table.rawSpan)
        let key = Secret(try #require(expected["key_hex"]?.string.flatMap { Hex.decode($0) }))
        let book = try await BookWorld()
        try await book.license(content: "cid:book-42", kid: CarrelRights.KeyID(label: "book-42"), key: key)
        let clear = try Fixtures.bytes("drm/dcf/book.txt")
        var tested: Set<String> = ["book.txt", "expected.json"]
        for (name, facts) in try #require(expected["files"]?.object) {
            tested.insert(name)
            let path = try Fixtures.path("drm/dcf/\(name)")
            let source = try await FileSource(path: path)
            do {
                var keys = GivenKeys()
                keys.add(key, for: nil)
                let stream = try await MediaStream.open(source, as: .dcf(), keys: keys)
                let bytes = try await stream.read(0..<stream.size)
                #expect(facts["error"] == nil && bytes == clear, "\(name)")
                // a text is no EPUB, which its header says it is
                let error = await #expect(throws: Publication.OpeningError.self) { try await book.open(path) }
                #expect(error?.code == .parsingFailed && error?.message.contains("damaged") == false, "\(name)")
            } catch {
                #expect(facts["error"] != nil && error is Malformed, "\(name): \(error)")
                let refusal = await #expect(throws: Publication.OpeningError.self) { try await book.open(path) }
                #expect(refusal?.code == .parsingFailed, "\(name)")
            }
        }
        let folder = try Fixtures.path("drm/dcf/expected.json").split(separator: "/").dropLast().joined(separator: "/")
        let names = try await checkProcess(["ls", "/\(folder)"]).split(separator: "\n").map(String.init)
        #expect(Set(names) == tested)
    }
}
