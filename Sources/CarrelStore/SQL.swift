/// One SQL statement of the product, with parameters `$1`, `$2`, …
///
/// Only a literal becomes a statement, so no value a stranger chose can be part of one. Every statement is a `static let`,
/// written in the subset that SQLite and PostgreSQL understand alike.
public struct SQL: Sendable, Hashable, CustomStringConvertible {
    /// The statement as written.
    public let text: String
    /// The literal's address: a cheap key for the caches of prepared statements.
    package let identity: UInt

    /// - Parameter text: exactly one statement; a semicolon at its end is allowed.
    public init(_ text: StaticString) {
        precondition(text.hasPointerRepresentation, "a statement is a string literal")
        self.text = text.description
        identity = unsafe UInt(bitPattern: text.utf8Start)
    }

    public static func == (one: SQL, other: SQL) -> Bool {
        one.identity == other.identity || one.text == other.text
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }

    public var description: String { text }
}
