// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCommandLine
import CarrelJSON
package import CarrelSavedMedia
import CarrelThreads

/// The files of a package, as its tables name them.
struct PackageListing: Sendable {
    private let listing: SavedListing

    private static let files = BlockingThreadPool(name: "listing", count: 1)

    /// Reads the tables of a package.
    ///
    /// - Parameter folder: its path.
    /// - Returns: the listing; nil if there is no package yet.
    /// - Throws: `saved.format`, `saved.disk`.
    static func read(_ folder: String) async throws -> PackageListing? {
        do {
            return try await files.run { PackageListing(listing: try SavedListing(folder: folder)) }
        } catch let error as SavedMediaError where error.code == .missing {
            return nil
        }
    }

    var table: TextTable {
        var table = TextTable([
            "stream", "complete", .init("files", isNumeric: true), .init("bytes", isNumeric: true),
            .init("seconds", isNumeric: true),
        ])
        for entry in listing.tables {
            let bytes = entry.rows.reduce(Int64(0)) { $0 + ($1.length ?? 0) }
            let time = entry.rows.reduce(Duration.zero) { $0 + $1.duration }
            table.add([
                entry.id, entry.isComplete ? "yes" : "no", "\(entry.rows.count)", ByteCount(bytes).rounded,
                "\(Int64((time / .seconds(1)).rounded()))",
            ])
        }
        table.add([listing.boot.dataFolder, listing.boot.isComplete ? "yes" : "no", "\(listing.boot.items.count)", "", ""])
        return table
    }

    var json: JSON {
        [
            "complete": .bool(listing.boot.isComplete), "seal": .optional(listing.boot.mode?.rawValue),
            "documents": .integer(listing.boot.items.count),
            "streams": .array(
                listing.tables.map { entry in
                    [
                        "id": .string(entry.id), "complete": .bool(entry.isComplete), "bandwidth": .integer(entry.bandwidth),
                        "files": .array(
                            entry.rows.map { row in
                                [
                                    "name": .string(row.path), "initialization": .bool(row.isInitialization),
                                    "sealed": .bool(row.isSealed), "duration": .seconds(row.duration),
                                    "length": row.length.map { .integer($0) } ?? .null,
                                ]
                            }
                        ),
                    ]
                }
            ),
        ]
    }
}

extension SavedMediaError: ReportableError {
    package var hint: String? { ExitStatus.hint(code: code.identifier) }
    package var exitStatus: ExitStatus { ExitStatus(code: code.identifier) ?? .badInput }
}
