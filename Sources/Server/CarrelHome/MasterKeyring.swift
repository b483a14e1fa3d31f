// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelFiles
import Glibc

/// The keys under which content keys and the server's other secrets are wrapped (AES Key Wrap, RFC 3394).
///
/// They are kept outside the database: in a file of the home that only its owner may read, or in the systemd credential
/// `carrel-master-key`. One line per key, `VERSION HEX`, the newest last; a rotation adds a line, and old lines go when nothing
/// is wrapped under them any more.
package struct MasterKeyring: Sendable {
    private var keys: [Int64: Secret]
    /// The file that they were read from.
    package let path: String
    /// The version that new wraps use: the newest in the file, unless the database names another.
    package private(set) var current: Int64

    /// A secret wrapped under one of the keys.
    package struct Wrapped: Sendable, Equatable {
        package let masterVersion: Int64
        package let bytes: [UInt8]

        package init(masterVersion: Int64, bytes: [UInt8]) {
            self.masterVersion = masterVersion
            self.bytes = bytes
        }
    }

    package func has(_ version: Int64) -> Bool { keys[version] != nil }

    /// The versions that it holds.
    package var versions: [Int64] { keys.keys.sorted() }

    /// Returns the same keys, with new wraps under a version; nil for the newest.
    package func wrapping(under version: Int64?) -> MasterKeyring {
        var keyring = self
        keyring.current = version ?? versions.last ?? 0
        return keyring
    }

    /// A fingerprint that distinguishes keys of one version. It does not help to find the key, which has 256 random bits, and no
    /// label for keys derives the same value.
    package func fingerprint(of version: Int64) -> [UInt8]? {
        keys[version].map { HMACSHA256(key: $0).authenticate(Array("carrel master key fingerprint".utf8).rawSpan) }
    }

    package func wrap(_ secret: Secret) throws -> Wrapped {
        guard let key = keys[current] else { throw ServerError(.masterKey, "there is no master key") }
        return Wrapped(masterVersion: current, bytes: try AESKeyWrap.wrap(secret, under: key))
    }

    package func unwrap(_ wrapped: Wrapped) throws -> Secret {
        guard let key = keys[wrapped.masterVersion] else {
            throw ServerError(.masterKey, "version \(wrapped.masterVersion) of the master key is missing in \(path)")
        }
        do {
            return try AESKeyWrap.unwrap(wrapped.bytes.rawSpan, under: key)
        } catch {
            throw ServerError(
                .masterKey,
                "version \(wrapped.masterVersion) of the master key in \(path) does not belong to this database"
            )
        }
    }

    /// The folder that systemd puts credentials into (systemd.exec(5), LoadCredential).
    package static var credentialsFolder: String? { unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) } }

    /// The file with the keys of a home: the credential, if provided.
    private static func path(of home: Home, _ credentials: String?) -> String {
        guard let credentials else { return home.masterKeyPath }
        let credential = "\(credentials)/carrel-master-key"
        return unsafe access(credential, R_OK) == 0 ? credential : home.masterKeyPath
    }

    /// Whether a home has its keys, in its folder or as a credential.
    package static func isMade(for home: Home, credentials: String? = credentialsFolder) -> Bool {
        unsafe access(path(of: home, credentials), F_OK) == 0
    }

    /// Creates the keys of a home whose database is new. Where another process has created them first, its file stays.
    package static func make(for home: Home) throws(ServerError) {
        try MasterKeyring(firstOf: home).save(to: home.masterKeyPath, replacing: false)
    }

    private init(firstOf home: Home) {
        keys = [1: Secret.random(count: 32)]
        current = 1
        path = home.masterKeyPath
    }

    /// Reads the keyring of a home, or the keyring provided as a credential.
    ///
    /// - Throws: ``ServerError`` `masterKey` if the file is missing, can be read by others or is not a keyring.
    package init(of home: Home, credentials: String? = credentialsFolder) throws(ServerError) {
        try self.init(file: Self.path(of: home, credentials))
    }

    /// The keyring of a home, or an empty keyring if there is none yet.
    package static func ofFile(of home: Home) throws(ServerError) -> MasterKeyring {
        isMade(for: home) ? try MasterKeyring(of: home) : MasterKeyring(emptyAt: home.masterKeyPath)
    }

    private init(emptyAt path: String) {
        keys = [:]
        current = 0
        self.path = path
    }

    /// Reads a keyring from a file, which must not be readable by other users.
    package init(file path: String) throws(ServerError) {
        try self.init(text: try Self.readPrivateFile(path), path: path)
    }

    /// Reads a keyring.
    ///
    /// - Parameters:
    ///   - text: a line for each key.
    ///   - path: the name of the file for messages.
    /// - Throws: ``ServerError`` `masterKey`.
    package init(text: String, path: String) throws(ServerError) {
        self.path = path
        keys = [:]
        current = 0
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let version = Int64(parts[0]), version > 0, let bytes = Hex.decode(parts[1]),
                bytes.count == 32
            else { throw ServerError(.masterKey, "\(path) is not a keyring: each line must be a version and 64 hex digits") }
            keys[version] = Secret(bytes)
            current = max(current, version)
        }
        guard current > 0 else { throw ServerError(.masterKey, "\(path) contains no key") }
    }

    /// Adds a new key with a version above all others, in the file and in the database, and makes it current.
    package mutating func addKey(after newest: Int64 = 0, savingTo home: Home) throws(ServerError) {
        try requireWritable(home)
        removeLeftovers()
        current = max(newest, versions.last ?? 0) + 1
        keys[current] = Secret.random(count: 32)
        try save(to: path, replacing: true)
    }

    /// Adds keys from another keyring.
    package mutating func take(_ versions: [Int64], from other: MasterKeyring, savingTo home: Home) throws(ServerError) {
        try requireWritable(home)
        for version in versions { keys[version] = other.keys[version] }
        try save(to: path, replacing: true)
    }

    /// Deletes a key whose rotation failed.
    package mutating func forget(_ version: Int64, savingTo home: Home) throws(ServerError) {
        try requireWritable(home)
        keys[version] = nil
        try save(to: path, replacing: true)
    }

    /// Whether rotations may write it: not if it is a credential.
    package func isWritable(in home: Home) -> Bool { path == home.masterKeyPath }

    /// Deletes the keys of earlier versions. Call it only when nothing is wrapped under them.
    package mutating func forgetKeys(before version: Int64, savingTo home: Home) throws(ServerError) {
        try requireWritable(home)
        keys = keys.filter { $0.key >= version }
        try save(to: path, replacing: true)
    }

    private func requireWritable(_ home: Home) throws(ServerError) {
        guard isWritable(in: home) else {
            throw ServerError(
                .masterKey,
                "the master key comes from a systemd credential: add a line with a new key there, restart, then rotate"
            )
        }
    }

    /// Removes what a process left that died while it wrote. Only under the lock of a rotation.
    private func removeLeftovers() {
        guard let slash = path.lastIndex(of: "/"), let folder = unsafe opendir(String(path[...slash])) else { return }
        defer { unsafe closedir(folder) }
        let start = String(path[path.index(after: slash)...]) + "."
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix(start), name.hasSuffix(".new") { unsafe unlink(String(path[...slash]) + name) }
        }
    }

    /// The lines of its file, with the keys: for a private file or the home's own socket only.
    package var text: String { String(decoding: lines, as: UTF8.self) }

    private var lines: [UInt8] {
        var text: [UInt8] = []
        for (version, key) in keys.sorted(by: { $0.key < $1.key }) {
            text += Array("\(version) ".utf8)
            key.withBytes { text += Array(Hex.encode([UInt8](copying: $0)).utf8) }
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    private func save(to path: String, replacing: Bool) throws(ServerError) {
        // Nothing may be wrapped under a key whose file a power cut could take back.
        do {
            try DurableFile.replace(path, with: lines, keepsExisting: !replacing)
        } catch {
            throw ServerError(.masterKey, error.message)
        }
    }

    private static func readPrivateFile(_ path: String) throws(ServerError) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ServerError(.masterKey, "cannot read \(path): \(systemReason())") }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw ServerError(.masterKey, "cannot read \(path): \(systemReason())")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw ServerError(.masterKey, "others may read \(path): it must have mode 0600 (chmod 600 \(path))")
        }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw ServerError(.masterKey, "cannot read \(path): \(systemReason())") }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
