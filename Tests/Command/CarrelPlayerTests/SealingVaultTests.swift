// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// The vault of a reader that has no player yet.
struct `A vault that was taken to seal what LCP remembers` {
    private let directory = TemporaryDirectory()

    private static let modules = [
        "/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm.so", "/usr/local/lib/softhsm/libsofthsm2.so",
    ]

    @Test func `stays the reader's, also where it is a token that leaves no file`() async throws {
        let tool = try requirePeer("softhsm2-util")
        guard let module = Self.modules.first(where: { unsafe access($0, R_OK) == 0 }) else {
            try Test.cancel("softhsm2-util is installed without its module: nothing to test against")
        }
        let tokens = directory.file("tokens")
        unsafe mkdir(tokens, 0o700)
        let configuration = "directories.tokendir = \(tokens)\nobjectstore.backend = file\nlog.level = ERROR\n"
        let file = directory.write("softhsm2.conf", Array(configuration.utf8))
        var environment = [
            "PATH": "/usr/bin:/bin", "HOME": directory.path, "SOFTHSM2_CONF": file,
            "CARREL_READER_HOME": directory.file("reader"), "CARREL_VAULT_PASSPHRASE": "correct horse",
        ]
        let token = ["--init-token", "--free", "--label", "reader", "--pin", "123456", "--so-pin", "87654321"]
        try await checkProcess([tool] + token, environment: environment)
        let book = try Fixtures.path("readium/lcp/wasteland-otf-obf_LCP_dan.epub")
        let licenses = directory.file("licenses.sqlite")
        func open(_ words: String...) async throws -> ProcessResult {
            let command = [DemoServer.program, "open", book, "--offline", "--licenses", licenses] + words
            return try await runProcess(command, environment: environment, timeout: .seconds(60))
        }
        environment["CARREL_PKCS11_MODULE"] = module
        environment["CARREL_PKCS11_TOKEN"] = "reader"
        environment["CARREL_PKCS11_PIN"] = "123456"
        environment["CARREL_VAULT"] = "pkcs11"
        let first = try await open("--seal-licenses", "--passphrase", "dan")
        #expect(first.status.isSuccess, "\(first.errorText)")
        #expect(directory.read("reader/reader/vault-kind") == Array("pkcs11\n".utf8))
        // without the choice the same vault is taken, and another one never
        environment["CARREL_VAULT"] = nil
        let again = try await open("--json")
        #expect(try JSON.parse(again.output.rawSpan)["isRestricted"] == false, "\(again.errorText)")
        environment["CARREL_VAULT"] = "file"
        let other = try await runProcess(
            [DemoServer.program, "device", "personalize", "--server", "http://127.0.0.1:9"],
            environment: environment
        )
        #expect(other.status == .exited(64) && other.errorText.contains("in the vault 'pkcs11'"), "\(other.errorText)")
        environment["CARREL_VAULT"] = nil
        environment["CARREL_PKCS11_MODULE"] = nil
        let absent = try await open("--json", "--seal-licenses")
        #expect(try JSON.parse(absent.output.rawSpan)["isRestricted"] == true, "\(absent.text)\(absent.errorText)")
        #expect(directory.read("reader/reader/vault/vault.json") == nil, "no other vault was made")
    }
}
