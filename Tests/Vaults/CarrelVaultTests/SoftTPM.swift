// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// A simulated TPM of this run's own.
final class SoftTPM: Sendable {
    let tcti: String
    private let directory: TemporaryDirectory
    private let process: BackgroundProcess

    private static let starting = Locked<Task<SoftTPM, any Error>?>(nil)

    /// The TPM of most tests, started by the first call.
    static func shared() async throws -> SoftTPM {
        _ = try requirePeer("swtpm")
        let task = starting.withLock { task in
            if let task { return task }
            let new = Task { try await SoftTPM() }
            task = new
            atexit { SoftTPM.stop() }
            return new
        }
        return try await task.value
    }

    /// Ends it with the run, and removes its files.
    private static func stop() {
        starting.withLock { $0 = nil }
    }

    /// A TPM of a test's own.
    init() async throws {
        let program = try requirePeer("swtpm")
        // libtss2 writes its own messages to standard error
        unsafe setenv("TSS2_LOG", "all+none", 1)
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            let directory = TemporaryDirectory()
            let process = try BackgroundProcess([
                program, "socket", "--tpm2", "--tpmstate", "dir=\(directory.path)", "--server", "type=tcp,port=\(port)", "--ctrl",
                "type=tcp,port=\(port + 1)", "--flags", "not-need-init,startup-clear",
            ])
            // its control port is tried: a connection to the other would be the only one
            guard (try? await process.waitForPort(port + 1, timeout: .seconds(5))) != nil else { continue }
            (self.directory, self.process) = (directory, process)
            tcti = "swtpm:host=127.0.0.1,port=\(port)"
            return
        }
        throw ProcessError(.notStarted, "swtpm found no two ports")
    }

    /// Runs one of tpm2-tools.
    func run(_ arguments: [String]) async throws -> ProcessResult {
        try await runProcess([try requirePeer(arguments[0]), "--tcti", tcti] + arguments.dropFirst())
    }

    /// The objects and sessions in the TPM.
    func handles() async throws -> String {
        _ = try requirePeer("tpm2_getcap")
        var found = ""
        for kind in ["handles-transient", "handles-loaded-session", "handles-saved-session", "handles-persistent"] {
            let result = try await run(["tpm2_getcap", kind])
            #expect(result.status.isSuccess, "\(result.errorText)")
            found += result.text
        }
        return found
    }
}
