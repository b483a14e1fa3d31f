// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

@testable import CarrelPublication

@Suite("A hostile PDF document")
struct HostilePDFTests {
    private let directory = TemporaryDirectory()
    private static let isSanitized = unsafe getenv("CARREL_SANITIZER") != nil

    /// Memory and time are of the processes that read it, too.
    @Test func `that is small ends within the memory and the time, or is refused with the limit, which grows with the file`()
        async throws
    {
        let script = "\(Repository.path)/Benchmarks/PublicationBench/hostile-pdf"
        try await checkProcess([try requirePeer("python3"), script, directory.path])
        let names = try await FolderFetcher(path: directory.path).links().map(\.href)
        #expect(names.count == 17)
        for name in names {
            let opened = try await OpenedElsewhere(directory.file(name), seconds: OpenedElsewhere.hostileSeconds)
            #expect(opened.peak < 64, "MiB of \(name)")
            #expect(Self.isSanitized || opened.work < Double(OpenedElsewhere.hostileSeconds), "\(name)")
            // these two unpack to 240 MiB
            let isBomb = name == "objects.pdf" || name == "table.pdf"
            #expect(
                opened.outcome == "opening.parsing-failed" || opened.outcome == "open" && !isBomb,
                "\(name): \(opened.message)"
            )
            if isBomb, !Self.isSanitized {
                #expect(opened.message.contains("64 times the size of the file"), "\(name): \(opened.message)")
            }
        }
    }
}
