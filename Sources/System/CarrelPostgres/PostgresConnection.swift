// SPDX-License-Identifier: Apache-2.0

import CPostgres
import CarrelStore
import Glibc

/// One connection to the server, with its prepared statements.
@safe
final class PostgresConnection: Transaction, @unchecked Sendable {  // one holder at a time, its only user
    private struct Prepared {
        let name: String
        let parameters: [PostgresType]
        let columns: [PostgresType]
        var lastUse: UInt64
    }

    private let handle: OpaquePointer
    private var statements: [UInt: Prepared] = [:]
    private var uses: UInt64 = 0
    private var names = 0
    private let statementLimit = 512
    private var cursors = 0
    private var blob: Oid?
    /// The error that doomed the transaction.
    private(set) var failure: StoreError?
    /// Its SQLSTATE, empty if the connection was lost.
    private(set) var failureState = ""
    /// Whether the server no longer takes its prepared statements, because the schema changed or the session is another.
    private(set) var isStale = false

    /// The statement that begins the transaction; it travels with its first statement.
    private var pendingBegin: StaticString?
    /// Whether the answer to be checked is that to the beginning of the transaction.
    private var isBeginRefused = false
    /// Whether the answer to the end of the last transaction is still to be read.
    private var isEnding = false
    /// Whether the transaction may write.
    private var isWriting = false
    /// Rows that the transaction has changed so far.
    private(set) var changes = 0

    /// The longest wait for one response; nil waits forever.
    var answerLimit: Duration?
    private let isServerAway: (@Sendable () -> Bool)?
    /// Whether an answer was waited for too long: what the server made of the statement is unknown.
    private(set) var isAbandoned = false

    /// - Parameters:
    ///   - address: `postgres://user@host/database` and the like, or `key=value` pairs (PostgreSQL §34.1.1).
    ///   - isServerAway: whether the server does not answer at all, called during long waits; without it, only `answerLimit` ends a wait.
    ///   - connectLimit: seconds for each host, whatever the address says; nil takes the address's, or 5.
    ///   - answerLimit: the longest wait for one answer. The server ends a statement of its own accord a little earlier.
    /// - Throws: `store.unavailable` with the server's reason.
    init(
        _ address: String,
        isServerAway: (@Sendable () -> Bool)? = nil,
        connectLimit: Int? = nil,
        answerLimit: Duration? = .seconds(65)
    ) throws(StoreError) {
        self.isServerAway = isServerAway
        self.answerLimit = answerLimit
        // The library's message about an address it cannot read repeats it, password and all.
        guard let parts = unsafe PQconninfoParse(address, nil) else {
            throw StoreError(.unavailable, "the address of the database is malformed")
        }
        unsafe PQconninfoFree(parts)
        let connection = unsafe Self.withSettings(address, connectLimit) { unsafe PQconnectdbParams($0, $1, 1) }
        guard let connection = unsafe connection else { throw StoreError(.unavailable, "no memory for a database connection") }
        guard unsafe PQstatus(connection) == CONNECTION_OK else {
            let reason = unsafe String(cString: PQerrorMessage(connection)).split(separator: "\n").first ?? "no reason given"
            unsafe PQfinish(connection)
            throw StoreError(.unavailable, "the database cannot be reached: \(reason)")
        }
        unsafe PQsetNoticeProcessor(connection, ignoreNotice, nil)
        unsafe PQsetnonblocking(connection, 1)
        unsafe handle = connection
        try prepareSession()
    }

    deinit {
        unsafe PQfinish(handle)
    }

    /// Whether a server accepts connections at the address, with any response but "not now"; waits 2 seconds for each host.
    static func isAnswering(_ address: String) -> Bool {
        unsafe withSettings(address, 2) { unsafe PQpingParams($0, $1, 1) } == PQPING_OK
    }

