// SPDX-License-Identifier: Apache-2.0

/// Bytes of a publication, read by ranges, by any number of concurrent tasks.
public protocol Resource: AnyObject, Sendable {
    /// The link of the resource, as the manifest or the container has it.
    var link: Link { get }

    /// The probable length in bytes, if known without work: declared, not counted. Nil if it is not declared.
    var lengthHint: LengthHint? { get }

    /// The exact length in bytes. May read the whole resource once if its container does not declare it.
    ///
    /// - Returns: the number of bytes that `read` returns in total.
    /// - Throws: ``ResourceError``.
    func length() async throws(ResourceError) -> Int64

    /// Appends to `buffer` the bytes of `range` that exist: fewer, or none, if the range passes the end.
    ///
    /// - Parameters:
    ///   - range: byte positions in the resource as a reader sees it, decrypted and unpacked.
    ///   - buffer: keeps its capacity between calls, so that a loop allocates once.
    /// - Throws: ``ResourceError``; `buffer` may then contain some correct bytes.
    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError)

    /// Releases connections and buffers; a read in progress or later gets `resource.unavailable` or its bytes. A file of
    /// the disk is closed with the last object that holds it.
    func close()
}

extension Resource {
    public var lengthHint: LengthHint? { nil }

    public func close() {}

    /// The bytes of a range that exist.
    ///
    /// - Parameter range: as for `read(_:into:)`.
    /// - Returns: at most as many bytes as the range has.
    /// - Throws: ``ResourceError``.
    public func read(_ range: Range<Int64>) async throws(ResourceError) -> [UInt8] {
        var buffer: [UInt8] = []
        try await read(range, into: &buffer)
        return buffer
    }

    /// Reads the whole of a small resource, such as a document to parse.
    ///
    /// - Parameter limit: bytes at most.
    /// - Returns: all bytes.
    /// - Throws: `resource.too-large` if there are more; otherwise as `read(_:into:)`.
    public func read(upTo limit: Int) async throws(ResourceError) -> [UInt8] {
        let bytes = try await read(0..<Int64(limit) + 1)
        guard bytes.count <= limit else {
            throw ResourceError(.tooLarge, "\"\(link.href)\" is longer than \(limit) bytes")
        }
        return bytes
    }

    /// Passes the bytes of a range on in order, one piece at a time; a slow receiver slows the reading down.
    ///
    /// - Parameters:
    ///   - range: nil for all of it.
    ///   - pieceSize: bytes at most that are in memory.
    ///   - take: gets each piece; throwing ends the reading.
    /// - Throws: ``ResourceError``, or what `take` throws.
    public func stream(
        _ range: Range<Int64>? = nil,
        pieceSize: Int = 256 << 10,
        _ take: (borrowing [UInt8]) async throws -> Void
    ) async throws {
        var at = max(0, range?.lowerBound ?? 0)
        let end = range?.upperBound ?? Int64.max
        var buffer: [UInt8] = []
        while at < end {
            buffer.removeAll(keepingCapacity: true)
            let wanted = min(Int64(pieceSize), end - at)
            try await read(at..<at + wanted, into: &buffer)
            if buffer.isEmpty { return }
            at += Int64(buffer.count)
            try await take(buffer)
        }
    }
}
