// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// One connection to a ``LoopbackServer``, from the server's side. Calls block.
package final class LoopbackConnection: Sendable {
    private let descriptor: Int32
    private let isClosed = Locked(false)
    private let unread = Locked<[UInt8]>([])

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Reads the received bytes, waiting for the first; nil if the peer has hung up.
    package func read() -> [UInt8]? {
        let held = unread.withLock { unread in
            defer { unread = [] }
            return unread
        }
        return held.isEmpty ? receive() : held
    }

    private func receive() -> [UInt8]? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
            count = unsafe max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// Whether something arrives, or the peer hangs up, within the time.
    package func waitToRead(milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, milliseconds) != 0
    }

    /// Reads exactly `count` bytes; nil if the peer hung up before.
    package func read(_ count: Int) -> [UInt8]? {
        if count == 0 { return [] }
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = read() else { return nil }
            bytes += more
        }
        unread.withLock { $0 = Array(bytes[count...]) }
        return Array(bytes[..<count])
    }

    /// Everything up to and including `end`, or nil if the peer hung up before.
    package func read(through end: String) -> String? {
        let mark = Array(end.utf8)
        var bytes: [UInt8] = []
        while let more = read() {
            let from = max(0, bytes.count - mark.count)
            bytes += more
            guard bytes.count >= mark.count else { continue }
            for start in from...(bytes.count - mark.count) where bytes[start...].starts(with: mark) {
                unread.withLock { $0 = Array(bytes[(start + mark.count)...]) }
                return String(decoding: bytes[..<(start + mark.count)], as: UTF8.self)
            }
        }
        return nil
    }

    /// The next HTTP/1.1 request with its body, by Content-Length or chunked; nil if the peer hung up.
    package func readRequest() -> LoopbackRequest? {
        guard let head = read(through: "\r\n\r\n"), var request = LoopbackRequest(head: head) else { return nil }
        if request["Expect"] == "100-continue" { write("HTTP/1.1 100 Continue\r\n\r\n") }
        if let length = request["Content-Length"].flatMap({ Int($0) }) {
            guard let body = read(length) else { return nil }
            request.body = body
        } else if request["Transfer-Encoding"] == "chunked" {
            while let size = read(through: "\r\n").flatMap({ Int($0.split(separator: "\r\n")[0], radix: 16) }) {
                guard let chunk = read(size), read(2) != nil else { return nil }
                request.body += chunk
                if size == 0 { break }
            }
        }
        return request
    }

    /// Sends bytes; false if the peer has hung up.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes { rest in
                unsafe send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Sends text; false if the peer has hung up.
    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Sends a whole HTTP/1.1 response with Content-Length; `fields` are lines.
    @discardableResult
    package func respond(_ status: Int = 200, _ fields: [String] = [], body: [UInt8] = []) -> Bool {
        let lines = ["HTTP/1.1 \(status) Test"] + fields + ["Content-Length: \(body.count)", "", ""]
        return write(Array(lines.joined(separator: "\r\n").utf8) + body)
    }

    /// Ends the connection both ways; blocked calls return.
    package func hangUp() {
        isClosed.withLock { isClosed in
            if !isClosed { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Makes the end of the connection a reset.
    package func resetOnClose() {
        var value = Glibc.linger(l_onoff: 1, l_linger: 0)
        let length = socklen_t(MemoryLayout<Glibc.linger>.size)
        let wasSet = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, length) == 0
        precondition(wasSet, "the connection cannot be reset")
    }

    func close() {
        isClosed.withLock { isClosed in
            if !isClosed { Glibc.close(descriptor) }
            isClosed = true
        }
    }
}
