// SPDX-License-Identifier: Apache-2.0

/// One SQL statement of the product, with parameters `$1`, `$2`, …
///
/// Only a literal becomes a statement, so no value of a request can be part of one. Every statement is a `static let`, written in
/// the subset that SQLite and PostgreSQL share, or once for each engine if they have nothing in common.
package struct SQL: Sendable, Hashable, CustomStringConvertible {
    private struct Literal: Sendable, Hashable {
        let text: String
        /// The literal's address: a cheap key for the caches of prepared statements.
        let identity: UInt

        init(_ text: StaticString) {
            precondition(text.hasPointerRepresentation, "a statement is a string literal")
            self.text = text.description
            identity = unsafe UInt(bitPattern: text.utf8Start)
        }

        static func == (one: Literal, other: Literal) -> Bool {
            one.identity == other.identity || one.text == other.text
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(text)
        }
    }

    private let sqlite: Literal
    /// Nil if both engines take the same text.
    private let postgresql: Literal?

    /// - Parameter text: exactly one statement; a semicolon at its end is allowed.
    package init(_ text: StaticString) {
        sqlite = Literal(text)
        postgresql = nil
    }

    /// A statement that the engines do not share, such as a full-text search: with the same parameters and the same columns.
    ///
    /// - Parameters:
    ///   - sqlite: exactly one statement of SQLite.
    ///   - postgresql: exactly one statement of PostgreSQL.
    package init(sqlite: StaticString, postgresql: StaticString) {
        self.sqlite = Literal(sqlite)
        self.postgresql = Literal(postgresql)
    }

    /// The statement as written for an engine.
    package func text(for engine: DatabaseEngine) -> String { literal(for: engine).text }

    /// The key of the statement in an engine's cache of prepared statements.
    package func identity(for engine: DatabaseEngine) -> UInt { literal(for: engine).identity }

    private func literal(for engine: DatabaseEngine) -> Literal {
        switch engine {
        case .sqlite: sqlite
        case .postgresql: postgresql ?? sqlite
        }
    }

    package var description: String {
        postgresql.map { "\(sqlite.text) | \($0.text)" } ?? sqlite.text
    }
}