    /// Calls `body` with the settings of a connection as C strings.
    private static func withSettings<Result>(
        _ address: String,
        _ connectLimit: Int?,
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        // What precedes the address is a default, what follows it replaces what the address says.
        var settings = [
            ("connect_timeout", "5"), ("tcp_user_timeout", "10000"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
            ("keepalives_count", "3"), ("fallback_application_name", "carrel"), ("dbname", address), ("client_encoding", "UTF8"),
        ]
        if let connectLimit { settings.append(("connect_timeout", String(connectLimit))) }
        return unsafe withCStrings(settings.map(\.0)) { keys in
            unsafe withCStrings(settings.map(\.1)) { values in unsafe body(keys, values) }
        }
    }

    private func prepareSession() throws(StoreError) {
        guard unsafe PQserverVersion(handle) >= 130_000 else {
            throw StoreError(.unsupported, "PostgreSQL 13 or newer is needed")
        }
        guard unsafe String(cString: PQparameterStatus(handle, "server_encoding")) == "UTF8" else {
            throw StoreError(.unsupported, "the database must be encoded in UTF8")
        }
        // A commit that is acknowledged before it is durable would be a lie; stronger settings stay.
        try execute(
            """
            SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
            SET idle_in_transaction_session_timeout = '60s';
            SET lock_timeout = '10s';
            SET statement_timeout = '60s'
            """
        )
        try findBlob()
    }

    /// Looks up the number of the domain `blob`, once it exists.
    func findBlob() throws(StoreError) {
        let number = try row(SQL("SELECT CAST(to_regtype('blob') AS BIGINT)"))?.integerIfPresent(0)
        blob = number.map { Oid($0) }
    }

    /// Runs statements without parameters or results.
    func execute(_ text: StaticString) throws(StoreError) {
        try execute(text.description)
    }

    private func execute(_ text: String) throws(StoreError) {
        let result = unsafe PostgresResult(adopting: lastAnswer(PQsendQuery(handle, text)))
        try check(result)
    }

    /// Whether the server still responds, as far as known.
    var isAlive: Bool { unsafe !isAbandoned && PQstatus(handle) == CONNECTION_OK }

    /// Whether another connection may succeed: the server here is read-only, or is ending its sessions.
    var isMisplaced: Bool { (failureState == "25006" && isWriting) || failureState.hasPrefix("57P0") }

    /// Whether the next transaction can use it: not after the schema changed under its prepared statements.
    var isReusable: Bool { isAlive && (isEnding || !isInTransaction) && !isStale }

    /// Whether a transaction is open, failed or not.
    var isInTransaction: Bool { unsafe PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// Makes the connection ready for the next transaction.
    func forgetFailure() {
        failure = nil
        failureState = ""
    }

    // MARK: Transactions

    /// Begins a transaction with the first statement to come, which saves a round trip.
    func beginLater(_ text: StaticString, writing: Bool) {
        settle()
        pendingBegin = text
        isWriting = writing
        changes = 0
    }

    /// Returns when the changes are durable.
    func commit() throws(StoreError) {
        if pendingBegin == nil { try execute("COMMIT") }
        pendingBegin = nil
    }

    /// Ends a transaction that changed nothing, without waiting for the answer.
    func endRead() {
        if pendingBegin == nil, unsafe PQsendQuery(handle, "COMMIT") == 1 { isEnding = true }
        pendingBegin = nil
    }

    /// Reads the answer that `endRead` did not wait for.
    private func settle() {
        guard isEnding else { return }
        isEnding = false
        while let result = unsafe nextResult() { unsafe PQclear(result) }
    }

    /// Rolls back the rest of a transaction that failed.
    func endTransaction() {
        pendingBegin = nil
        guard isAlive, isInTransaction, !isEnding else { return }
        forgetFailure()
        _ = try? execute("ROLLBACK")
    }

    private func check(_ result: borrowing PostgresResult) throws(StoreError) {
        if result.isGood { return }
        failureState = result.state
        var error = isAbandoned ? StoreError(.unavailable, "the database does not answer") : result.error
        // A standby refuses serializable transactions as a feature that it lacks.
        if isBeginRefused, isWriting, failureState == "0A000" {
            failureState = "25006"
            error = StoreError(.readOnly, "the database is a standby, which takes no writes")
        }
        isBeginRefused = false
        if failureState == "0A000" || failureState == "26000" || isMisplaced { isStale = true }
        failure = error
        throw error
    }

    // MARK: Statements

    @discardableResult
    func run(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Int {
        let statement = try begin(sql)
        let count = try send(statement, values).changes
        changes += count
        return count
    }

    func rows(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> [Row] {
        let statement = try begin(sql)
        let result = try send(statement, values)
        return (0..<result.count).map { result.row($0, types: statement.columns) }
    }

    func row(_ sql: SQL, _ values: [SQLValue]) throws(StoreError) -> Row? {
        let statement = try begin(sql)
        let result = try send(statement, values)
        return result.count > 0 ? result.row(0, types: statement.columns) : nil
    }

    func each(_ sql: SQL, _ values: [SQLValue], _ body: (Row) throws -> Void) throws {
        let statement = try begin(sql)
        let text = sql.text(for: .postgresql)
        guard text.hasPrefix("SELECT") else {
            for row in try rows(sql, values) { try body(row) }
            return
        }
        // A cursor, so that any number of rows needs the memory of a few.
        // One that `body` ended with an error stays open until the transaction ends, and so keeps its name.
        cursors += 1
        let name = "each\(cursors)"
        let parameters = try failTransactionOnError { () throws(StoreError) in
            try PostgresParameters(values, types: statement.parameters)
        }
        _ = try execute("DECLARE \(name) NO SCROLL CURSOR FOR \(text)", parameters, prepared: false)
        while true {
            let part = try execute("FETCH 256 FROM \(name)", PostgresParameters([], types: []), prepared: false)
            for index in 0..<part.count { try body(part.row(index, types: statement.columns)) }
            if part.count < 256 { break }
        }
        try execute("CLOSE \(name)")
    }

    /// Prepares a statement without keeping it, and checks that both engines have its types.
    func prepareCheck(_ sql: SQL) throws(StoreError) {
        settle()
        let prepared = try prepare(sql)
        try execute("DEALLOCATE \(prepared.name)")
    }

    private func begin(_ sql: SQL) throws(StoreError) -> Prepared {
        if let failure { throw failure }
        uses += 1
        let identity = sql.identity(for: .postgresql)
        if var statement = statements[identity] {
            statement.lastUse = uses
            statements[identity] = statement
            return statement
        }
        return try failTransactionOnError { () throws(StoreError) in
            if statements.count >= statementLimit, let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse }) {
                statements[oldest.key] = nil
                try execute("DEALLOCATE \(oldest.value.name)")
            }
            let statement = try prepare(sql)
            statements[identity] = statement
            return statement
        }
    }

    private func prepare(_ sql: SQL) throws(StoreError) -> Prepared {
        let text = sql.text(for: .postgresql)
        if text.allSatisfy({ $0.isWhitespace }) { throw StoreError(.statement, "the text is not exactly one statement") }
        names += 1
        let name = "s\(names)"
        try check(unsafe PostgresResult(adopting: lastAnswer(PQsendPrepare(handle, name, text, 0, nil))))
        let description = unsafe PostgresResult(adopting: lastAnswer(PQsendDescribePrepared(handle, name)))
        try check(description)
        return Prepared(
            name: name,
            parameters: try description.parameterTypes(blob: blob),
            columns: try description.columnTypes(blob: blob),
            lastUse: uses
        )
    }

    private func send(_ statement: Prepared, _ values: [SQLValue]) throws(StoreError) -> PostgresResult {
        let parameters = try failTransactionOnError { () throws(StoreError) in
            try PostgresParameters(values, types: statement.parameters)
        }
        return try execute(statement.name, parameters, prepared: true)
    }

    /// Runs a prepared statement by its name, or a text.
    private func execute(_ text: String, _ parameters: PostgresParameters, prepared: Bool) throws(StoreError) -> PostgresResult {
        let count = parameters.ranges.count
        let lengths = parameters.ranges.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: count)
        let begin = pendingBegin
        pendingBegin = nil
        let answer = unsafe parameters.bytes.withUnsafeBufferPointer { bytes in
            // An empty value still needs an address: a parameter without one is null.
            let empty: StaticString = ""
            let start = unsafe UnsafeRawPointer(bytes.baseAddress ?? empty.utf8Start).assumingMemoryBound(to: CChar.self)
            let values = unsafe parameters.ranges.map { range in unsafe range.map { unsafe start + $0.lowerBound } }
            let send = { [self] in
                prepared
                    ? unsafe PQsendQueryPrepared(handle, text, Int32(count), values, lengths, formats, 1)
                    : unsafe PQsendQueryParams(handle, text, Int32(count), nil, values, lengths, formats, 1)
            }
            if let begin { return unsafe sendPipelined(after: begin, send) }
            return unsafe lastAnswer(send())
        }
        let result = unsafe PostgresResult(adopting: answer)
        try check(result)
        return result
    }

    /// Sends `begin` and the statement that `send` sends in one write, and returns the response to the statement, or to `begin`
    /// if that failed.
    private func sendPipelined(after begin: StaticString, _ send: () -> Int32) -> OpaquePointer? {
        unsafe PQenterPipelineMode(handle)
        let start = unsafe UnsafeRawPointer(begin.utf8Start).assumingMemoryBound(to: CChar.self)
        let isSent =
            unsafe PQsendQueryParams(handle, start, 0, nil, nil, nil, nil, 0) == 1 && send() == 1 && PQpipelineSync(handle) == 1
        guard isSent else {
            isStale = true
            return nil
        }
        let (first, second) = unsafe (nextAnswer(), nextAnswer())
        unsafe PQclear(nextResult())  // the mark that ends the two
        if unsafe PQexitPipelineMode(handle) != 1 { isStale = true }
        guard unsafe PQresultStatus(first) == PGRES_COMMAND_OK else {
            unsafe PQclear(second)
            isBeginRefused = true
            return unsafe first
        }
        unsafe PQclear(first)
        return unsafe second
    }

    private func nextAnswer() -> OpaquePointer? {
        let answer = unsafe nextResult()
        while unsafe answer != nil, let more = unsafe nextResult() { unsafe PQclear(more) }
        return unsafe answer
    }

    /// The last response if sending succeeded (`isSent` is 1); nil otherwise, or if there was none.
    private func lastAnswer(_ isSent: Int32) -> OpaquePointer? {
        guard isSent == 1 else {
            isStale = true
            return nil
        }
        var last = unsafe nextResult()
        while unsafe last != nil, let more = unsafe nextResult() {
            unsafe PQclear(last)
            unsafe last = more
        }
        return unsafe last
    }

    // MARK: Waiting

    /// Milliseconds after which a wait looks around.
    private static let tick: Int32 = 250
    /// The time after which a wait checks the server's pulse.
    private static let patience = Duration.seconds(1)

    /// The next part of an answer; nil at its end, or when waiting for it is given up.
    private func nextResult() -> OpaquePointer? {
        var began: ContinuousClock.Instant?
        while unsafe !isAbandoned && PQisBusy(handle) == 1 {
            let pendingCount = unsafe PQflush(handle)
            if pendingCount < 0 { break }  // the library reports the error
            var request = unsafe pollfd(
                fd: PQsocket(handle),
                events: Int16(pendingCount > 0 ? POLLIN | POLLOUT : POLLIN),
                revents: 0
            )
            let start = began ?? .now
            began = start
            let count = unsafe poll(&request, 1, Self.tick)
            if count > 0, unsafe PQconsumeInput(handle) == 0 { break }
            if count == 0, isInVain(.now - start) { abandon() }
        }
        return isAbandoned ? nil : unsafe PQgetResult(handle)
    }

    private func isInVain(_ waited: Duration) -> Bool {
        if let answerLimit, waited >= answerLimit { return true }
        guard let isServerAway, waited >= Self.patience else { return false }
        return isServerAway()
    }

    /// Gives the connection up; closing it will not wait either.
    private func abandon() {
        isAbandoned = true
        shutdown(unsafe PQsocket(handle), Int32(SHUT_RDWR))
    }

    /// Runs `body`; its errors doom the transaction.
    private func failTransactionOnError<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            if failure == nil {
                failure = error
                failureState = "P0001"
            }
            throw error
        }
    }
}

/// Notices such as "already exists, skipping" would go to standard error.
private func ignoreNotice(_ context: UnsafeMutableRawPointer?, _ message: UnsafePointer<CChar>?) {}

/// Calls `body` with the strings as a list of C strings that ends with nil.
private func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for string in strings {
        starts.append(bytes.count)
        bytes.append(contentsOf: string.utf8CString)
    }
    return unsafe bytes.withUnsafeBufferPointer { buffer in
        var pointers: [UnsafePointer<CChar>?] = unsafe starts.map { start in unsafe buffer.baseAddress.map { unsafe $0 + start } }
        unsafe pointers.append(nil)
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}
