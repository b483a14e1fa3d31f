/// A command line worth copying, and what it does.
public struct Example: Sendable, Equatable {
    /// The line without a prompt, such as `carrel ingest book.m4b`.
    public let line: String
    /// What it does, as one sentence.
    public let explanation: String

    public init(_ line: String, _ explanation: String) {
        self.line = line
        self.explanation = explanation
    }
}
