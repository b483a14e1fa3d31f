// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

struct `scripts/release` {
    /// A clone of the repository in which a version may be made.
    private struct Clone {
        let directory = TemporaryDirectory()
        private let git: String
        var path: String { directory.file("carrel") }

        init() async throws {
            git = try requirePeer("git")
            try await checkProcess([git, "clone", "--quiet", repository, path])
            // the work tree's version; the lint itself is slow, and has its own tests
            try await checkProcess(["cp", "\(repository)/scripts/release", "\(path)/scripts/release"])
            write("scripts/lint", "#!/bin/sh\nexec test ! -e Sources/Command/carrel/Broken.swift\n")
            write("Sources/Command/carrel/Version.swift", "enum Version {\n    static let text = \"0.9.1\"\n}\n")
            write(
                "CHANGELOG.md",
                "# Changelog\n\n## [Unreleased]\n\n## [0.9.1] - 2026-11-30\n\n### Added\n- Releases.\n\n## [0.9.0] - 2026-11-01\n\n- Old.\n"
            )
            try await commit()
        }

        func write(_ name: String, _ text: String) { directory.write("carrel/\(name)", text) }

        func run(_ arguments: String...) async throws -> String {
            let author = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
            return try await checkProcess([git, "-C", path] + author + arguments)
        }

        /// Commits everything; all tests pass on it.
        func commit() async throws {
            _ = try await run("add", "-A")
            _ = try await run("commit", "--quiet", "--allow-empty", "-m", "Test: change")
            try await pass()
        }

        func pass() async throws {
            try await checkProcess(["mkdir", "-p", "\(path)/.build"])
            write(".build/tests-passed", try await run("rev-parse", "HEAD"))
        }

        func release(_ arguments: String...) async throws -> ProcessResult {
            try await runProcess(["\(path)/scripts/release"] + arguments, environment: Self.environment)
        }

        /// With a name for the tag's maker, and no settings of the machine's.
        private static let environment = [
            "PATH": unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin", "GIT_COMMITTER_NAME": "Test",
            "GIT_COMMITTER_EMAIL": "test@example.org", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent",
        ]
    }

    @Test func `refuses an unfinished version, and reports the missing parts`() async throws {
        let clone = try await Clone()
        for bad in ["", "0.9", "v0.9.1", "0.9.01", "0.9.1-beta", "0.9.1 "] {
            let result = try await clone.release(bad)
            #expect(result.status == .exited(64), "\(bad)")
        }
        #expect(try await clone.release().status == .exited(64))

        func expect(_ version: String, _ words: String, _ place: SourceLocation = #_sourceLocation) async throws {
            let result = try await clone.release(version)
            #expect(result.status == .exited(1) && result.errorText.contains(words), "\(result.errorText)", sourceLocation: place)
            #expect(try await clone.run("tag", "--list", version) == "", sourceLocation: place)
        }
        try await expect("0.9.2", "Version.text")
        clone.write("new.txt", "new\n")
        try await expect("0.9.1", "the work tree has changes")
        try await clone.commit()
        clone.write(".build/tests-passed", "")
        try await expect("0.9.1", "the tests have not passed on this commit")
        clone.write("Sources/Command/carrel/Version.swift", "enum Version {\n    static let text = \"0.9.2\"\n}\n")
        try await clone.commit()
        try await expect("0.9.2", "CHANGELOG.md has no section of 0.9.2")
        clone.write("CHANGELOG.md", "# Changelog\n\n## [0.9.2] - 2026-11-30\n\n## [0.9.1] - 2026-11-01\n\n- Old.\n")
        try await clone.commit()
        try await expect("0.9.2", "CHANGELOG.md has no section of 0.9.2")
        clone.write("CHANGELOG.md", "# Changelog\n\n## [0.9.2] - 2026-11-30\n\n- New.\n")
        try await clone.commit()
        _ = try await clone.run("tag", "0.10.0")
        try await expect("0.9.2", "0.9.2 is before 0.10.0")
        _ = try await clone.run("tag", "-d", "0.10.0")
        clone.write("Sources/Command/carrel/Broken.swift", "// a breach\n")
        try await clone.commit()
        try await expect("0.9.2", "scripts/lint finds something")
    }

    @Test func `tags a finished version with what is new in it, once`() async throws {
        let clone = try await Clone()
        let result = try await clone.release("0.9.1")
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(try await clone.run("cat-file", "-t", "0.9.1") == "tag\n")
        #expect(try await clone.run("rev-parse", "0.9.1^{commit}") == clone.run("rev-parse", "HEAD"))
        let message = try await clone.run("tag", "--list", "--format=%(contents)", "0.9.1")
        #expect(message.hasPrefix("Carrel 0.9.1\n\n") && message.contains("### Added\n- Releases.\n") && !message.contains("Old"))
        let again = try await clone.release("0.9.1")
        #expect(again.status == .exited(1) && again.errorText.contains("0.9.1 is tagged already"))
    }
}
