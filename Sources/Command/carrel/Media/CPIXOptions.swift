// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCommandLine
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelRights

/// The options for keys in a CPIX document.
struct CPIXOptions: ParameterGroup, Sendable {
    var path: String?
    var recipient: String?

    static let parameters: [Parameter<Self>] = [
        .option(\.path, "--cpix", value: "file", help: "A CPIX document with keys.", group: "Keys"),
        .option(\.recipient, "--recipient", value: "key", help: CPIXFile.recipientHelp, group: "Keys"),
    ]

    /// The document with its keys in the clear; nil without the option.
    ///
    /// - Throws: `UsageError` for a recipient without a document; the errors of ``CPIXFile``.
    func document(_ console: Console) throws -> CPIXDocument? {
        guard let path else {
            if recipient != nil { throw UsageError(.contradiction, "--recipient is for the keys of --cpix") }
            return nil
        }
        return try CPIXFile.read(path, recipient: recipient, console)
    }
}

/// Reads CPIX documents from files.
enum CPIXFile {
    static let recipientHelp =
        "The private key to which the document's keys are encrypted: a PEM or PFX file, whose password is read from standard input. "
        + "It is used by this command only."

    /// Reads a document, and decrypts its keys.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - recipient: the file of the recipient's private key; nil for keys in the clear.
    ///   - console: shows warnings, and the prompt for a password.
    /// - Throws: ``SmallFileProblem``, ``UnusableCPIX``, `UsageError`.
    static func read(_ path: String, recipient: String?, _ console: Console) throws -> CPIXDocument {
        let bytes = try SmallFile.read(path, limit: CPIXLimits().bytes)
        do {
            var document = try CPIXDocument(reading: bytes.rawSpan)
            for warning in document.warnings { console.warning("\(path): \(warning.message)") }
            let isEncrypted = document.keys.contains { if case .encrypted = $0.value { true } else { false } }
            guard isEncrypted else { return document }
            guard let recipient else {
                throw UsageError(.missingValue, "the keys in \(path) are encrypted: --recipient names the private key of a recipient")
            }
            document = try document.decrypted(by: try privateKey(recipient, path == "-", console))
            return document
        } catch let error as CPIXError {
            throw UnusableCPIX(path: path, error: error)
        }
    }

    private static func privateKey(_ path: String, _ usesStandardInput: Bool, _ console: Console) throws -> RSAPrivateKey {
        var bytes = try SmallFile.read(path, limit: RSAPrivateKey.maxByteCount)
        defer { SecretMemory.wipe(&bytes) }
        let file = Secret(bytes)
        var password = ""
        if RSAPrivateKey.needsPassword(file) {
            guard !usesStandardInput, path != "-" else {
                throw UsageError(.contradiction, "the password of \(path) is read from standard input, which is in use")
            }
            password = try PasswordInput.read(console)
        }
        do throws(CryptoError) { return try RSAPrivateKey(file: file, password: Secret(Array(password.utf8))) } catch {
            throw DamagedMedia(path: path, what: error.message)
        }
    }
}

/// A CPIX document that cannot be used: the file, and why.
struct UnusableCPIX: ReportableError {
    let path: String
    let error: CPIXError

    var message: String { "\(path): \(error.message)" }
    var exitStatus: ExitStatus { error.code == .missingKey ? .noPermission : .badInput }
}

extension CPIXDocument {
    /// The keys that are in the clear.
    ///
    /// - Throws: `cpix.missing-key` if there is none.
    func clearKeys() throws(CPIXError) -> [(key: CPIXKey, secret: Secret)] {
        let keys = keys.compactMap { key in key.secret.map { (key, $0) } }
        guard !keys.isEmpty else { throw CPIXError(.missingKey, "the document has no key") }
        return keys
    }
}

extension GivenKeys {
    /// Adds the keys of a document by their ids.
    mutating func add(_ document: CPIXDocument, from path: String) throws {
        do throws(CPIXError) {
            for (key, secret) in try document.clearKeys() { add(secret, for: .id(key.id.bytes)) }
        } catch {
            throw UnusableCPIX(path: path, error: error)
        }
    }
}

/// Chooses the keys of tracks by the usage rules of a document.
struct CPIXKeyChoice: Sendable {
    private let document: CPIXDocument
    private let path: String
    /// The document's only period.
    private let period: String?

    /// - Throws: ``UnusableCPIX`` for a document without keys; `UsageError` for a document with several periods, or for another scheme.
    init(_ document: CPIXDocument, from path: String, scheme: PackageProtection) throws {
        guard document.periods.count <= 1 else {
            throw UsageError(.contradiction, "\(path) has \(document.periods.count) periods, and a package has one")
        }
        do throws(CPIXError) {
            for (key, _) in try document.clearKeys() {
                guard let declared = key.scheme, let name = PackageProtection(rawValue: declared.lowercased()) else { continue }
                guard name == scheme else {
                    throw CPIXError(.ambiguous, "the key \(key.id.uuid) is for the scheme \(declared), and --scheme is \(scheme.rawValue)")
                }
            }
        } catch {
            throw UnusableCPIX(path: path, error: error)
        }
        (self.document, self.path) = (document, path)
        period = document.periods.first?.id
    }

    /// The key of a track; nil if no rule matches.
    func key(of facts: PackagingTrack) throws -> PackagingKey? {
        var track = CPIXTrack(
            facts.isVideo
                ? .video(pixels: facts.pixels, framesPerSecond: facts.framesPerSecond) : .audio(channels: facts.channels),
            named: facts.name
        )
        (track.isHDR, track.bitrate, track.period) = (facts.isHDR, facts.bitrate, period)
        return try key(of: track)
    }

    /// The key of a file that is packaged as a whole: the document's only key, or the key of a rule without filters.
    func keyOfFile(_ name: String) throws -> PackagingKey? {
        var track = CPIXTrack(.other, named: name)
        track.period = period
        return try key(of: track)
    }

    private func key(of track: CPIXTrack) throws -> PackagingKey? {
        do throws(CPIXError) {
            guard let id = try document.keyID(for: track), let key = document.key(id) else { return nil }
            guard let secret = key.secret, let kid = CarrelMP4.KeyID(id.bytes.rawSpan) else {
                throw CPIXError(.missingKey, "the document does not contain the key \(id.uuid)")
            }
            return try? PackagingKey(id: kid, key: secret)
        } catch {
            throw UnusableCPIX(path: path, error: error)
        }
    }
}
