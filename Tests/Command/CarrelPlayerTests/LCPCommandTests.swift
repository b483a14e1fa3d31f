// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

/// Publications that Readium LCP protects, at the command line.
struct `Readium LCP at the command line` {
    private let directory = TemporaryDirectory()

    /// Offline, and with what is remembered in the test's own folder.
    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        let options = ["--offline", "--licenses", directory.file("licenses.sqlite")]
        return try await runProcess([DemoServer.program] + arguments + options, timeout: .seconds(60))
    }

    @Test func `reports the protection of a publication, and extracts its resources with the passphrase`() async throws {
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

    @Test(arguments: [#"{"copy":1200,"print":1}"#, #"{"print":0}"#])
    func `writes no PDF document whose rights are limited`(rights: String) async throws {
        let stand = try await Stand(in: directory, rights: rights, isDocument: true)
        let words = ["cat", stand.book, "publication.pdf", "--trust", stand.root, "--passphrase", "open sesame"]
        let options = ["--offline", "--licenses", directory.file("licenses.sqlite")]
        let refused = try await runProcess([DemoServer.program] + words + options, timeout: .seconds(60))
        #expect(refused.status == .exited(77) && refused.output.isEmpty, "\(refused.errorText)")
        #expect(refused.errorText.contains("rights to this document are limited"))
    }

    @Test func `writes a PDF document without limits`() async throws {
        let stand = try await Stand(in: directory, isDocument: true)
        let made = try await carrel("cat", stand.book, "publication.pdf", "--trust", stand.root, "--passphrase", "open sesame")
        #expect(made.status == .exited(0) && made.output.count == 4000, "\(made.errorText)")
    }

    @Test func `says how many characters and pages are left`() async throws {
        let stand = try await Stand(in: directory, rights: #"{"copy":1200,"print":1}"#)
        let closed = try await carrel("open", stand.book, "--json", "--trust", stand.root, "--passphrase", "wrong")
        #expect(try JSON.parse(closed.output.rawSpan)["rights"]?["charactersLeft"] == 0)
        let opened = try await carrel("open", stand.book, "--json", "--trust", stand.root, "--passphrase", "open sesame")
        let answer = try JSON.parse(opened.output.rawSpan)
        #expect(answer["rights"] == ["canCopy": true, "canPrint": true, "charactersLeft": 1200, "pagesLeft": 1])
        let table = try await carrel("open", stand.book, "--trust", stand.root).text
        #expect(table.contains("yes, 1200 characters left") && table.contains("yes, 1 page left"))
    }

    @Test func `without a passphrase says the hint of the provider and the option`() async throws {
        let book = try Fixtures.path("readium/lcp/wasteland-otf-obf_LCP_dan.epub")
        let inside = try await runProcess([try requirePeer("unzip"), "-p", book, "META-INF/license.lcpl"], timeout: .seconds(60))
        let license = try JSON.parse(inside.output.rawSpan)
        let hint = try #require(license["encryption"]?["user_key"]?["text_hint"]?.string)
        let advice = "give the passphrase with --passphrase; its provider's hint: \(hint)"
        let opened = try await carrel("open", book, "--json")
        #expect(try JSON.parse(opened.output.rawSpan)["hint"]?.string == advice)
        #expect(try await carrel("open", book).text.contains(advice))
        for (arguments, status) in [(["manifest", book], 0), (["cat", book, "EPUB/wasteland.css"], 77), (["read", book], 77)] {
            let result = try await runProcess(
                [DemoServer.program] + arguments + ["--offline", "--licenses", directory.file("licenses.sqlite")],
                timeout: .seconds(60)
            )
            #expect(result.status == .exited(Int32(status)), "\(arguments)")
            #expect(result.errorText.contains("hint: \(advice)"), "\(arguments): \(result.errorText)")
        }
        // a license that is not trusted has no question that is shown
        let distrusted = try await carrel("open", book, "--json", "--no-test-roots", "--passphrase", "dan")
        let answer = try JSON.parse(distrusted.output.rawSpan)
        #expect(answer["isRestricted"]?.bool == true && answer["hint"] == .null)
        #expect(answer["error"]?.string?.contains("no trusted authority signed") == true)
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

    // MARK: lists of revoked certificates

    /// A provider whose certificate leads to a list on this machine, its root in a file, and a book of its.
    private struct Stand {
        let certificates: TestCertificates
        let book: String
        let root: String
        /// The list that the server returns; nil for 404.
        let list: Locked<[UInt8]?>
        let address: String
        let server: LoopbackServer

        init(in directory: TemporaryDirectory, rights: String? = nil, isDocument: Bool = false) async throws {
            let list = Locked<[UInt8]?>(nil)
            server = LoopbackServer { connection in
                while connection.readRequest() != nil {
                    let bytes = list.withLock { $0 }
                    connection.respond(bytes == nil ? 404 : 200, body: bytes ?? [])
                }
            }
            (self.list, address) = (list, "http://127.0.0.1:\(server.port)/list.crl")
            certificates = try TestCertificates()
            try await certificates.make("root", extensions: TestCertificates.authority, key: .rsa(bits: 2048))
            let extensions = "\(TestCertificates.signer)\ncrlDistributionPoints = URI:\(address)"
            let made = try await certificates.make("provider", by: "root", extensions: extensions, key: .rsa(bits: 2048))
            root = certificates.directory.file("root.pem")
            let signer = certificates
            let provider = LicenseProvider(certificate: made) { try await signer.sign($0, with: "provider") }
            let path = directory.file(isDocument ? "book.lcpdf" : "book.epub")
            var terms = LicenseProvider.Terms()
            terms.rights = rights
            book =
                isDocument
                ? try await ProtectedPublication.pdf(at: path, byteCount: 4000, .lcp(provider, terms)).path
                : try await ProtectedPublication.epub(at: path, chapters: 1, .lcp(provider, terms)).path
        }
    }

    /// The finding of `carrel lcp check` about the certificate, and its exit status.
    private func checked(
        _ stand: Stand,
        _ options: String...
    ) async throws -> (given: JSON?, kept: JSON?, why: String?, result: ProcessResult) {
        let base = ["lcp", "check", stand.book, "--json", "--trust", stand.root, "--licenses", directory.file("licenses.sqlite")]
        let result = try await runProcess([DemoServer.program] + base + options, timeout: .seconds(60))
        let checks = result.output.isEmpty ? [] : try JSON.parse(result.output.rawSpan)["checks"]?.array ?? []
        func check(_ name: String) -> JSON? { checks.first { $0["name"]?.string == name } }
        let (given, kept) = (check("license.revocation"), check("license.revocation-kept"))
        return (given?["result"], kept?["result"], given?["reason"]?.string, result)
    }

    @Test func `looks a certificate up in a list that is given as a file or an address`() async throws {
        let stand = try await Stand(in: directory)
        let without = try await checked(stand, "--offline")
        #expect(without.given == "skipped" && without.why == "no server is asked" && without.result.status == .exited(0))
        let empty = directory.write("empty.crl", try await stand.certificates.revocationList())
        let good = try await checked(stand, "--offline", "--crl", empty)
        #expect(good.given == "passed" && good.result.status == .exited(0))
        let full = try await stand.certificates.revocationList(["provider"])
        let revoked = try await checked(stand, "--offline", "--crl", directory.write("full.crl", full))
        #expect(revoked.given == "failed" && revoked.result.status == .exited(65))
        // only that address is asked: of those in such a license nothing is
        stand.list.withLock { $0 = full }
        let fetched = try await checked(stand, "--allow-private-networks", "--crl", "\(stand.address)?again")
        #expect(fetched.given == "failed" && fetched.result.status == .exited(65))
        #expect(directory.read("licenses.sqlite") == nil, "a check keeps nothing")
        let bad = try await checked(stand, "--offline", "--crl", directory.write("bad.crl", "<html>Log in</html>"))
        #expect(bad.result.status == .exited(65) && bad.result.errorText.contains("is not a list of revoked certificates"))
        let none = try await checked(stand, "--offline", "--crl", directory.file("none.crl"))
        #expect(none.result.status == .exited(66))
    }

    @Test func `looks a certificate up in the lists that were kept when a publication was opened`() async throws {
        let stand = try await Stand(in: directory)
        let full = try await stand.certificates.revocationList(["provider"])
        stand.list.withLock { $0 = full }
        let options = ["--json", "--trust", stand.root, "--licenses", directory.file("licenses.sqlite")]
        func open(_ option: String) async throws -> JSON {
            let command = [DemoServer.program, "open", stand.book, option] + options
            let output = try await runProcess(command, timeout: .seconds(60)).output
            return try JSON.parse(output.rawSpan)
        }
        // the list is fetched in the background, and counts from then on
        _ = try await open("--allow-private-networks")
        #expect(try await open("--offline")["error"]?.string?.contains("revoked") == true)
        let checked = try await checked(stand, "--offline")
        #expect(checked.given == "skipped" && checked.kept == "failed" && checked.result.status == .exited(65))
    }

    @Test func `opens stored licenses read-only, also of another version`() async throws {
        let sqlite = try requirePeer("sqlite3")
        let stand = try await Stand(in: directory)
        let full = try await stand.certificates.revocationList(["provider"])
        stand.list.withLock { $0 = full }
        let kept = directory.file("licenses.sqlite")
        let options = ["--json", "--trust", stand.root, "--licenses", kept, "--allow-private-networks"]
        try await checkProcess([DemoServer.program, "open", stand.book] + options)
        // as one that knew nothing of rights yet, or more than this one, left it
        for change in ["DELETE FROM schema_version WHERE version > 1", "INSERT INTO schema_version VALUES (99, 'x', 'x', 0)"] {
            try await checkProcess([sqlite, kept, change])
            let before = try contents()
            let checked = try await checked(stand, "--offline", "--passphrase", "open sesame")
            #expect(checked.kept == "failed" && checked.result.status == .exited(65))
            #expect(try contents() == before)
        }
    }

    /// The contents of the folder of licenses.
    private func contents() throws -> [String: [UInt8]?] {
        Dictionary(uniqueKeysWithValues: ["", "-wal", "-shm", "-journal"].map { ($0, directory.read("licenses.sqlite\($0)")) })
    }
}
