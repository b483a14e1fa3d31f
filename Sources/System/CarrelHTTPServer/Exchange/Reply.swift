// SPDX-License-Identifier: Apache-2.0

import CMicroHTTPD
import CarrelBytes
import CarrelHTTP
import Glibc

/// A response on its way out, as libmicrohttpd sends it.
final class Reply {
    var status: HTTPStatus { response.status }
    /// Bytes of the body that were made or given to the kernel.
    var sentBytes = 0
    private unowned let exchange: Exchange
    private var response: HTTPResponse
    private let isHead: Bool
    private let closing: Bool
    /// The producer of the body, when a task makes it.
    private(set) var stream: StreamedBody?
    /// The body in the making, when it is made together with others.
    private(set) var member: BodyBatch.Member?

    init(_ response: HTTPResponse, exchange: Exchange, closing: Bool) {
        self.response = response
        self.exchange = exchange
        self.closing = closing
        isHead = exchange.method == "HEAD"
    }

    /// Hands the response to libmicrohttpd, on the connection's thread.
    func queue(on connection: MHDConnection) -> MHD_Result {
        guard let handle = unsafe make() else { return .NO }
        defer { unsafe MHD_destroy_response(handle) }
        guard unsafe addHeaders(to: handle) else {
            response = HTTPError(.internalServerError, "http.internal").response(requestID: exchange.id)
            return .NO
        }
        return unsafe connection.queue(handle, response.status)
    }

    /// Whether ``text()`` is all of the response, and short enough for a socket to take it in one call.
    var isShort: Bool {
        switch response.body {
        case .empty: true
        case .bytes(let bytes): isHead || bytes.count <= 32 * 1024
        case .file, .grouped, .pull, .stream: false
        }
    }

    /// The serialized response, for use without the library. A body that is not in memory is omitted.
    func text() -> [UInt8] {
        var body: [UInt8] = []
        if case .bytes(let bytes) = response.body, !isHead, !response.status.forbidsBody { body = bytes }
        var head = "HTTP/1.1 \(status)\r\nDate: \(Instant.now().httpDate)\r\nContent-Length: \(body.count)\r\n"
        _ = eachField { name, value in
            if Token.isValid(name), Token.isValidFieldValue(value) { head += "\(name): \(value)\r\n" }
            return true
        }
        sentBytes = body.count
        return Array("\(head)\r\n".utf8) + body
    }

    /// Whether a body that was drafted is there.
    var isMade: Bool { member?.isMade ?? true }

    /// Drafts a body that is best generated together with others; nil for other bodies.
    func draft() -> BodyBatch.Member? {
        guard !isHead, !response.status.forbidsBody, case .grouped(let length, let source) = response.body,
            length <= WriteBuffers.size, let buffer = fill(length, { out in try source.draft(into: &out) })
        else { return nil }
        let exchange = exchange
        let member = BodyBatch.Member(source, buffer, length: length) { exchange.wake() }
        self.member = member
        return member
    }

    /// Lets go of what refers back to the exchange.
    func release() {
        stream = nil
        member = nil
    }

    // MARK: bodies

    private func make() -> OpaquePointer? {
        if isHead || response.status.forbidsBody { return unsafe makeUnread() }
        switch response.body {
        case .empty: return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
        case .bytes(let bytes): return unsafe make(bytes)
        case .file(let file, let range): return unsafe make(file, range)
        case .grouped(let length, let source):
            if let member = member.take() { return unsafe make(member) }
            return unsafe make(length, reader: PulledBody(source, reply: self, length: length))
        case .pull(let length?, let source) where length <= WriteBuffers.size:
            guard let buffer = fill(length, { out in try source.readWhole(into: &out) }) else { return unsafe make() }
            return unsafe make(buffer, length)
        case .pull(let length, let source):
            return unsafe make(length, reader: PulledBody(source, reply: self, length: length))
        case .stream(let length, let produce):
            let exchange = exchange
            let stream = StreamedBody(produce) { exchange.wake() }
            self.stream = stream
            return unsafe make(length, reader: StreamReader(stream, length: length, exchange: exchange, reply: self))
        }
    }

