// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    static let deviceNames = Migration(
        version: 13,
        name: "given names of devices, tokens by upstream user",
        statements: [
            SQL("ALTER TABLE devices ADD COLUMN given_name TEXT"),
            SQL("CREATE INDEX upstream_tokens_by_subject ON upstream_tokens (subject)"),
        ]
    )
}
