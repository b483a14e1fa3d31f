// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// A response as it came over the wire.
package struct RawResponse: Sendable {
    /// The status code; 0 before there is one.
    package var status = 0
    /// The header fields, their names in lower case.
    package var headers: [(name: String, value: String)] = []
    /// The body without chunk framing.
    package var body: [UInt8] = []

    /// The first field of that name.
    package subscript(name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }
    /// The body as text.
    package var text: String { String(decoding: body, as: UTF8.self) }
}

/// A client that sends exactly the bytes it is told to, on a dedicated thread.
package final class RawClient: Sendable {
    /// A failure of the client.
    package enum Failure: Error { case connect, timeout, closed, notHTTP(String) }

    private let descriptor: Int32
    private let thread = BlockingThreadPool(name: "raw-client", count: 1)
    private let left = Locked<[UInt8]>([])

    /// Connects to a port of 127.0.0.1.
    package init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var on: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        if var size = receiveBuffer {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure.connect }
    }

    deinit { close(descriptor) }

    /// Ends both directions.
    package func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }
    /// Resets the connection, as a program does that closes it with bytes unread.
    package func reset() {
        var nobody = sockaddr(sa_family: UInt16(AF_UNSPEC), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        unsafe connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    }
    /// Ends its own direction.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Sends all of it.
    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends all of it.
    package func send(_ bytes: [UInt8]) async throws {
        try await thread.run { [descriptor] in
            var sent = 0
            while sent < bytes.count {
                let n = unsafe bytes.withUnsafeBytes {
                    unsafe Glibc.send(
                        descriptor,
                        $0.baseAddress.map { unsafe $0 + sent },
                        bytes.count - sent,
                        Int32(MSG_NOSIGNAL)
                    )
                }
                guard n > 0 else { throw Failure.closed }
                sent += n
            }
        }
    }

    /// Whatever comes next, empty at the end.
    package func receive(timeout: Int32 = 10_000) async throws -> [UInt8] {
        try await thread.run { [descriptor] in try Self.read(descriptor, timeout) }
    }

    /// Everything until the server closes.
    package func receiveAll(timeout: Int32 = 10_000) async throws -> [UInt8] {
        var all = left.withLock { $0 }
        left.withLock { $0 = [] }
        while true {
            let more: [UInt8]
            do { more = try await receive(timeout: timeout) } catch Failure.closed { return all }
            if more.isEmpty { return all }
            all += more
        }
    }

    /// The next whole response. A response to HEAD has no body.
    package func response(toHead: Bool = false, timeout: Int32 = 10_000) async throws -> RawResponse {
        var buffer = left.withLock { $0 }
        func more() async throws {
            let bytes = try await receive(timeout: timeout)
            guard !bytes.isEmpty else { throw Failure.closed }
            buffer += bytes
        }
        func end(of mark: String, from start: Int = 0) async throws -> Int {
            let mark = Array(mark.utf8)
            var i = start
            while true {
                while i + mark.count <= buffer.count {
                    if buffer[i..<i + mark.count].elementsEqual(mark) { return i + mark.count }
                    i += 1
                }
                try await more()
            }
        }
        let head = try await end(of: "\r\n\r\n")
        let lines = String(decoding: buffer[..<head], as: UTF8.self).split(separator: "\r\n")
        var response = RawResponse()
        guard let line = lines.first, line.hasPrefix("HTTP/1.1 "), let status = Int(line.dropFirst(9).prefix(3)) else {
            throw Failure.notHTTP(String(decoding: buffer, as: UTF8.self))
        }
        response.status = status
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw Failure.notHTTP(String(line)) }
            response.headers.append((line[..<colon].lowercased(), String(line[line.index(after: colon)...].drop { $0 == " " })))
        }
        var at = head
        if toHead || status == 204 || status == 304 || status < 200 {
            // no body
        } else if response["transfer-encoding"] == "chunked" {
            while true {
                let start = try await end(of: "\r\n", from: at)
                let digits = String(decoding: buffer[at..<start - 2], as: UTF8.self)
                guard let count = Int(digits, radix: 16) else { throw Failure.notHTTP(digits) }
                while buffer.count < start + count + 2 { try await more() }
                response.body += buffer[start..<start + count]
                at = start + count + 2
                if count == 0 { break }
            }
        } else if let length = response["content-length"].flatMap({ Int($0) }) {
            while buffer.count < at + length { try await more() }
            response.body = Array(buffer[at..<at + length])
            at += length
        } else {
            left.withLock { $0 = [] }
            response.body = Array(buffer[at...]) + (try await receiveAll(timeout: timeout))
            return response
        }
        left.withLock { $0 = Array(buffer[at...]) }
        return response
    }

    private static func read(_ descriptor: Int32, _ timeout: Int32) throws -> [UInt8] {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&wait, 1, timeout) > 0 else { throw Failure.timeout }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let n = unsafe buffer.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard n >= 0 else { throw Failure.closed }
        return Array(buffer[..<n])
    }
}