    /// A response whose body is never sent: only its length counts.
    private func makeUnread() -> OpaquePointer? {
        guard !response.status.forbidsBody, let length = response.body.length, length > 0 else {
            if response.body.length == nil, !response.status.forbidsBody {
                return unsafe MHD_create_response_from_callback(UInt64.max, 1024, readNothing, nil, nil)
            }
            return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
        }
        return unsafe MHD_create_response_from_callback(UInt64(length), 1024, readNothing, nil, nil)
    }

    private func make(_ bytes: [UInt8]) -> OpaquePointer? {
        sentBytes = bytes.count
        if bytes.count <= 4096 {
            return unsafe bytes.withUnsafeBytes { bytes in
                let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return unsafe MHD_create_response_from_buffer(bytes.count, start, .RESPMEM_MUST_COPY)
            }
        }
        // The array's storage stays where it is while the box holds the only use of it, and no code changes it.
        let box = unsafe Unmanaged.passRetained(PinnedBytes(bytes))
        let start = unsafe box._withUnsafeGuaranteedRef { unsafe $0.start }
        guard
            let handle = unsafe MHD_create_response_from_buffer_with_free_callback_cls(
                bytes.count,
                start,
                releasePinnedBytes,
                box.toOpaque()
            )
        else {
            unsafe box.release()
            return nil
        }
        return unsafe handle
    }

