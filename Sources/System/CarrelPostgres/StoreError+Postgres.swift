// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension StoreError {
    /// The store error for an SQLSTATE (PostgreSQL, appendix A).
    ///
    /// - Parameters:
    ///   - state: five characters; empty if the connection was lost.
    ///   - message: the server's primary message, kept if it cannot contain a value.
    ///   - constraint: the name of the constraint, if one refused a row.
    init(state: String, message: String?, constraint: String?) {
        let words = message ?? "the database gave no reason"
        let message = "\(constraint ?? "a column's rule") refused the row"
        switch state {
        case "": self.init(.unavailable, "the connection to the database was lost")
        case "23505": self.init(.unique, message)
        case "23503": self.init(.foreignKey, message)
        case "40001", "40P01", "55P03", "57014": self.init(.busy, "other writers were in the way too long")
        case "25006": self.init(.readOnly, words)
        case "53100": self.init(.full, words)
        case "XX001", "XX002": self.init(.corrupt, words)
        default:
            switch state.prefix(2) {
            case "23": self.init(.check, message)
            case "22": self.init(.statement, "a value does not fit (SQLSTATE \(state))")
            case "42", "26", "34", "0A": self.init(.statement, words)
            default: self.init(.unavailable, "\(words) (SQLSTATE \(state))")
            }
        }
    }
}
