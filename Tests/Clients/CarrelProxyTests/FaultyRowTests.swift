// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

/// The faults of an origin in the middle of media, of every kind of source.
struct `A segment of every kind of source` {
    /// Those whose segments are requested one by one: a small file is held whole.
    private static let rows = SourceRow.all.filter { $0.testDescription.hasPrefix("HLS") || $0.testDescription.contains("DASH") }

    private static let faults: [(MadeOrigin.Manner, [ProxyError.Code])] = [
        (.cut(after: 100), [.wrongLength]), (.reset(after: 100), [.wrongLength]), (.status(500), [.unavailable]),
        (.status(404), [.missing, .unavailable, .wrongLength]),
    ]

    @Test(arguments: rows) func `that is cut, reset, refused or damaged fails with its code, and plays when it is whole again`(
        row: SourceRow
    ) async throws {
        let source = try await row.make()
        let origin = MadeOrigin(folder: source.folder)
        origin.put("keys/00112233445566778899aabbccddeeff", [UInt8](0..<16))
        let name = source.address.split(separator: "/").last.map(String.init) ?? ""
        let run = try ProxyRun()
        func segment() async throws -> String {
            let session = try run.proxy.makeURL(origin.url(name), source.type, keys: source.keys)
            return try #require(try await ProxyRun.segments(of: session).dropFirst().first)
        }
        let address = try await segment()
        let before = origin.requests.count
        let clear = try await ProxyRun.get(address)
        try #require(clear.status == 200)
        let path = try #require(origin.requests.dropFirst(before).first)
        for (manner, codes) in Self.faults {
            try await Self.expectFault(of: try await segment(), codes, clear.body, run, "\(manner)") {
                origin.serve(path, manner)
            } mend: {
                origin.serve(path, .plain)
            }
        }
        let whole = try #require(Fixtures.bytes(at: "\(source.folder)/\(path)"))
        try await Self.expectFault(of: try await segment(), [.damaged, .unsupported], clear.body, run, "damaged") {
            origin.put(path, [UInt8](repeating: UInt8(ascii: "<"), count: whole.count))
        } mend: {
            origin.put(path, whole)
        }
        await run.proxy.stop()
        await source.end()
    }

    private static func expectFault(
        of address: String,
        _ codes: [ProxyError.Code],
        _ clear: [UInt8],
        _ run: ProxyRun,
        _ words: String,
        _ spoil: () -> Void,
        mend: () -> Void
    ) async throws {
        _ = run.proxy.takeLastError()
        spoil()
        let got = try? await ProxyRun.get(address)
        #expect(got.map { $0.status >= 400 } ?? true, "\(words)")
        let error = run.proxy.takeLastError()
        #expect(error.map { codes.contains($0.code) } ?? false, "\(words): \(error.map { "\($0)" } ?? "no error")")
        mend()
        let again = try await ProxyRun.get(address)
        #expect(again.status == 200 && again.body == clear, "\(words)")
    }
}
