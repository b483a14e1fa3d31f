// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

/// The folder that the package is in.
let repository = Repository.path

/// A folder of programs to put in the place of PATH: links to the real ones, and scripts that stand in for what must not run.
struct FakePath {
    let directory = TemporaryDirectory()

    /// - Parameters:
    ///   - real: programs that stay as they are.
    ///   - fake: shell scripts in the place of others; each also writes its arguments as a line of the file `calls`.
    /// - Throws: what skips the test where a real program is not installed.
    init(real: [String], fake: [String: String]) async throws {
        for name in real {
            let path = try requirePeer(name)
            try await checkProcess(["ln", "-s", path, directory.file(name)])
        }
        for (name, body) in fake {
            let path = directory.write(name, "#!/bin/sh\necho \"\(name) $*\" >>\"\(directory.path)/calls\"\n\(body)\n")
            try await checkProcess(["chmod", "+x", path])
        }
    }

    var environment: [String: String] { ["PATH": directory.path] }

    /// What the stand-ins were called with, a line a call.
    var calls: [String] { String(decoding: directory.read("calls") ?? [], as: UTF8.self).split(separator: "\n").map(String.init) }
}
