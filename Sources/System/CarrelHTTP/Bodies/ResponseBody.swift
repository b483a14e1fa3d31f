// SPDX-License-Identifier: Apache-2.0

internal import CarrelThreads

/// The content after a response's header.
public enum ResponseBody: Sendable {
    /// Nothing.
    case empty
    /// Bytes that are already in memory.
    case bytes([UInt8])
    /// A range of a file, sent by the kernel (`sendfile`).
    case file(OpenFile, Range<Int64>)
    /// Blocks made as the connection takes them; `length` in bytes, nil if it is not known.
    case pull(length: Int?, any BodySource)
    /// A body of that many bytes that may be made together with others.
    case grouped(length: Int, any GroupedBodySource)
    /// Chunks from an asynchronous producer; `length` in bytes, nil if it is not known.
    case stream(length: Int?, @Sendable (BodyWriter) async throws -> Void)

    /// The number of bytes, nil if it is not known before the end.
    public var length: Int? {
        switch self {
        case .empty: 0
        case .bytes(let bytes): bytes.count
        case .file(_, let range): range.count
        case .grouped(let length, _): length
        case .pull(let length, _), .stream(let length, _): length
        }
    }

    /// The whole body in memory, for tests and for our own calls; throws `http.responseTooLarge` when it is more than `limit`
    /// bytes.
    ///
    /// - Parameter limit: the largest accepted number of bytes.
    /// - Returns: the bytes.
    /// - Throws: ``HTTPError`` `http.responseTooLarge`, or the error of the body's source.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        let tooLarge = HTTPError(.internalServerError, "http.response-too-large", "the response is larger than \(limit) bytes")
        if let length, length > limit { throw tooLarge }
        switch self {
        case .empty: return []
        case .bytes(let bytes): return bytes
        case .file(let file, let range):
            return try file.read(range)
        case .grouped(_, let source): return try await ResponseBody.pull(length: nil, source).collect(upTo: limit)
        case .pull(_, let source):
            var out: [UInt8] = []
            while let block = try source.block(of: 65536) {
                out += block
                guard out.count <= limit else { throw tooLarge }
            }
            return out
        case .stream(_, let produce):
            let out = Locked<[UInt8]>([])
            try await produce(
                BodyWriter { chunk in
                    let count = out.withLock {
                        $0 += chunk
                        return $0.count
                    }
                    guard count <= limit else { throw tooLarge }
                }
            )
            return out.withLock { $0 }
        }
    }
}
