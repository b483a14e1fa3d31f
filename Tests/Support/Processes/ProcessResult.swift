/// What a finished process left.
public struct ProcessResult: Sendable {
    public let status: ExitStatus
    /// Standard output, whole.
    public let output: [UInt8]
    /// Standard error, whole.
    public let errors: [UInt8]

    /// Standard output as text; bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: output, as: UTF8.self) }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    public var errorText: String { String(decoding: errors, as: UTF8.self) }
}