    /// `sendfile`; with TLS that would read through small buffers, so large blocks are read instead.
    private func make(_ file: OpenFile, _ range: Range<Int64>) -> OpaquePointer? {
        guard !range.isEmpty else { return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT) }
        guard !exchange.connection.isTLS else {
            return unsafe make(range.count, reader: PulledBody(FileBody(file, range), reply: self, length: range.count))
        }
        let copy = fcntl(file.fd, F_DUPFD_CLOEXEC, 0)  // libmicrohttpd closes it
        guard copy >= 0 else { return nil }
        sentBytes = range.count
        let handle = unsafe MHD_create_response_from_fd_at_offset64(UInt64(range.count), copy, UInt64(range.lowerBound))
        if unsafe handle == nil { close(copy) }
        return unsafe handle
    }

    /// A body that fits a buffer is generated immediately, so that header and body are sent in one call, and so that a failing
    /// source still produces an error response: nil then.
    private func fill(_ length: Int, _ body: (inout OutputRawSpan) throws -> Void) -> WriteBuffers.Buffer? {
        let buffer = exchange.worker.buffers.take()
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<length])
        do {
            var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
            try body(&out)
            guard unsafe out.finalize(for: room) == length else { throw BodyError.short }
            return buffer
        } catch {
            buffer.giveBack()
            fail(error)
            return nil
        }
    }

    /// Answers that the body could not be made.
    private func fail(_ error: any Error) {
        if let request = exchange.request { exchange.worker.router.unexpectedError?(error, request) }
        response = HTTPError(.internalServerError, "http.internal", "the body could not be made").response(requestID: exchange.id)
    }

    private func make(_ buffer: WriteBuffers.Buffer, _ length: Int) -> OpaquePointer? {
        sentBytes = length
        let context = unsafe Unmanaged.passRetained(buffer).toOpaque()
        let start = unsafe buffer.bytes.baseAddress
        let handle = unsafe MHD_create_response_from_buffer_with_free_callback_cls(length, start, giveBufferBack, context)
        if unsafe handle == nil { unsafe giveBufferBack(context) }
        return unsafe handle
    }

    private func make(_ member: BodyBatch.Member) -> OpaquePointer? {
        guard let error = member.error else { return unsafe make(member.buffer, member.length) }
        member.buffer.giveBack()
        fail(error)
        return unsafe make()
    }

    private func make(_ length: Int?, reader: BodyReader) -> OpaquePointer? {
        let context = unsafe Unmanaged.passRetained(reader)
        let size = length.map(UInt64.init) ?? UInt64.max
        let block = min(length ?? WriteBuffers.size, WriteBuffers.size)
        guard
            let handle = unsafe MHD_create_response_from_callback(size, max(1, block), readBody, context.toOpaque(), releaseBody)
        else {
            unsafe context.release()
            return nil
        }
        return unsafe handle
    }

    // MARK: header

    /// False when a field cannot be sent: a line break in a value would begin another field.
    private func addHeaders(to handle: OpaquePointer) -> Bool {
        eachField { name, value in
            guard unsafe Self.add(name, value, to: handle) else {
                exchange.worker.core.refusedField(name, exchange.request)
                return false
            }
            return true
        }
    }

    /// Passes all fields except body framing, until one is refused.
    ///
    /// - Parameter take: returns false to stop.
    /// - Returns: whether all were accepted.
    private func eachField(_ take: (_ name: String, _ value: String) -> Bool) -> Bool {
        var hasOptions = false
        var hasPolicy = false
        for field in response.headers {
            switch field.name.utf8.count {
            case 4, 10, 14, 17:
                // Date, Connection, Content-Length and Transfer-Encoding are the server's own.
                if ["date", "connection", "content-length", "transfer-encoding"].contains(field.name.lowercased()) { continue }
            case 15: if HTTPFields.same(field.name, "Referrer-Policy") { hasPolicy = true }
            case 22: if HTTPFields.same(field.name, "X-Content-Type-Options") { hasOptions = true }
            default: break
            }
            guard take(field.name, field.value) else { return false }
        }
        if !hasOptions, !take("X-Content-Type-Options", "nosniff") { return false }
        if !hasPolicy, !take("Referrer-Policy", "no-referrer") { return false }
        if let security = exchange.worker.core.transportSecurity, exchange.isSecure {
            guard take("Strict-Transport-Security", security) else { return false }
        }
        return take("X-Request-Id", exchange.id) && (!closing || take("Connection", "close"))
    }

    /// Returns false if the field cannot be sent. Swift's implicit bridging to C would allocate a copy.
    private static func add(_ name: String, _ value: String, to handle: OpaquePointer) -> Bool {
        unsafe name.withCString { name in
            unsafe value.withCString { value in unsafe MHD_add_response_header(handle, name, value) == .YES }
        }
    }
}

/// Blocks of a source.
final class PulledBody: BodyReader {
    private let source: any BodySource
    private unowned let reply: Reply
    private let length: Int?

    init(_ source: any BodySource, reply: Reply, length: Int?) {
        self.source = source
        self.reply = reply
        self.length = length
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        do {
            try source.read(into: &out)
        } catch {
            return Self.failure
        }
        let count = unsafe out.finalize(for: buffer)
        reply.sentBytes += count
        if count == 0 { return length == nil ? Self.end : Self.failure }
        return count
    }
}

/// Chunks of an asynchronous producer.
final class StreamReader: BodyReader {
    private let stream: StreamedBody
    private let length: Int?
    private unowned let exchange: Exchange
    private unowned let reply: Reply
    private var isStarted = false
    private var sentBytes = 0

    init(_ stream: StreamedBody, length: Int?, exchange: Exchange, reply: Reply) {
        self.stream = stream
        self.length = length
        self.exchange = exchange
        self.reply = reply
    }

    deinit {
        stream.close(isWhole: sentBytes == length)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if !isStarted {
            isStarted = true
            stream.start()
        }
        switch unsafe stream.read(into: buffer) {
        case .bytes(let count):
            sentBytes += count
            reply.sentBytes += count
            return count
        case .end: return length == nil ? Self.end : Self.failure
        case .failed: return Self.failure
        case .wait:
            exchange.suspend { stream.isReady }
            return 0
        }
    }
}
