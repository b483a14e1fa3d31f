// SPDX-License-Identifier: Apache-2.0

import CPostgres
import CarrelBytes
import CarrelStore

/// The server's response to one statement, rows in binary form.
@safe
struct PostgresResult: ~Copyable {
    private let handle: OpaquePointer?

    /// Takes over `handle`, which is nil if the connection is gone.
    init(adopting handle: OpaquePointer?) {
        unsafe self.handle = handle
    }

    deinit {
        unsafe PQclear(handle)
    }

    /// Whether the statement was carried out.
    var isGood: Bool {
        let status = unsafe PQresultStatus(handle)
        return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
    }

    /// The five characters that say which error it is (PostgreSQL, appendix A); empty if the connection was lost.
    var state: String {
        unsafe cpostgres_sqlstate(handle).map { unsafe String(cString: $0) } ?? ""
    }

    /// The error as the product's, without any value.
    var error: StoreError {
        let message = unsafe cpostgres_message(handle).map { unsafe String(cString: $0) }
        let constraint = unsafe cpostgres_constraint(handle).map { unsafe String(cString: $0) }
        return StoreError(state: state, message: message, constraint: constraint)
    }

    /// Rows it has.
    var count: Int { unsafe Int(PQntuples(handle)) }

    /// Rows that were inserted, updated or deleted.
    var changes: Int {
        let command = unsafe String(cString: PQcmdStatus(handle))
        if command.hasPrefix("SELECT") || command.hasPrefix("FETCH") { return 0 }
        return unsafe Int(String(cString: PQcmdTuples(handle))) ?? 0
    }

    /// The types of the columns; throws `store.type` for a type that SQLite does not have.
    func columnTypes(blob: Oid?) throws(StoreError) -> [PostgresType] {
        var types: [PostgresType] = []
        for column in 0..<(unsafe PQnfields(handle)) {
            guard let type = unsafe PostgresType(PQftype(handle, column), blob: blob) else {
                throw StoreError(.type, "column \(column) has a type that the two engines do not share: cast it")
            }
            types.append(type)
        }
        return types
    }

    /// The parameters in a description of a prepared statement.
    func parameterTypes(blob: Oid?) throws(StoreError) -> [PostgresType] {
        var types: [PostgresType] = []
        for index in 0..<(unsafe PQnparams(handle)) {
            guard let type = unsafe PostgresType(PQparamtype(handle, index), blob: blob) else {
                throw StoreError(.statement, "$\(index + 1) has a type that the two engines do not share: cast it")
            }
            types.append(type)
        }
        return types
    }

    /// The row at `index`, whose columns have these types.
    func row(_ index: Int, types: [PostgresType]) -> Row {
        var values: [SQLValue] = []
        values.reserveCapacity(types.count)
        for (column, type) in types.enumerated() { values.append(value(Int32(index), Int32(column), type)) }
        return Row(values)
    }

    private func value(_ row: Int32, _ column: Int32, _ type: PostgresType) -> SQLValue {
        guard unsafe PQgetisnull(handle, row, column) == 0, let start = unsafe PQgetvalue(handle, row, column) else {
            return .null
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(handle, row, column)))
        let span = unsafe RawSpan(_unsafeBytes: bytes)
        switch type {
        case .small: return .integer(Int64(Int16(bitPattern: span.u16(at: 0))))
        case .int: return .integer(Int64(Int32(bitPattern: span.u32(at: 0))))
        case .big: return .integer(Int64(bitPattern: span.u64(at: 0)))
        case .double: return .real(Double(bitPattern: span.u64(at: 0)))
        case .boolean: return .integer(span.u8(at: 0) == 0 ? 0 : 1)
        case .text: return unsafe .text(String(decoding: bytes, as: UTF8.self))
        case .bytes: return unsafe .blob([UInt8](bytes))
        }
    }
}
