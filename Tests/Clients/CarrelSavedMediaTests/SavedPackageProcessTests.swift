// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelSavedMedia
import CarrelTesting
import Glibc
import Testing

struct `A process that saves a package` {
    private let directory = TemporaryDirectory()
    private static let program = "\(buildFolder)/SavedPackageProgram"
    private static let key = Secret(Array(repeating: 7, count: 32))

    /// The folder of the products of this build.
    private static var buildFolder: String {
        let path = unsafe realpath("/proc/self/exe", nil)
        defer { unsafe free(path) }
        let executable = unsafe path.map { unsafe String(cString: $0) } ?? ""
        return executable.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }

    private func expectComplete(_ folder: String) throws {
        let package = try SavedPackage.open(folder: folder, key: Self.key)
        #expect(package.isComplete && package.tables.map(\.rows.count) == [23, 12])
        for (stream, table) in package.tables.enumerated() {
            for number in table.rows.indices {
                let bytes = try package.bytes("https://example.test/\(stream)/\(number).ts?ticket=secret")
                var place = 0
                while let next = try bytes.next() {
                    let range = place..<place + next.count
                    #expect(next == range.map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7 &+ stream) })
                    place += next.count
                }
                #expect(Int64(place) == bytes.length)
            }
        }
    }

    @Test(arguments: [SealMode.keys, .all])
    func `and is killed at any moment continues, and loses nothing`(mode: SealMode) async throws {
        let (folder, journal) = (directory.file("package"), directory.file("journal"))
        var numbers = SplitMix(seed: 28)
        var kills = 0
        for _ in 0..<10 {
            let arguments = [Self.program, folder, journal, mode.rawValue]
            let delay = Int.random(in: 1...60, using: &numbers)
            let line = "exec timeout -s KILL 0.0\(delay < 10 ? "0" : "")\(delay) \"$@\""
            let result = try await runProcess(["sh", "-c", line, "sh"] + arguments, timeout: .seconds(60))
            #expect(!result.text.contains("saved."), "\(result.text)")
            if result.text.contains("complete") { break }
            kills += 1
        }
        let last = try await runProcess([Self.program, folder, journal, mode.rawValue], timeout: .seconds(60))
        #expect(last.text == "complete\n", "\(last.text) \(last.errorText)")
        #expect(kills > 0)
        try expectComplete(folder)
    }

    /// Whatever the write at which the disk becomes full.
    @Test(
        .enabled("this system gives tests no mounts of their own (unshare -Urm)") { await Self.mayMount() },
        arguments: [SealMode.keys, .all]
    )
    func `on a full disk says so, and continues once there is room`(mode: SealMode) async throws {
        let disk = directory.file("disk")
        unsafe mkdir(disk, 0o700)
        let text = """
            mount -t tmpfs -o size=64k tmpfs \(disk) || exit 99
            for size in 8 16 24 32 40 48 64 80 128 256 400 600 800 1000 1200; do
                mount -o remount,size=${size}k \(disk)
                "$1" \(disk)/package \(directory.file("journal")) \(mode.rawValue) | tail -n 1
            done
            mount -o remount,size=16m \(disk)
            "$1" \(disk)/package \(directory.file("journal")) \(mode.rawValue)
            cp -r \(disk)/package \(directory.file("package"))
            """
        let result = try await runProcess(["unshare", "-Urm", "bash", "-uc", text, "bash", Self.program], timeout: .seconds(120))
        let lines = result.text.split(separator: "\n")
        #expect(lines.count { $0 == "saved.disk-full" } > 5, "\(result.text) \(result.errorText)")
        #expect(lines.allSatisfy { $0 == "saved.disk-full" || $0 == "complete" }, "\(result.text)")
        #expect(lines.last == "complete")
        try expectComplete(directory.file("package"))
    }

    private static func mayMount() async -> Bool {
        let directory = TemporaryDirectory()
        let probe = try? await runProcess(["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", directory.path])
        return probe?.status.isSuccess ?? false
    }
}
