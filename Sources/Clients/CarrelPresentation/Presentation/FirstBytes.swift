// SPDX-License-Identifier: Apache-2.0

package import CarrelMediaSource
import CarrelThreads

/// A stream with its first bytes.
package struct FirstBytes: SegmentBytes {
    private let stream: OriginStream
    private let first: Once

    /// A piece that is taken once.
    private final class Once: Sendable {
        private let piece: Locked<[UInt8]?>

        init(_ piece: [UInt8]?) {
            self.piece = Locked(piece)
        }

        /// The piece while it is still to be taken.
        var held: [UInt8]? { piece.withLock { $0 } }

        func take() -> [UInt8]? { piece.withLock { $0.take() } }
    }

    init(_ stream: OriginStream) async throws(ProxyError) {
        self.stream = stream
        let piece = try await stream.next()
        first = Once(piece)
    }

    private init(_ stream: OriginStream, _ piece: [UInt8]) {
        self.stream = stream
        first = Once(piece)
    }

    /// The stream with bytes in front of it; it replaces this one.
    func behind(_ bytes: [UInt8]) -> FirstBytes { FirstBytes(stream, bytes + (first.take() ?? [])) }

    var name: String { stream.name }

    /// Ends the transfer.
    package func cancel() { stream.cancel() }

    /// The first bytes, while they are still to be taken.
    var head: [UInt8] { first.held ?? [] }

    package func next() async throws(ProxyError) -> [UInt8]? {
        if let piece = first.take() { return piece }
        return try await stream.next()
    }
}
