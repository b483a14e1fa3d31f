// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelPackager
import Testing

struct `Segments made side by side` {
    @Test(arguments: SegmentForm.allCases)
    func `are what they are alone`(form: SegmentForm) throws {
        let short = try Media(try Media.mp3, frames: Media.mp3Frames(1000))
        let long = try Media(try Media.mp3, frames: Media.mp3Frames(900, kilobits: [128, 32, 320]))
        let wanted = [(short, 0), (long, 0), (short, 1), (long, 1), (short, 2), (long, 2)]
        let keys = wanted.indices.map { i in Secret([UInt8](repeating: UInt8(i), count: 16)) }
        let streams = try wanted.enumerated().map { i, wanted in
            try SegmentStream(
                index: wanted.0.index,
                number: wanted.1,
                form: form,
                key: keys[i],
                input: BytesInput(wanted.0.bytes, most: 5000)
            )
        }
        let made = try makeTogether(streams)
        for (i, (media, number)) in wanted.enumerated() {
            #expect(made[i] == (try media.segment(number, form, key: keys[i])), "segment \(number) of the \(i)th")
        }
    }

    @Test(arguments: SegmentForm.allCases)
    func `may be in the clear among others`(form: SegmentForm) throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(400))
        let key = Secret([UInt8](repeating: 7, count: 16))
        let streams = try [key, nil, key].map {
            try SegmentStream(index: media.index, number: 0, form: form, key: $0, input: BytesInput(media.bytes))
        }
        let made = try makeTogether(streams)
        #expect(made[1] == (try media.segment(0, form)))
        #expect(made[0] == made[2])
        #expect(made[0] == (try media.segment(0, form, key: key)))
    }

    @Test(arguments: SegmentForm.allCases)
    func `notice media that is not what the index says, before anything is encrypted`(form: SegmentForm) throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(400))
        let stream = try SegmentStream(
            index: media.index,
            number: 0,
            form: form,
            key: Secret([UInt8](repeating: 7, count: 16)),
            input: BytesInput(Array(media.bytes.prefix(50_000)))
        )
        let caught = #expect(throws: PackagerError.self) { try makeTogether([stream]) }
        #expect(caught?.code == .mediaTruncated)
        let again = #expect(throws: PackagerError.self) { try makeTogether([stream]) }
        #expect(again?.code == .failedBefore)
    }

    @Test func `another stream of the same segment begins at its beginning`() throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(400))
        let key = Secret([UInt8](repeating: 7, count: 16))
        let first = try SegmentStream(index: media.index, number: 0, form: .packed, key: key, input: BytesInput(media.bytes))
        let whole = try readAll(first)
        #expect(try readAll(SegmentStream(restarting: first)) == whole)
    }
}

private func makeTogether(_ streams: [SegmentStream]) throws -> [[UInt8]] {
    var rooms = streams.map { [UInt8](repeating: 0, count: $0.length) }
    for i in streams.indices {
        try unsafe rooms[i].withUnsafeMutableBytes { room in
            var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
            try streams[i].draft(into: &out)
            #expect(unsafe out.finalize(for: room) == streams[i].length)
        }
    }
    // in one piece of memory, so that all stay where they are
    var memory = rooms.flatMap(\.self)
    try unsafe memory.withUnsafeMutableBytes { memory in
        var at = 0
        var drafts: [SegmentStream.Draft] = []
        for stream in streams {
            let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[at..<at + stream.length])
            unsafe drafts.append(SegmentStream.Draft(of: stream, in: bytes))
            at += stream.length
        }
        try SegmentStream.encrypt(drafts)
    }
    var rest = memory[...]
    return streams.map { stream in
        defer { rest = rest.dropFirst(stream.length) }
        return Array(rest.prefix(stream.length))
    }
}
