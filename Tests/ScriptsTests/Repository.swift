// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

/// The folder that the package is in.
let repository = Repository.path

/// A folder of programs to put in the place of PATH: links to the real ones, and scripts that stand in for what must not run.
struct FakePath {
    let directory = TemporaryDirectory()

    /// - Parameters:
    ///   - real: real programs.
    ///   - fake: shell scripts that replace others; each also writes its arguments as a line of the file `calls`.
    /// - Throws: an error that skips the test if a real program is not installed.
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

    /// The arguments of each call of the stand-ins, one line per call.
    var calls: [String] { String(decoding: directory.read("calls") ?? [], as: UTF8.self).split(separator: "\n").map(String.init) }
}
