// SPDX-License-Identifier: Apache-2.0

internal import CarrelThreads

/// The source of a request's body.
public protocol RequestBodySource: AnyObject, Sendable {
    /// The next chunk, nil at the end. Throws when the client hung up, was too slow or sent something that is not HTTP.
    ///
    /// - Throws: ``HTTPError`` with the status for the client.
    func next() async throws(HTTPError) -> [UInt8]?

    /// Called if the reader keeps bytes of the last chunk after it requests the next one, so that they stay counted.
    ///
    /// - Parameter byteCount: the number of retained bytes.
    func keep(_ byteCount: Int)
}

extension RequestBodySource {
    public func keep(_ byteCount: Int) {}
}

/// A request's body, read as it arrives: a consumer that waits makes the client wait.
public struct RequestBody: Sendable {
    /// The number of bytes the client announced; nil if it did not (chunked).
    public let length: Int?
    private let source: (any RequestBodySource)?

    /// A body of known bytes.
    ///
    /// - Parameter bytes: the whole body.
    public init(_ bytes: [UInt8] = []) {
        length = bytes.count
        source = bytes.isEmpty ? nil : KnownBytes(bytes)
    }

    /// Creates a body that arrives in chunks.
    ///
    /// - Parameters:
    ///   - length: announced by the client, in bytes.
    ///   - source: gives the chunks.
    public init(length: Int?, source: any RequestBodySource) {
        self.length = length
        self.source = source
    }

    /// Whether there is certainly nothing to read.
    public var isEmpty: Bool { source == nil }

    /// The next chunk, nil at the end. Each chunk is returned once, to one caller.
    ///
    /// - Throws: ``HTTPError`` with the status for the client.
    public func next() async throws(HTTPError) -> [UInt8]? {
        guard let source else { return nil }
        return try await source.next()
    }

    /// The whole body; one of more than `limit` bytes is refused with 413, before reading when its length is announced.
    ///
    /// - Parameter limit: the largest accepted number of bytes.
    /// - Returns: the bytes.
    /// - Throws: ``HTTPError`` with status 413, or as ``next()`` does.
    public func collect(upTo limit: Int) async throws(HTTPError) -> [UInt8] {
        if let length, length > limit { throw Self.tooLarge(limit) }
        guard var all = try await next() else { return [] }
        guard all.count <= limit else { throw Self.tooLarge(limit) }
        source?.keep(all.count)
        if let length { all.reserveCapacity(length) }
        while let chunk = try await next() {
            guard chunk.count <= limit - all.count else { throw Self.tooLarge(limit) }
            all += chunk
            source?.keep(chunk.count)
        }
        return all
    }

    private static func tooLarge(_ limit: Int) -> HTTPError {
        HTTPError.bodyTooLarge(limit: limit)
    }
}

private final class KnownBytes: RequestBodySource {
    private let bytes: Locked<[UInt8]?>

    init(_ bytes: [UInt8]) {
        self.bytes = Locked(bytes)
    }

    func next() async throws(HTTPError) -> [UInt8]? {
        bytes.withLock { $0.take() }
    }
}
