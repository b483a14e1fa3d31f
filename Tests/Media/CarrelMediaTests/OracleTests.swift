// SPDX-License-Identifier: Apache-2.0

import ProtectedMedia
import Testing

struct `The oracles of the fixtures` {
    @Test func `are all read by a test`() throws {
        try #require(!ProtectedFixture.all.isEmpty)
        var read = Set([try ProtectedFixture.sampleCounter.name, try ProtectedFixture.sampleStream.name])
        let lists = [
            ProtectedFixture.samples, ProtectedFixture.payloads, ProtectedFixture.wholeSegments, ProtectedFixture.aes256,
            ProtectedFixture.dash, ProtectedFixture.segmentEncryption,
        ]
        for list in lists {
            #expect(!list.isEmpty)
            read.formUnion(list.map(\.name))
        }
        #expect(ProtectedFixture.all.map(\.name).filter { !read.contains($0) } == [])
    }
}
