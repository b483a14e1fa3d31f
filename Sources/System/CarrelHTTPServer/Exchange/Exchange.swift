// SPDX-License-Identifier: Apache-2.0

import CMicroHTTPD
import CarrelBytes
import CarrelHTTP
import Glibc
import Synchronization

/// One request and its response, from the request's line to the last byte.
///
/// The connection's thread drives it through libmicrohttpd's callbacks; the handler's task, the watch and a body's reader or
/// writer only set a condition and call ``wake()``. A thread that wants to wait first suspends the connection, then says so, then
/// looks at the condition again; the one that changes it first changes it, then looks whether the other waits. One of them always
/// sees the other, so no wake-up is lost, and only one of them resumes.
// used on the connection's thread only, except `response`, which `isFinished` hands over
final class Exchange: PendingExchange, @unchecked Sendable {
    private enum Stage {
        case head, upload, waiting, gathered, answered
    }

    let worker: Worker
    let connection: Connection
    let startTime = Monotonic.nanoseconds()
    private var handle: MHDConnection { connection.handle }
    private let target: String
    private let targetPart: HeadLayout.Part

    private var stage = Stage.head
    /// As in ``HTTPRequest``; known of a refused request too.
    private(set) var method = ""
    private(set) var id = ""
    private(set) var peer: Peer
    /// Nil if the request was refused before its target was trusted.
    private(set) var request: HTTPRequest?
    private(set) var match: RouteMatch?
    private var upload: UploadBody?
    private var task: Task<Void, Never>?
    private var receivedCount = 0
    private var bodyStarted: Int64 = 0
    /// The announced number of bytes; nil for a body in chunks.
    private var announcedLength: Int?
    /// Whether more bytes of the body may arrive, or of what the client considers a body.
    private var hasOpenBody = false
    /// Whether the connection ends after the answer, whatever the answer is.
    private var isLast = false
    private var isPaused = false
    private var pausedAt: Int64 = 0
    /// Whether the response was written directly, not by the library.
    private var wasSentWhole = false
    /// The response; nil before.
    private(set) var reply: Reply?

    private var response: HTTPResponse?
    private let isFinished = Atomic(false)
    private let isAbandoned = Atomic(false)
    private let isSuspended = Atomic(false)

    init(_ worker: Worker, _ connection: Connection, target: String, at targetPart: HeadLayout.Part) {
        self.worker = worker
        self.connection = connection
        self.target = target
        self.targetPart = targetPart
        peer = connection.peer
        connection.enter(.head, until: startTime / 1_000_000 + worker.core.limits.header)
    }

    // MARK: the connection's thread

    /// The access callback: the header has come (no bytes), bytes of the body, the body's end (no bytes), or a resumption.
    /// The side that sets `count` to 0 has taken the bytes.
    func proceed(
        method: UnsafePointer<CChar>,
        version: UnsafePointer<CChar>,
        bytes: UnsafeRawBufferPointer,
        count: inout Int
    ) -> MHD_Result {
        switch stage {
        case .head: return unsafe begin(method, version)
        case .upload where bytes.count > 0: return unsafe receive(bytes, &count)
        case .upload:
            upload?.finish()
            hasOpenBody = false
            if isAbandoned.load(ordering: .sequentiallyConsistent) { return .NO }
            stage = .waiting
            connection.enter(.handling, until: startTime / 1_000_000 + worker.core.limits.exchange)
            return answer()
        case .waiting: return answer()
        case .gathered:
            if isAbandoned.load(ordering: .sequentiallyConsistent) { return .NO }
            if let reply, let member = reply.member, !member.isMade {
                let returnsAgain = worker.core.gathering.comeBack(member)
                guard member.isMade else {
                    suspend { returnsAgain || member.isMade }
                    return .YES
                }
            }
            return queueReply()
        case .answered: return .NO
        }
    }

