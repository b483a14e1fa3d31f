// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

/// One prepared statement. It belongs to one connection and is used by one thread at a time.
@safe
final class SQLiteStatement {
    private let handle: OpaquePointer
    /// SQLite's index of `$1`, `$2`, …: to SQLite these are names, numbered in the order they first appear.
    private let indices: [Int32]
    /// Holds the text and blobs that are bound, until `clear`.
    private var buffer: UnsafeMutableRawPointer
    private var capacity = 256
    /// Whether a run has begun and not ended; such a statement cannot be run again inside itself.
    var isRunning = false
    /// When it was last used, in uses of the connection.
    var lastUse: UInt64 = 0

    /// Takes ownership of `handle`.
    init(adopting handle: OpaquePointer) throws(StoreError) {
        let count = unsafe sqlite3_bind_parameter_count(handle)
        var indices = [Int32](repeating: 0, count: Int(count))
        for index in 0..<count {
            guard let name = unsafe sqlite3_bind_parameter_name(handle, index + 1),
                let number = unsafe Int(String(cString: name).dropFirst()), indices.indices.contains(number - 1)
            else {
                unsafe sqlite3_finalize(handle)
                throw StoreError(.statement, "the parameters of a statement are not $1, $2, … without a gap")
            }
            indices[number - 1] = index + 1
        }
        self.indices = indices
        unsafe self.handle = handle
        unsafe buffer = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe sqlite3_finalize(handle)
        unsafe buffer.deallocate()
    }

    /// Whether it changes nothing.
    var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(handle) != 0 }

    /// Binds `$1`, `$2`, … to `values`, which are copied.
    func bind(_ values: [SQLValue]) throws(StoreError) -> Int32 {
        guard values.count == indices.count else {
            throw StoreError(.statement, "a statement with \(indices.count) parameters was given \(values.count) values")
        }
        reserve(values)
        var used = 0
        var status = SQLITE_OK
        for (position, value) in values.enumerated() where status == SQLITE_OK {
            let index = indices[position]
            switch value {
            case .null: status = unsafe sqlite3_bind_null(handle, index)
            case .integer(let number): status = unsafe sqlite3_bind_int64(handle, index, number)
            case .real(let number): status = unsafe sqlite3_bind_double(handle, index, number)
            case .text(var text):
                let count = text.withUTF8 { unsafe copy(UnsafeRawBufferPointer($0), at: used) }
                if unsafe memchr(buffer + used, 0, count) != nil {
                    throw StoreError(.text, "text for $\(position + 1) contains U+0000")
                }
                status = unsafe sqlite3_bind_text64(
                    handle,
                    index,
                    (buffer + used).assumingMemoryBound(to: CChar.self),
                    UInt64(count),
                    nil,
                    UInt8(SQLITE_UTF8)
                )
                used += count
            case .blob(let bytes):
                let count = unsafe bytes.withUnsafeBytes { unsafe copy($0, at: used) }
                status = unsafe sqlite3_bind_blob64(handle, index, buffer + used, UInt64(count), nil)
                used += count
            }
        }
        return status
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        if let start = bytes.baseAddress {
            unsafe (buffer + offset).copyMemory(from: start, byteCount: bytes.count)
        }
        return bytes.count
    }

    private func reserve(_ values: [SQLValue]) {
        var needed = 0
        for value in values {
            switch value {
            case .text(let text): needed += text.utf8.count
            case .blob(let bytes): needed += bytes.count
            default: break
            }
        }
        if needed >= capacity { resize(to: needed + 1) }
    }

    private func resize(to size: Int) {
        unsafe buffer.deallocate()
        unsafe buffer = .allocate(byteCount: size, alignment: 1)
        capacity = size
    }

    /// One step: SQLITE_ROW, SQLITE_DONE or an error.
    func step() -> Int32 {
        unsafe sqlite3_step(handle)
    }

    /// The row the last step stopped at.
    func row() -> Row {
        let count = unsafe sqlite3_column_count(handle)
        var values: [SQLValue] = []
        values.reserveCapacity(Int(count))
        for column in 0..<count { values.append(value(column)) }
        return Row(values)
    }

    private func value(_ column: Int32) -> SQLValue {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return unsafe .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: return unsafe .real(sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            guard let start = unsafe sqlite3_column_text(handle, column) else { return .text("") }
            let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
            return unsafe .text(String(decoding: bytes, as: UTF8.self))
        case SQLITE_BLOB:
            guard let start = unsafe sqlite3_column_blob(handle, column) else { return .blob([]) }
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
            return unsafe .blob([UInt8](bytes))
        default: return .null
        }
    }

    /// Ends a run and forgets the values.
    func clear() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
        isRunning = false
        if capacity > 65536 { resize(to: 256) }
    }
}
