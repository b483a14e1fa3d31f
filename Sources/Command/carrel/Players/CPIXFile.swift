// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCommandLine
import CarrelCrypto

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
    /// - Returns: the document with its keys in the clear.
    /// - Throws: ``SmallFileProblem``, ``UnusableCPIX``, `UsageError`.
    static func read(_ path: String, recipient: String?, _ console: Console) throws -> CPIXDocument {
        let bytes = try SmallFile.read(path, limit: CPIXLimits().bytes)
        do {
            var document = try CPIXDocument(reading: bytes.rawSpan)
            for warning in document.warnings { console.warning("\(path): \(warning.message)") }
            let isEncrypted = document.keys.contains { if case .encrypted = $0.value { true } else { false } }
            guard isEncrypted else { return document }
            guard let recipient else {
                throw UsageError(
                    .missingValue,
                    "the keys in \(path) are encrypted: --recipient names the private key of a recipient"
                )
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
            throw UnusableKeyFile(path: path, error: error)
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

/// A file of a private key that cannot be read.
struct UnusableKeyFile: ReportableError {
    let path: String
    let error: CryptoError

    var message: String { "\(path): \(error.message)" }
    var exitStatus: ExitStatus { .badInput }
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
