// SPDX-License-Identifier: Apache-2.0

import CPostgres

/// The types of PostgreSQL that have a counterpart in `SQLValue`.
enum PostgresType {
    case small
    case int
    case big
    case double
    case boolean
    case text
    case bytes

    /// - Parameters:
    ///   - identifier: the type's number in `pg_type`, which is fixed for the built-in ones.
    ///   - blob: the number of the domain `blob`, if known.
    init?(_ identifier: Oid, blob: Oid?) {
        switch identifier {
        case 16: self = .boolean
        case 17: self = .bytes
        case 20: self = .big
        case 21: self = .small
        case 23: self = .int
        case 701: self = .double
        case 19, 25, 705, 1042, 1043: self = .text
        default:
            guard identifier == blob else { return nil }
            self = .bytes
        }
    }
}
