// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

struct `The beginning of media` {
    private static let types = [
        "ftyp", "styp", "moov", "moof", "mdat", "sidx", "ssix", "emsg", "prft", "uuid", "free", "skip", "wide",
    ]

    private static func box(_ type: String, _ count: Int = 8) -> [UInt8] {
        [0, 0, 0, UInt8(8 + count)] + Array(type.utf8) + [UInt8](repeating: 0, count: count)
    }

    @Test(arguments: types) func `is told by any box that may come before a movie or a fragment`(type: String) {
        #expect(MediaBeginning.matches(Self.box(type)))
        // eight bytes that another key makes of a box
        #expect(!MediaBeginning.matches(Self.box(type).map { $0 ^ 0x55 }))
    }

    @Test(arguments: ["uuid", "free", "skip", "wide", "mdat"]) func `of a single file is one of these boxes`(type: String)
        async throws
    {
        let fixture = try #require(ProtectedFixture.all.first { $0.name == "cenc/av.cbcs.mp4" })
        let folder = TemporaryDirectory()
        _ = folder.write("film.mp4", Self.box(type, 24) + (try Fixtures.bytes("media/cenc/av.cbcs.mp4")))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(folder.file("film.mp4"), .singleFile, keys: fixture.keys)
        let segments = try await ProxyRun.segments(of: session)
        #expect(!segments.isEmpty)
        for segment in segments { #expect(try await ProxyRun.get(segment).status == 200) }
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
