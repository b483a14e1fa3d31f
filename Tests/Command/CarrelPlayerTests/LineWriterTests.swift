// SPDX-License-Identifier: Apache-2.0

@testable import carrel
import CarrelHTTP
import Glibc
import Testing

@Suite(.serialized) struct `Lines of a log` {
    struct Broken: Error {}

    /// Both ends of a pipe whose reader does not read.
    private func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        let status = unsafe Glibc.pipe(&ends)
        try #require(status == 0)
        return (ends[0], ends[1])
    }

    /// Everything that comes, until the other end is closed.
    private func readAll(_ descriptor: Int32) -> String {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += part[..<count]
        }
    }

    @Test func `that find no room are left out and counted, and no caller waits`() async throws {
        let (reading, writing) = try pipe()
        let writer = LineWriter(name: "test-log", to: writing, room: 10_000)
        let line = [UInt8](repeating: 65, count: 99)
        for _ in 0..<5000 { writer.append { $0 += line } }
        let lost = writer.lost
        #expect(lost > 3000 && lost < 5000)
        let reader = Task.detached { readAll(reading) }
        await writer.flush()
        writer.append { $0 += "last".utf8 }
        await writer.flush()
        close(writing)
        let lines = await reader.value.split(separator: "\n")
        #expect(lines.count == 5000 - lost + 2)
        #expect(lines.suffix(2) == ["{\"dropped\":\(lost)}", "last"])
        close(reading)
    }

    @Test func `about errors do not block a request`() async throws {
        let (reading, writing) = try pipe()
        let log = ErrorLog(to: writing)
        for _ in 0..<20_000 { log.write(Broken(), HTTPRequest(.get, "/a")) }
        #expect(log.lost > 0)
        let reader = Task.detached { readAll(reading) }
        await log.flush()
        close(writing)
        #expect(await reader.value.hasPrefix("{\"time\":"))
        close(reading)
    }
}
