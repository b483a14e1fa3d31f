// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelPackager
import CarrelWebAPI

/// Sends a segment, or a range of it, while it is being generated.
///
/// CBC has no random access for writing: the bytes before a range are generated and discarded.
final class SegmentBody: GroupedBodySource, @unchecked Sendable {  // one connection's thread reads, as BodySource promises
    private let stream: SegmentStream
    private var skip: Int
    private var left: Int

    private init(_ stream: SegmentStream, _ range: Range<Int64>) {
        self.stream = stream
        skip = Int(range.lowerBound)
        left = range.count
    }

    func read(into out: inout OutputRawSpan) throws {
        if skip > 0 {
            try stream.skip(skip)
            skip = 0
        }
        guard left > 0 else { return }
        let before = out.byteCount
        try stream.read(into: &out)
        left -= out.byteCount - before
        // A range may end inside the last block that was made.
        if left < 0 {
            out.removeLast(-left)
            left = 0
        }
    }

    // Whole segments that are wanted at the same moment are encrypted side by side.

    var group: any BodyGroup { SegmentGroup.shared }

    func draft(into out: inout OutputRawSpan) throws {
        try stream.draft(into: &out)
    }

    private final class SegmentGroup: BodyGroup {
        static let shared = SegmentGroup()

        func finish(_ drafts: [BodyDraft]) throws {
            try SegmentStream.encrypt(
                drafts.lazy.compactMap { draft in
                    guard let body = draft.source as? SegmentBody else { return nil }
                    return unsafe SegmentStream.Draft(of: body.stream, in: draft.bytes)
                }
            )
        }
    }

    static func response(
        _ stream: SegmentStream,
        mediaType: String,
        etag: String,
        request: HTTPRequest
    ) -> HTTPResponse {
        HTTPResponse.serving(
            Representation(length: Int64(stream.length), contentType: mediaType, etag: etag) {
                let isWhole = $0.count == stream.length
                return isWhole
                    ? .grouped(length: $0.count, SegmentBody(stream, $0))
                    : .pull(length: $0.count, SegmentBody(SegmentStream(restarting: stream), $0))
            },
            for: request,
            headers: ["Cache-Control": "private, max-age=86400"]
        )
    }
}
