// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelThreads
import Glibc

/// A connection to Marionette: packets `LENGTH:JSON`, a command `[0, id, name, parameters]`, its response `[1, id, error, result]`.
final class MarionetteConnection: Sendable {
    private let descriptor: Int32
    private let thread = BlockingThreadPool(name: "marionette", count: 1)
    private let lastID = Locked(0)

    init(port: UInt16) async throws {
        let descriptor = LoopbackPort.connect(port)
        guard descriptor >= 0 else { throw BrowserError("disconnected", "Firefox does not accept a connection") }
        self.descriptor = descriptor
        var limit = timeval(tv_sec: 180, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let greeting = try await thread.run { try readPacket(descriptor) }
        guard greeting["marionetteProtocol"]?.int == 3 else {
            throw BrowserError("disconnected", "Firefox speaks another protocol: \(greeting)")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a command and returns the `value` of its result, or the result itself where it has none.
    func send(_ name: String, _ parameters: JSONObject) async throws -> JSON {
        let id = lastID.withLock { id in
            id += 1
            return id
        }
        let descriptor = descriptor
        let response = try await thread.run { () throws in
            try writePacket(descriptor, [0, .integer(id), .string(name), .object(parameters)])
            return try readPacket(descriptor)
        }
        guard let parts = response.array, parts.count == 4, parts[1].int == id else {
            throw BrowserError("disconnected", "Firefox answers something else than was asked")
        }
        if let code = parts[2]["error"]?.string { throw BrowserError(code, parts[2]["message"]?.string ?? "") }
        return parts[3]["value"] ?? parts[3]
    }
}

private func writePacket(_ descriptor: Int32, _ packet: JSON) throws {
    let text = packet.write()
    let bytes = Array("\(text.count):".utf8) + text
    var sent = 0
    while sent < bytes.count {
        let count = unsafe bytes[sent...].withUnsafeBytes { rest in
            unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw BrowserError("disconnected", "Firefox has hung up") }
        sent += count
    }
}

private func readPacket(_ descriptor: Int32) throws -> JSON {
    var length = 0
    while true {
        let digit = try read(descriptor, 1)[0]
        if digit == UInt8(ascii: ":") { break }
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit), length < 1 << 28 else {
            throw BrowserError("disconnected", "Firefox sends no packet")
        }
        length = length * 10 + Int(digit - UInt8(ascii: "0"))
    }
    let bytes = try read(descriptor, length)
    return try JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 256, byteCount: 1 << 28))
}

private func read(_ descriptor: Int32, _ count: Int) throws -> [UInt8] {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        while filled < count {
            let got = unsafe recv(descriptor, buffer.baseAddress.map { unsafe $0 + filled }, count - filled, 0)
            if got <= 0 { return }
            filled += got
        }
    }
    guard bytes.count == count else { throw BrowserError("disconnected", "Firefox has hung up, or is silent") }
    return bytes
}
