import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// Publications that Readium LCP protects, at the command line.
struct `Readium LCP at the command line` {
    private let directory = TemporaryDirectory()

    /// Offline, and with what is remembered in the test's own folder.
    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        let options = ["--offline", "--licenses", directory.file("licenses.sqlite")]
        return try await runProcess([DemoServer.program] + arguments + options, timeout: .seconds(60))
    }

    @Test func `says what protects a publication, and gives its resources to whoever knows the passphrase`() async throws {
        let book = try Fixtures.path("readium/lcp/wasteland-otf-obf_LCP_dan.epub")
        let closed = try await carrel("open", book, "--json")
        #expect(closed.status == .exited(0))
        let answer = try JSON.parse(closed.output.rawSpan)
        #expect(answer["protection"]?.string == "Readium LCP")
        #expect(answer["isRestricted"]?.bool == true)
        #expect(answer["rights"]?["canCopy"]?.bool == false)
        let wrong = try await carrel("cat", book, "EPUB/wasteland.css", "--passphrase", "guessed")
        #expect(wrong.status == .exited(77))
        #expect(!wrong.errorText.contains("guessed"))
        let part = try await carrel("cat", book, "EPUB/wasteland.css", "--passphrase", "dan", "--range", "0-15")
        #expect(part.output.count == 16)
        // the passphrase is known now
        let open = try await carrel("open", book, "--json")
        let unlocked = try JSON.parse(open.output.rawSpan)
        #expect(unlocked["isRestricted"]?.bool == false)
        #expect(unlocked["rights"]?["canCopy"]?.bool == true)
        #expect(unlocked["format"]?.string == "application/epub+zip")
    }

    @Test func `checks a license as the compliance tests do`() async throws {
        let book = try Fixtures.path("readium/lcp/audiotest.lcpa")
        let checked = try await carrel("lcp", "check", book, "--passphrase", "mmenu", "--json")
        let answer = try JSON.parse(checked.output.rawSpan)
        let results = (answer["checks"]?.array ?? []).reduce(into: [:]) { $0[$1["name"]?.string ?? ""] = $1["result"]?.string }
        for name in ["license.profile", "license.content-key", "license.certificate", "license.signature", "license.key-check"] {
            #expect(results[name] == "passed", "\(name)")
        }
        #expect(checked.status == .exited(answer["isCompliant"]?.bool == true ? 0 : 65))
        let old = try Fixtures.path("readium/lcp/legacy-2015-links-object-profile-1.0.lcpl")
        #expect(try await carrel("lcp", "check", old).status == .exited(65))
        #expect(try await carrel("lcp", "check", directory.file("none.lcpl")).status == .exited(66))
    }
}
