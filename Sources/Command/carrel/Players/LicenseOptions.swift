// SPDX-License-Identifier: Apache-2.0

package import CarrelCommandLine
import CarrelHTTPClient
package import CarrelLCP
import CarrelVault
import Glibc

/// Options of Readium LCP: trusted certificates and the license store.
struct LicenseOptions: ParameterGroup, Sendable {
    var trust: String?
    var refusesTestRoots = false
    var isOffline = false
    var allowsPrivateNetworks = false
    var store: String?
    var seals = false

    static var parameters: [Parameter<LicenseOptions>] {
        [
            .option(
                \.trust,
                "--trust",
                value: "file",
                help: "Certificates (PEM or DER) whose licenses are trusted, in addition to EDRLab's test roots.",
                group: "Protection",
                completion: .file
            ),
            .flag(
                \.refusesTestRoots,
                "--no-test-roots",
                help: "Do not trust EDRLab's test roots: only the certificates of --trust.",
                group: "Protection"
            ),
            .flag(\.isOffline, "--offline", help: "Contact no license server.", group: "Protection"),
            .flag(
                \.allowsPrivateNetworks,
                "--allow-private-networks",
                help: "Also follow addresses in licenses that lead to this machine and its networks.",
                group: "Protection"
            ),
            .option(
                \.store,
                "--licenses",
                value: "file",
                help:
                    "Folder for passphrase digests and device registrations; default: the user's state folder.",
                group: "Protection",
                completion: .file
            ),
            .flag(
                \.seals,
                "--seal-licenses",
                help:
                    "Encrypt the passphrase digests under the vault of this device's player; from then on the vault is needed to open them.",
                group: "Protection"
            ),
        ]
    }

    /// The profiles that are known: the basic one, with the roots of the user's.
    func profiles() throws -> ProfileRegistry {
        let own = try trust.map { try TrustAnchor.all(in: try Self.read($0, atMost: 1 << 20)) } ?? []
        return ProfileRegistry([refusesTestRoots ? .basic(trusting: own) : .basic(adding: own)])
    }

    /// The client for addresses in licenses; nil: public addresses only.
    var client: HTTPClient? { allowsPrivateNetworks ? HTTPClient() : nil }

    /// Readium LCP with this user's stored state. Nothing is written before a publication protected by LCP is opened.
    func service() throws -> LCPService {
        var configuration = LCPService.Configuration()
        configuration.profiles = try profiles()
        configuration.isOffline = isOffline
        return LCPService(
            store: LCPStore(path: storePath) { [seals] isSealed in isSealed || seals ? try await Self.vault() : nil },
            client: client,
            configuration: configuration
        )
    }

    /// The vault of this device's player, existing or to be created.
    private static func vault() async throws -> Vault {
        let folder = ReaderFolder(home: ReaderFolder.variable("CARREL_READER_HOME"))
        let kind = ReaderFolder.variable("CARREL_VAULT").flatMap { VaultKind(rawValue: $0) }
        return try await VaultOptions(kind: kind).open(in: try folder.make(), nil)
    }

    /// The user's store of licenses, read-only; nil without one.
    var kept: LCPStore? { unsafe access(storePath, F_OK) == 0 ? LCPStore(lookingInto: storePath) : nil }

    private var storePath: String { store ?? Self.defaultStore }

    /// The default store, by the XDG base directory specification.
    private static var defaultStore: String {
        let value = { (name: String) in unsafe getenv(name).map { unsafe String(cString: $0) } ?? "" }
        let state = value("XDG_STATE_HOME")
        return (state.hasPrefix("/") ? state : "\(value("HOME"))/.local/state") + "/carrel/licenses.sqlite"
    }

    /// Reads a license file.
    ///
    /// - Throws: ``UnreadableFile``.
    static func read(_ path: String, atMost limit: Int) throws -> [UInt8] {
        guard let stream = unsafe fopen(path, "rbe") else { throw UnreadableFile(path: path) }
        defer { unsafe fclose(stream) }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = unsafe fread(buffer.baseAddress, 1, buffer.count, stream)
        }
        guard unsafe ferror(stream) == 0 else { throw UnreadableFile(path: path) }
        return bytes
    }
}

/// A file that was named and cannot be read.
private struct UnreadableFile: ReportableError {
    let path: String

    var message: String { "\(path) cannot be read" }
    var exitStatus: ExitStatus { .noInput }
}

extension LCPError: ReportableError {
    package var exitStatus: ExitStatus { code == .store ? .inputOutput : .badInput }
}
