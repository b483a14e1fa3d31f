// SPDX-License-Identifier: Apache-2.0

/// An error in bytes that violate their format, with its description and position.
public struct Malformed: Error, Equatable, CustomStringConvertible {
    /// A lower-case phrase without a period, such as "MP3 header names a reserved bit rate". Never content of the bytes.
    public let what: String
    /// Byte offset from the start of the span that was being read.
    public let offset: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - what: the error, as a lower-case sentence without a period.
    ///   - offset: bytes from the start of the input.
    public init(_ what: String, at offset: Int) {
        self.what = what
        self.offset = offset
    }

    /// The one kind of failure, `bytes.malformed`.
    public var code: ErrorCode<Malformed> { ErrorCode("bytes.malformed") }
    /// The fault and its place: a lower-case sentence without a period.
    public var message: String { description }

    public var description: String { "\(what) at byte \(offset)" }
}
