// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelPlayer
import CarrelTesting
import Testing

/// Downloads on small file systems in memory, in namespaces of the test's own.
struct `A full disk` {
    private static func mountsAreAllowed() async -> Bool {
        (try? await runProcess(["unshare", "-Urm", "true"]))?.status == .exited(0)
    }

    /// Runs a script with a reader's folder of `size` KiB; the vault is elsewhere.
    private func run(_ script: String, size: Int, _ world: DownloadWorld, _ url: String) async throws -> String {
        let folder = world.directory.file("small")
        let engine = try await world.engine()
        await engine.shutdown()
        let lines = [
            "set -e", "mkdir -p \(folder)", "mount -t tmpfs -o size=\(size)k,mode=700 tmpfs \(folder)", "cd \(folder)",
            "program() { \(programFolder)/DownloadProgram \(folder) \"$@\" || true; }", script,
        ]
        let environment = [
            "CARREL_VAULT_PASSPHRASE": DownloadWorld.passphrase, "CARREL_VAULT_FOLDER": "\(world.reader)/vault",
            "PATH": "/usr/bin:/bin:/usr/sbin",
            "URL": url,
        ]
        let result = try await runProcess(
            ["unshare", "-Urm", "bash", "-c", lines.joined(separator: "\n")],
            environment: environment,
            timeout: .seconds(60)
        )
        #expect(result.status == .exited(0), "\(result.text)\(result.errorText)")
        return result.text
    }

    /// From a disk without room for the journal to one that is almost large enough.
    @Test(
        .enabled("this system gives tests no mounts of their own (unshare -Urm)") { await mountsAreAllowed() },
        arguments: [60, 150, 250, 350, 450, 550, 700, 850, 1000]
    )
    func `ends an item with its reason, and it continues when there is room`(_ size: Int) async throws {
        let world = DownloadWorld(count: 30, size: 20_000)
        // the estimate is too small
        world.server.setBandwidth(1000)
        let output = try await run(
            """
            program add "$URL" whole-disk
            mount -o remount,size=64m .
            program add "$URL" whole-disk
            cat downloads/*/0-1/*.frag | sha256sum
            ls downloads/*/0-1 | grep -c frag
            """,
            size: size,
            world,
            world.server.url
        )
        let lines = output.split(separator: "\n").map(String.init)
        let first = try #require(lines.first)
        #expect(
            first.contains("disk") && first.contains("full")
                || first.hasPrefix("failed") && first.hasSuffix("download.disk-full"),
            "\(first)"
        )
        #expect(lines.dropFirst().first?.hasPrefix("completed") == true, "\(output)")
        #expect(lines.last == "30")
        let counts = world.server.segments.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        #expect(counts.count == 30)
    }

    @Test(.enabled("this system gives tests no mounts of their own (unshare -Urm)") { await mountsAreAllowed() })
    func `does not hinder a deletion`() async throws {
        let world = DownloadWorld(count: 10, size: 20_000)
        let output = try await run(
            """
            program add "$URL" whole-disk
            cat /dev/zero > filler 2>/dev/null || true
            id=$(ls downloads | grep -E '^[a-z2-7]{26}$')
            CARREL_VAULT_FOLDER=/nonexistent program delete $id
            ls -A downloads
            program run whole-disk
            """,
            size: 4000,
            world,
            world.server.url
        )
        #expect(output.hasPrefix("completed"))
        let rest = output.split(separator: "\n").dropFirst().map(String.init)
        #expect(
            Set(rest).isSubset(of: [".lock", ".reserve", "downloads.sqlite", "downloads.sqlite-wal", "downloads.sqlite-shm"]),
            "\(output)"
        )
    }
}