    private func begin(_ methodText: UnsafePointer<CChar>, _ versionText: UnsafePointer<CChar>) -> MHD_Result {
        worker.endHead(of: self)
        let core = worker.core
        id = worker.ids.next()
        let (method, version) = unsafe (String(cString: methodText), String(cString: versionText))
        self.method = method
        let layout = unsafe HeadLayout(
            method: .init(start: UInt(bitPattern: methodText), count: strlen(methodText)),
            target: targetPart,
            version: .init(start: UInt(bitPattern: versionText), count: strlen(versionText))
        )
        do throws(HTTPError) {
            let head = try handle.head(layout)
            let headers = head.fields
            try HeadRoom.check(target: target, headers, byteCount: handle.headByteCount)
            let framing = try head.check(method: method, version: version)
            var scheme = connection.isTLS ? "https" : "http"
            var authority = head.host ?? "localhost"
            let certificate = try core.forwarding.certificate(peer, headers) ?? connection.clientCertificate
            if core.forwarding.trusts(peer) {
                peer = core.forwarding.client(headers) ?? peer
                scheme = core.forwarding.scheme(headers) ?? scheme
                authority = core.forwarding.authority(headers) ?? authority
                if let requestID = headers["X-Request-Id"], RequestIDs.isWellFormed(requestID) { id = requestID }
            }
            if authority != worker.knownAuthority {
                let isName = try core.hosts.check(authority, local: connection.localAddress)
                if isName { worker.knownAuthority = authority }
            }
            let body: RequestBody
            switch framing {
            case .none: body = RequestBody()
            case .length(let length): body = uploadBody(length)
            case .chunked: body = uploadBody(nil)
            }
            var request = try HTTPRequest(
                method: HTTPMethod(rawValue: method),
                parsing: target,
                headers: headers,
                scheme: scheme,
                authority: authority,
                peer: peer,
                id: id,
                body: body
            )
            if certificate != nil { request.clientCertificate = certificate }
            self.request = request
            let match = worker.router.match(request)
            self.match = match
            if framing == .chunked {
                guard match.route?.acceptsChunks == true else {
                    throw HTTPError(.lengthRequired, "http.length-required", "send a Content-Length: this takes no chunked body")
                }
                // The chunk framing is not fully visible, so nothing after the chunks is trusted.
                isLast = true
            }
            return start(request, match, framing)
        } catch {
            // A client that sends a body all the same has to be heard out, or it would not read the answer.
            hasOpenBody = true
            let response = worker.router.response(error, toTarget: target, requestID: id)
            guard error.status != .uriTooLong, error.status != .headerFieldsTooLarge else {
                sendLast(response)  // the library may have no room for its head
                return .NO
            }
            return send(response, closing: true)
        }
    }

    /// Whether all of the header has come.
    var hasWholeHead: Bool { handle.headByteCount > 0 }

    /// Refuses the request for its length: the library would do so without telling us, and with two heads. This response is sent
    /// first, and nothing after it.
    func refuseLength() {
        id = worker.ids.next()
        hasOpenBody = true
        sendLast(worker.router.response(RequestGuard.unreadableLength, toTarget: target, requestID: id))
    }

    /// Responds if the library no longer accepts a response.
    private func sendLast(_ response: HTTPResponse) {
        let reply = Reply(response, exchange: self, closing: true)
        self.reply = reply
        stage = .answered
        wasSentWhole = handle.sendLast(reply.text())
    }

    /// The library has no room for the head of the response, of which nothing was sent.
    private func sendPast() {
        guard stage == .answered, !wasSentWhole, let reply else { return }
        hasOpenBody = true
        if reply.isShort {
            wasSentWhole = handle.sendLast(reply.text())
        } else {
            let error = HTTPError(.internalServerError, "http.internal")
            sendLast(worker.router.response(error, toTarget: target, requestID: id))
        }
    }

    private func uploadBody(_ length: Int?) -> RequestBody {
        hasOpenBody = true
        announcedLength = length
        let upload = UploadBody(worker.core.bodies, ClientNetwork(peer, worker.core.forwarding)) { [self] in wake() }
        self.upload = upload
        return RequestBody(length: length, source: upload)
    }

    private func start(_ request: HTTPRequest, _ match: RouteMatch, _ framing: RequestGuard.Framing) -> MHD_Result {
        let limits = worker.core.limits
        if upload == nil {
            stage = .waiting
            connection.enter(.handling, until: startTime / 1_000_000 + limits.exchange)
        } else {
            stage = .upload
            bodyStarted = startTime / 1_000_000
            connection.enter(.body, until: bodyStarted + limits.body)
        }
        let (router, upload) = (worker.router, upload)
        let task = Task.immediate {
            defer { upload?.release() }
            finish(Compression.apply(to: await router.respond(to: request, match), for: request))
        }
        guard !isFinished.load(ordering: .sequentiallyConsistent) else {
            // Answered without the body. A client that waits for 100 or sends a long body gets the response immediately, and the
            // connection ends.
            let waits = request.headers["Expect"] != nil
            let isLong = if case .length(let length) = framing { length > limits.discarded } else { false }
            return upload != nil && (waits || isLong) ? answer(closing: true) : .YES
        }
        self.task = task
        return .YES
    }

