// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelJSON
package import CarrelStore

/// Personal data of a capability: the treatment of each of its tables, and the lists of the export.
package enum PersonalData {
    /// The personal data in a table, and its fate when the person is erased.
    package enum Treatment: Sendable, Equatable {
        /// Exported under this name, and deleted on erasure.
        case deleted(exportedAs: String)
        /// Exported under this name, and kept on erasure without personal data, for this reason.
        case kept(exportedAs: String, because: String)
        /// Not personal data, for this reason.
        case nothing(String)

        /// The member of the export that holds it.
        package var member: String? {
            switch self {
            case .deleted(let member), .kept(let member, _): member
            case .nothing: nil
            }
        }
    }

    /// The reason for keeping records of sales, loans and gifts.
    package static let accounting = "required for the shop's or library's accounting"

    /// The person whose data are exported.
    package struct Person: Sendable {
        /// The account's id.
        package let account: String
        /// The name that they sign in with, here and upstream.
        package let name: String
        package let createdAt: Instant

        package init(account: String, name: String, createdAt: Instant) {
            self.account = account
            self.name = name
            self.createdAt = createdAt
        }
    }

    /// A list of the export that may be long. It is read once for each key, page by page.
    package struct Member: Sendable {
        /// The keys that a member is read for.
        package enum Keys: Sendable {
            /// Rows of the person; the key is the account's id.
            case person
            /// Rows of each item of an earlier member, by its id.
            case items(of: String)
            /// Rows of the account's id, and of each item of all earlier members that the audit log may name.
            case subjects
        }

        package let name: String
        package let keys: Keys
        /// Whether the audit log may name its items.
        package let holdsSubjects: Bool
        package let read: @Sendable (Person, _ key: String, _ after: [SQLValue]?, any Transaction) throws -> Page

        package init(
            _ name: String,
            for keys: Keys = .person,
            holdsSubjects: Bool = false,
            read: @escaping @Sendable (Person, _ key: String, _ after: [SQLValue]?, any Transaction) throws -> Page
        ) {
            self.name = name
            self.keys = keys
            self.holdsSubjects = holdsSubjects
            self.read = read
        }

        /// A member whose items are few.
        package init(
            _ name: String,
            holdsSubjects: Bool = false,
            all: @escaping @Sendable (Person, any Transaction) throws -> [JSON]
        ) {
            self.init(name, holdsSubjects: holdsSubjects) { person, _, _, transaction in
                Page(items: try all(person, transaction), next: nil)
            }
        }
    }

    /// Exported items, and the position of the next page; nil at the end.
    package struct Page: Sendable {
        package let items: [JSON]
        package let next: [SQLValue]?

        package init(items: [JSON], next: [SQLValue]?) {
            self.items = items
            self.next = next
        }

        /// Rows of a page at most.
        private static let size = 500

        /// Reads a page.
        ///
        /// - Parameters:
        ///   - statement: the query; its last parameter is the number of rows.
        ///   - values: the other parameters.
        ///   - transaction: the transaction.
        ///   - item: returns a row's exported item, and the position after it.
        /// - Throws: errors of the database and `item`.
        package init(
            _ statement: SQL,
            _ values: [SQLValue],
            in transaction: any Transaction,
            _ item: (Row) throws -> (JSON, [SQLValue])
        ) throws {
            var (items, last): ([JSON], [SQLValue]?) = ([], nil)
            for row in try transaction.rows(statement, values + [.integer(Int64(Self.size))]) {
                let (value, mark) = try item(row)
                items.append(value)
                last = mark
            }
            self.init(items: items, next: items.count == Self.size ? last : nil)
        }
    }
}
