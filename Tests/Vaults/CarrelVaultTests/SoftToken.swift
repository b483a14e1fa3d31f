// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// SoftHSM with tokens of this run's own.
final class SoftToken: Sendable {
    static let label = "carrel test"
    static let other = "carrel other"
    /// A token that a test lists: SoftHSM shows keys that are being made.
    static let inspected = "carrel inspected"
    /// A token whose sessions a test ends.
    static let unsteady = "carrel unsteady"
    static let pin = "123456"

    let module: String
    let directory: TemporaryDirectory

    private static let modules = [
        "/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm.so", "/usr/local/lib/softhsm/libsofthsm2.so",
    ]
    private static let starting = Locked<Task<SoftToken, any Error>?>(nil)

    /// The tokens, made by the first call.
    static func shared() async throws -> SoftToken {
        let tool = try requirePeer("softhsm2-util")
        guard let module = modules.first(where: { unsafe access($0, R_OK) == 0 }) else {
            try Test.cancel("softhsm2-util is installed without its module: nothing to test against")
        }
        let task = starting.withLock { task in
            if let task { return task }
            let new = Task { try await SoftToken(tool, module) }
            task = new
            atexit { SoftToken.stop() }
            return new
        }
        return try await task.value
    }

    /// Ends it with the run, and removes its files.
    private static func stop() {
        starting.withLock { $0 = nil }
    }

    private init(_ tool: String, _ module: String) async throws {
        directory = TemporaryDirectory()
        let tokens = directory.file("tokens")
        try await checkProcess(["mkdir", tokens])
        let file = directory.write(
            "softhsm2.conf",
            "directories.tokendir = \(tokens)\nobjectstore.backend = file\nlog.level = ERROR\n"
        )
        self.module = module
        unsafe setenv("SOFTHSM2_CONF", file, 1)
        for label in [Self.label, Self.other, Self.inspected, Self.unsteady] {
            try await checkProcess([tool, "--init-token", "--free", "--label", label, "--pin", Self.pin, "--so-pin", "87654321"])
        }
    }
}
