// SPDX-License-Identifier: Apache-2.0

import CCurl
import CarrelBytes
import CarrelHTTP
import CarrelThreads
import Glibc

/// A request in progress, shared by libcurl's callbacks and the waiting task.
@safe
final class Transfer: @unchecked Sendable {  // all that is not in `state` is the loop's alone
    /// The destination of the body.
    enum Sink: Sendable {
        case collect
        case stream
        /// Into a regular file, if the response is the expected one.
        case file(Int32, Continuation)
    }

    enum Receipt {
        case took
        case pause
        case stop
    }

    /// The part of a file that the response continues.
    struct Continuation: Sendable {
        /// The file position of the response's first byte.
        var offset: Int64
        /// The validator of the bytes before it (`If-Range`, RFC 9110 §13.1.5): a whole response then replaces them.
        var validator: String?
    }

    /// The events that wait for the task.
    struct State: Sendable {
        var response: ClientResponse?
        var buffer: [UInt8] = []
        var receivedCount: Int64 = 0
        /// Whether a buffer has filled before its consumer took it.
        fileprivate var isFast = false
        /// Whether libcurl holds back until the buffer is taken.
        var isPaused = false
        var outcome: Result<Void, HTTPClientError>?
        fileprivate var changes = 0
        fileprivate var waiter: CheckedContinuation<Void, Never>?
    }

    /// Bytes a stream holds for its consumer before it makes the server wait.
    static let highWater = 256 << 10
    /// Bytes kept of a body of another status: a refusal's words, a redirect's page.
    static let asideLimit = 64 << 10

    let easy: EasyHandle
    let upload: Upload
    private let request: ClientRequest
    private let sink: Sink
    /// For this URL.
    private let addresses: AddressRule
    /// For all that it may lead to.
    private let rule: AddressRule
    private let loop: CurlLoop
    private let state = Locked(State())

    /// The file position of the response's first byte.
    private var fileOffset: Int64 = 0
    private var head = ResponseHead()
    private var isAside = false
    private var isCutShort = false
    private var isRefused = false
    /// Whether a reused connection leads to an address that this request must not use.
    private var isReuseRefused = false
    private var connectsAnew = false
    private var error: HTTPClientError?
    /// Whether the task is to be woken when libcurl has done all it could.
    private var hasNews = false {
        didSet { if hasNews, !oldValue { loop.add(news: self) } }
    }
    private let startTime = ContinuousClock.now

    private var isStream: Bool { if case .stream = sink { true } else { false } }

    init(_ request: ClientRequest, sink: Sink, easy: EasyHandle, addresses: AddressRule, loop: CurlLoop) {
        self.request = request
        self.sink = sink
        self.easy = easy
        self.addresses = addresses.resolved(for: request.url)
        rule = addresses
        self.loop = loop
        upload = Upload(request.body)
    }

    // MARK: - on the loop's thread

    /// Whether the connection of each request has to be judged.
    var judgesConnections: Bool { !addresses.isAny }

    /// Judges the address of a new connection.
    func mayConnect(to address: [UInt8]) -> Bool {
        let isAllowed = addresses.allows(address)
        if !isAllowed { isRefused = true }
        return isAllowed
    }

    /// Checks the address of the connection that the request would use, which another request may have opened.
    func maySend(to address: [UInt8]) -> Bool {
        let isAllowed = addresses.allows(address)
        if isAllowed { rule.note(address, for: request.url) } else { (isRefused, isReuseRefused) = (true, true) }
        return isAllowed
    }

    /// Whether to retry the request on a new connection, because the reused one is not allowed for it. Nothing of it has been
    /// sent.
    func retries(after result: CURLcode) -> Bool {
        guard result == CURLE_ABORTED_BY_CALLBACK, isReuseRefused, !connectsAnew else { return false }
        (isRefused, isReuseRefused, connectsAnew) = (false, false, true)
        easy.connectAnew(within: request.timeouts.total - startTime.duration(to: .now))
        return true
    }

    func receiveHeadLine(_ line: RawSpan) -> Bool {
        do throws(HTTPClientError) {
            if try head.take(line) { try begin() }
            return true
        } catch {
            self.error = error
            return false
        }
    }

    /// The head is complete: decide the destination of the body.
    private func begin() throws(HTTPClientError) {
        guard let status = head.status else { throw HTTPClientError(.head, "the response has no status") }
        isAside = request.maxRedirects > 0 && Redirect.leads(status, head.fields)
        if case .file(let descriptor, let continuation) = sink, !isAside {
            if (200..<300).contains(status.rawValue) {
                try beginFile(descriptor, continuation, status)
            } else {
                isAside = true
            }
        }
        if !isAside, request.method != .head, head.fields["Content-Encoding"] == nil,
            let length = head.fields["Content-Length"].flatMap({ Int64($0) }), length > request.maxResponseBytes
        {
            throw tooLarge
        }
        let url = try request.urlWithoutCredentials
        let response = ClientResponse(status: status, headers: head.fields, url: url, version: head.version)
        state.withLock { $0.response = response }
        if isStream { hasNews = true }
    }

    /// Decides where in the file the response begins: a resource that changed replaces the bytes that the file has.
    private func beginFile(
        _ descriptor: Int32,
        _ continuation: Continuation,
        _ status: HTTPStatus
    ) throws(HTTPClientError) {
        let offset = continuation.offset
        guard offset > 0 else { return }
        if status == .ok, continuation.validator != nil {
            guard ftruncate(descriptor, 0) == 0 else { throw Self.writeFailure() }
            return
        }
        let contentRange = head.fields["Content-Range"] ?? ""
        let known = [head.fields["ETag"], head.fields["Last-Modified"]].compactMap(\.self)
        // a server that ignores If-Range may send a part of another version
        let isSame = continuation.validator.map { known.isEmpty || known.contains($0) } ?? true
        guard status == .partialContent, isSame, contentRange.hasPrefix("bytes \(offset)-") else {
            throw HTTPClientError(.range, "the server did not answer with the bytes from \(offset) on")
        }
        fileOffset = offset
    }

