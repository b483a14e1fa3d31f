// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// Editions that are published as protected files.
    static let licensedEditions = Migration(
        version: 35,
        name: "editions as protected files",
        statements: [
            SQL("ALTER TABLE editions ADD COLUMN licensed TEXT NOT NULL DEFAULT 'off'"),
            // The number of the title's last key, and the contents that it is for.
            SQL("ALTER TABLE editions ADD COLUMN key_number BIGINT NOT NULL DEFAULT 0"),
            SQL("ALTER TABLE editions ADD COLUMN key_blob TEXT"),
            // The blob of integrity tags, and the digest of the head of the file that they are of.
            SQL("ALTER TABLE editions ADD COLUMN tags_blob TEXT"),
            SQL("ALTER TABLE editions ADD COLUMN tags_of TEXT"),
        ]
    )
}
