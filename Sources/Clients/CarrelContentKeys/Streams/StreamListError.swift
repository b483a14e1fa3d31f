// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Why a list of streams cannot be used.
public struct StreamListError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<StreamListError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period, which names the entry and its field; never a token.
    public let message: String
    /// The next step: a sentence; nil if the message says it.
    public let recommendation: String?

    init(_ code: Code, _ message: String, recommendation: String? = nil) {
        self.code = code
        self.message = message
        self.recommendation = recommendation
    }
}

extension ErrorCode where Failure == StreamListError {
    /// The list is not JSON, or not a list.
    public static var malformed: Self { Self("streams.malformed") }
    /// The list has too many bytes or entries.
    public static var tooLarge: Self { Self("streams.too-large") }
    /// A field of an entry is missing, unknown, of another type, or not what it must be.
    public static var entry: Self { Self("streams.entry") }
    /// Two entries have one title.
    public static var repeatedTitle: Self { Self("streams.repeated-title") }
    /// An address is plain http beyond this machine.
    public static var insecure: Self { Self("streams.insecure") }
}
