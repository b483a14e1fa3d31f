// SPDX-License-Identifier: Apache-2.0

/// The encrypted bytes of a medium, which may be far away.
public protocol MediaSource: Sendable {
    /// Prepares reading.
    ///
    /// - Returns: the length and the type of the bytes.
    /// - Throws: `media.unavailable`, or the errors of the client.
    func open() async throws -> MediaSourceInformation

    /// Reads bytes. Several tasks may read concurrently.
    ///
    /// - Parameter range: inside the length that `open` returned.
    /// - Returns: all of them.
    /// - Throws: `media.unavailable`, or the errors of the client.
    func read(_ range: Range<Int64>) async throws -> [UInt8]

    /// Releases the resources for reading. No call follows.
    func close() async
}

/// The length and the type of a source.
public struct MediaSourceInformation: Sendable, Hashable {
    /// Bytes in all.
    public var length: Int64
    /// The media type of the encrypted bytes, if the source knows it.
    public var contentType: String?

    /// Creates the information of a source.
    ///
    /// - Parameters:
    ///   - length: the total length in bytes.
    ///   - contentType: the media type, if the source knows it.
    public init(length: Int64, contentType: String? = nil) {
        self.length = length
        self.contentType = contentType
    }
}

/// Bytes in memory as a source.
public struct MemorySource: MediaSource {
    private let bytes: [UInt8]
    private let contentType: String?

    /// Creates a source from bytes.
    ///
    /// - Parameters:
    ///   - bytes: all of them.
    ///   - contentType: their media type.
    public init(_ bytes: [UInt8], contentType: String? = nil) {
        self.bytes = bytes
        self.contentType = contentType
    }

    /// See ``MediaSource``.
    public func open() -> MediaSourceInformation {
        MediaSourceInformation(length: Int64(bytes.count), contentType: contentType)
    }

    /// See ``MediaSource``.
    public func read(_ range: Range<Int64>) -> [UInt8] { Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]) }

    /// See ``MediaSource``.
    public func close() {}
}
