// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `The clear samples of a track` {
    static func digests(_ file: MP4File, _ protection: FileProtection) throws -> [String: String] {
        var digests: [String: String] = [:]
        for (kind, handler) in [("v", "vide"), ("a", "soun")] {
            guard let track = file.tracks.first(where: { $0.kind == handler }) else { continue }
            let reader = try ClearTrackReader(track, of: file, protection)
            var hash = SHA256.Stream()
            while try reader.next({ _, bytes, range in hash.update(bytes.bytes.extracting(range)) }) != nil {}
            digests[kind] = Hex.encode(hash.finish())
        }
        return digests
    }

    static let files = ClearSamplesFixtures.files

    @Test(arguments: files)
    func `equal the original's, whatever the protection`(fixture: ProtectedFixture) async throws {
        let file = try MP4File(BytesReader(try Fixtures.bytes("media/\(fixture.name)")))
        let digests = try Self.digests(file, try await FileProtection(file, from: fixture.keys))
        var compared = 0
        for kind in ["v", "a"] {
            guard let expected = fixture.samples(kind) else { continue }
            #expect(digests[kind] == expected)
            compared += 1
        }
        #expect(compared > 0)
    }

    @Test func `need the keys, and the right ones where the format tells`() async throws {
        let names =
            [
                "cenc/av.cenc.mp4": (missing: MediaError.Code.missingKey, wrong: nil),
                "dcf/av.pdcf-cbc.mp4": (.missingKey, "bytes.malformed"),
                "marlin/av.acbc.mp4": (.missingKey, "media.wrong-key"),
                "marlin/av.acgk.mp4": (.missingKey, "media.wrong-key"),
            ] as [String: (missing: MediaError.Code, wrong: String?)]
        for (name, codes) in names {
            let file = try MP4File(BytesReader(try Fixtures.bytes("media/\(name)")))
            await #expect(throws: MediaError(codes.missing, "")) { _ = try await FileProtection(file, from: GivenKeys()) }
            var keys = GivenKeys()
            keys.add(Secret([UInt8](repeating: 7, count: 16)), for: nil)
            keys.add(Secret([UInt8](repeating: 7, count: 16)), for: name.contains("acgk") ? .group("") : nil)
            guard let wrong = codes.wrong else { continue }
            do {
                _ = try Self.digests(file, try await FileProtection(file, from: keys))
                Issue.record("\(name) is read with a wrong key")
            } catch let error as MediaError {
                #expect(error.code.identifier == wrong, "\(name): \(error)")
            } catch let error as Malformed {
                #expect(error.code.identifier == wrong, "\(name): \(error)")
            }
        }
    }
}
