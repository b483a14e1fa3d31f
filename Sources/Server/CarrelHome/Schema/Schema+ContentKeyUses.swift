// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// The content that a key was created for, and whether ClearKey may serve the key.
    static let contentKeyUses = Migration(
        version: 34,
        name: "contents of content keys, and keys that ClearKey serves",
        statements: [
            // nil: a key that was added by its id alone; packagers do not get it back
            SQL("ALTER TABLE content_keys ADD COLUMN content TEXT"),
            SQL("ALTER TABLE content_keys ADD COLUMN clear_key BIGINT NOT NULL DEFAULT 0"),
        ]
    )
}