    private static func writeFailure() -> HTTPClientError {
        let reason = unsafe String(cString: strerror(errno))
        return HTTPClientError(.write, "the response cannot be written to the file: \(reason)")
    }

    private var tooLarge: HTTPClientError {
        HTTPClientError(.tooLarge, "the response is longer than \(request.maxResponseBytes) bytes")
    }

    func receiveBody(_ part: UnsafeRawBufferPointer) -> Receipt {
        if let pause = request.bandwidthLimits.lazy.compactMap({ $0.pause() }).max() {
            loop.postpone(self, by: pause)
            return .pause
        }
        let receipt = unsafe deliver(part)
        if case .took = receipt { for limit in request.bandwidthLimits { limit.take(part.count) } }
        return receipt
    }

    private func deliver(_ part: UnsafeRawBufferPointer) -> Receipt {
        if isAside { return unsafe receiveAside(part) }
        switch sink {
        case .collect:
            return state.withLock { state in unsafe append(part, &state) }
        case .stream:
            let receipt: Receipt = state.withLock { state in
                if state.buffer.count >= Self.highWater {
                    state.isPaused = true
                    return .pause
                }
                return unsafe append(part, &state)
            }
            if case .took = receipt { hasNews = true }
            return receipt
        case .file(let descriptor, _):
            return unsafe write(part, descriptor)
        }
    }

    private func append(_ part: UnsafeRawBufferPointer, _ state: inout State) -> Receipt {
        if isStream {
            // a buffer that fills is not grown step by step
            if state.buffer.isEmpty {
                state.buffer.reserveCapacity(state.isFast ? Self.highWater + (16 << 10) : Self.highWater / 2)
            }
            if state.buffer.count > Self.highWater / 2 { state.isFast = true }
        }
        state.receivedCount += Int64(part.count)
        guard state.receivedCount <= request.maxResponseBytes else {
            error = tooLarge
            return .stop
        }
        unsafe state.buffer.append(contentsOf: part)
        return .took
    }

    /// Keeps the beginning of a body of another status, and does not wait for more than that.
    private func receiveAside(_ part: UnsafeRawBufferPointer) -> Receipt {
        let limit = min(Int64(Self.asideLimit), request.maxResponseBytes)
        isCutShort = state.withLock { state in
            let room = Int(limit) - state.buffer.count
            unsafe state.buffer.append(contentsOf: part.prefix(room))
            state.receivedCount += Int64(min(room, part.count))
            return part.count > room
        }
        return isCutShort ? .stop : .took
    }

    private func write(_ part: UnsafeRawBufferPointer, _ descriptor: Int32) -> Receipt {
        let receivedCount = state.withLock { $0.receivedCount }
        guard receivedCount + Int64(part.count) <= request.maxResponseBytes else {
            error = tooLarge
            return .stop
        }
        var writtenCount = 0
        while writtenCount < part.count {
            let remainder = unsafe UnsafeRawBufferPointer(rebasing: part[writtenCount...])
            let count = unsafe pwrite(
                descriptor,
                remainder.baseAddress,
                remainder.count,
                off_t(fileOffset + receivedCount) + off_t(writtenCount)
            )
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                error = Self.writeFailure()
                return .stop
            }
            writtenCount += count
        }
        state.withLock { $0.receivedCount = receivedCount + Int64(writtenCount) }
        return .took
    }

    /// The error for a result of libcurl.
    func outcome(of result: CURLcode) -> Result<Void, HTTPClientError> {
        if let error { return .failure(error) }
        if upload.hasFailed {
            return .failure(HTTPClientError(.body, "the request's body failed, or is not as long as was said"))
        }
        if result == CURLE_OK || isCutShort {
            guard head.isComplete else { return .failure(HTTPClientError(.head, "the response has no head")) }
            return .success(())
        }
        if isRefused, result == CURLE_COULDNT_CONNECT || result == CURLE_ABORTED_BY_CALLBACK {
            return .failure(HTTPClientError(.address, "connecting to the host's address is not allowed"))
        }
        return .failure(HTTPClientError(result, easy, request, startTime))
    }

    func finish(_ outcome: Result<Void, HTTPClientError>) {
        state.withLock { $0.outcome = outcome }
        wake()
    }

    /// Wakes the task to check for news.
    func wake() {
        hasNews = false
        let waiter = state.withLock { state in
            state.changes += 1
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    // MARK: - in the request's task

    /// Waits until `take` returns something; it is called now and after every change. Cancelling the task calls `cancel`.
    func wait<Taken: Sendable>(
        cancel: @escaping @Sendable () -> Void,
        _ take: @Sendable (inout State) -> Taken?
    ) async -> Taken {
        await withTaskCancellationHandler {
            while true {
                let (event, changes) = state.withLock { (take(&$0), $0.changes) }
                if let event { return event }
                await withCheckedContinuation { continuation in
                    let hasChanged = state.withLock { state in
                        guard state.changes == changes else { return true }
                        precondition(state.waiter == nil, "two tasks take from one stream")
                        state.waiter = continuation
                        return false
                    }
                    if hasChanged { continuation.resume() }
                }
            }
        } onCancel: {
            cancel()
        }
    }
}
