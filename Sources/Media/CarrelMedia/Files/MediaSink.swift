// SPDX-License-Identifier: Apache-2.0

/// A destination of written media.
public protocol MediaSink {
    /// Appends bytes.
    ///
    /// - Parameter bytes: the next bytes.
    /// - Throws: the reason why they cannot be written.
    mutating func write(_ bytes: RawSpan) throws

    /// Overwrites bytes that were written before.
    ///
    /// - Parameters:
    ///   - bytes: the new bytes.
    ///   - offset: their offset from the start of the output.
    /// - Throws: `Malformed`, and write errors.
    mutating func overwrite(_ bytes: RawSpan, at offset: Int64) throws

    /// Whether bytes can only be appended: then `overwrite` throws.
    var isSequential: Bool { get }
}

extension MediaSink {
    /// False.
    public var isSequential: Bool { false }
}

/// Media written into memory.
public struct BytesSink: MediaSink, Sendable {
    /// Everything written.
    public private(set) var bytes: [UInt8] = []

    /// Nothing is written.
    public init() {}

    /// Appends bytes.
    ///
    /// - Parameter bytes: the bytes to append.
    public mutating func write(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe self.bytes.append(contentsOf: $0) }
    }

    /// Writes over bytes that were written before.
    ///
    /// - Parameters:
    ///   - bytes: the new bytes.
    ///   - offset: the index of the first byte to replace.
    public mutating func overwrite(_ bytes: RawSpan, at offset: Int64) {
        unsafe bytes.withUnsafeBytes { unsafe self.bytes.replaceSubrange(Int(offset)..<Int(offset) + $0.count, with: $0) }
    }
}
