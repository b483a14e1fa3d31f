// SPDX-License-Identifier: Apache-2.0

import CSQLite

extension SQLiteConnection {
    /// Makes triggers that note whose rows this connection changes.
    func note(_ triggers: [StaticString]) throws(StoreError) {
        let status = unsafe withHandle { handle in
            unsafe sqlite3_create_function_v2(
                handle,
                "note_change",
                1,
                SQLITE_UTF8 | SQLITE_INNOCUOUS,
                Unmanaged.passUnretained(notedChanges).toOpaque(),  // which lives as long as the connection
                noteChange,
                nil,
                nil,
                nil
            )
        }
        guard status == SQLITE_OK else { throw error(status) }
        for trigger in triggers { try execute(trigger) }
    }

    /// A number that changes when another connection commits.
    func othersVersion() throws(StoreError) -> Int64 {
        guard let row = try row(Self.dataVersion, []) else { throw StoreError(.unavailable, "the database has no version") }
        return try row.integer(0)
    }

    private static let dataVersion = SQL("PRAGMA data_version")
}

/// The SQL function of the triggers.
private func noteChange(
    _ context: OpaquePointer?,
    _ count: Int32,
    _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let pointer = unsafe sqlite3_user_data(context) else { return }
    let key = unsafe values?.pointee.flatMap { unsafe sqlite3_value_text($0) }.map { unsafe String(cString: $0) }
    unsafe Unmanaged<NotedChanges>.fromOpaque(pointer).takeUnretainedValue().add(key)
}