    /// Receives bytes of the body, or discards them if the response is ready.
    private func receive(_ bytes: UnsafeRawBufferPointer, _ count: inout Int) -> MHD_Result {
        let limits = worker.core.limits
        let now = Monotonic.milliseconds()
        if isAbandoned.load(ordering: .sequentiallyConsistent) { return .NO }
        if isPaused {
            isPaused = false
            bodyStarted += now - pausedAt
        }
        if let upload, upload.isFull, !isFinished.load(ordering: .sequentiallyConsistent) {
            // The bytes stay with the library: if they were taken, it would continue with the next although it is suspended.
            isPaused = true
            pausedAt = now
            connection.enter(.body, until: startTime / 1_000_000 + limits.exchange)
            suspend { [self] in !upload.isFull || isOver }
            return .YES
        }
        count = 0
        receivedCount += bytes.count
        connection.enter(
            .body,
            until: min(bodyStarted + limits.body + Int64(receivedCount) * 1000 / limits.bodyRate, now + limits.exchange)
        )
        guard let upload, !isFinished.load(ordering: .sequentiallyConsistent) else {
            // The rest of a short body is read, so that the connection can be reused; otherwise the response is sent now.
            if let announcedLength, !isLast, announcedLength - receivedCount <= limits.discarded { return .YES }
            if let response {
                self.response = nil
                sendLast(response)
            }
            return .NO
        }
        unsafe upload.append(Array(bytes))
        return .YES
    }

    /// Whether there is nothing to wait for any more.
    private var isOver: Bool {
        isFinished.load(ordering: .sequentiallyConsistent) || isAbandoned.load(ordering: .sequentiallyConsistent)
    }

    private func answer(closing: Bool = false) -> MHD_Result {
        if isAbandoned.load(ordering: .sequentiallyConsistent) { return .NO }
        if isFinished.load(ordering: .sequentiallyConsistent), let response {
            self.response = nil
            return send(response, closing: closing)
        }
        suspend { [self] in isOver }
        return .YES
    }

    private func send(_ response: HTTPResponse, closing: Bool) -> MHD_Result {
        connection.enter(.writing, until: startTime / 1_000_000 + worker.core.limits.exchange)
        let reply = Reply(response, exchange: self, closing: closing || isLast || worker.core.isDraining.load(ordering: .relaxed))
        self.reply = reply
        guard let member = reply.draft() else { return queueReply() }
        stage = .gathered
        let isFirst = worker.core.gathering.add(member)
        if member.isMade { return queueReply() }
        suspend { isFirst || member.isMade }
        return .YES
    }

    private func queueReply() -> MHD_Result {
        stage = .answered
        return reply?.queue(on: handle) ?? .NO
    }

    /// Suspends the connection until ``wake()``, immediately if `isReady` or if the client is gone. Only inside a callback.
    func suspend(until isReady: () -> Bool) {
        handle.suspend()
        let waiting = Waiting(exchange: self, task: task, upload: upload, stream: reply?.stream)
        if connection.wait(waiting) { abandon() }
        isSuspended.store(true, ordering: .sequentiallyConsistent)
        if isReady() || isAbandoned.load(ordering: .sequentiallyConsistent) { wake() }
    }

    /// The peer is gone.
    private func abandon() {
        Waiting(exchange: self, task: task, upload: upload, stream: reply?.stream).abandon()
    }

    /// The last callback of the request: everything was sent, or it never will be.
    func complete(_ code: MHD_RequestTerminationCode) {
        connection.endWait()
        worker.endHead(of: self)
        if worker.takeLackOfRoom() { sendPast() }
        let wasSent = code == .REQUEST_TERMINATED_COMPLETED_OK || wasSentWhole
        if hasOpenBody, wasSent { handle.lingers = true }
        if code != .REQUEST_TERMINATED_COMPLETED_OK { abandon() }
        if stage == .gathered, let member = reply?.member { worker.core.gathering.leave(member) }
        upload?.fail(HTTPError(.badRequest, "http.body-cut-off", "the body ended before its end"))
        connection.enter(.idle, until: Monotonic.milliseconds() + worker.core.limits.keepAlive)
        record(wasSent: wasSent)
        // What refers to us goes, so that we can.
        reply?.release()
        request = nil
        upload = nil
    }

    /// Whether the client reaches us by TLS, as far as we or a trusted proxy know.
    var isSecure: Bool { connection.isTLS || request?.scheme == "https" }

    // MARK: any thread

    /// The handler's answer.
    private func finish(_ response: HTTPResponse) {
        self.response = response
        isFinished.store(true, ordering: .sequentiallyConsistent)
        wake()
    }

    /// Notes that the client is gone; false if that is known.
    func markAbandoned() -> Bool {
        !isAbandoned.exchange(true, ordering: .sequentiallyConsistent)
    }

    /// Resumes the connection if it is suspended.
    func wake() {
        if isSuspended.compareExchange(expected: true, desired: false, ordering: .sequentiallyConsistent).exchanged {
            handle.resume()
        }
    }
}
