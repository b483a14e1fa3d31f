import CarrelBytes
import CarrelCrypto
public import CarrelVault

/// Keeps a subscription in a file that only its owner can read; with a vault, encrypted under a key that the vault seals.
public struct FileSubscriptionStore: SubscriptionStore {
    private let file: PrivateFile
    private let seal: FileSeal?

    /// A file in the clear: a process that can read it has the subscription's token.
    ///
    /// - Parameter path: of the file; its folder is there.
    public init(path: String) {
        file = Self.file(path)
        seal = nil
    }

    private static func file(_ path: String) -> PrivateFile {
        // an answer with 50,000 issues has about three megabytes
        PrivateFile(path: path, limit: 16 << 20, name: "file with the subscription")
    }

    /// A file that the vault seals. A file in the clear is taken over: it is replaced by a sealed one.
    ///
    /// - Parameters:
    ///   - path: of the file; its folder is there.
    ///   - vault: of this device.
    /// - Throws: `reader.store` where the file cannot be read, or the vault does not open it.
    public init(path: String, sealedBy vault: Vault) async throws(ReaderError) {
        file = Self.file(path)
        let bytes = try file.load()
        do throws(VaultError) {
            seal = try await FileSeal(of: bytes, vault)
        } catch {
            throw ReaderError(.store, "the vault does not open the file with the subscription: \(error.message)")
        }
        if let bytes, !FileSeal.isSealed(bytes) { try save(bytes) }
    }

    public func load() throws -> [UInt8]? {
        guard let bytes = try file.load() else { return nil }
        guard FileSeal.isSealed(bytes) else {
            // Another app wrote it, or an older version of this one; the next change seals it.
            return bytes
        }
        guard let seal else {
            throw ReaderError(.store, "the file with the subscription is sealed: it needs the vault that sealed it")
        }
        guard let opened = seal.open(bytes) else { throw ReaderError(.store, "the file with the subscription was altered") }
        return opened
    }

    /// Writes a new file beside the old one, to the disk, and puts it in its place.
    public func save(_ bytes: [UInt8]?) throws(ReaderError) {
        if let bytes { try file.save(seal?.seal(bytes) ?? bytes) } else { try file.remove() }
    }
}

/// A file that is sealed: a mark, the length of the sealed key (4 bytes), the key as the vault sealed it, and the content under that key.
private struct FileSeal: Sendable {
    private let key: Secret
    private let head: [UInt8]

    private static let mark = Array("carrel sealed file 1\n".utf8)
    private static let keyContext = Array("carrel subscription file 1".utf8)
    private static let contentContext = VaultBlob.context("carrel subscription 1")

    static func isSealed(_ bytes: [UInt8]) -> Bool { bytes.starts(with: mark) }

    /// The seal of a file; a new one for a file in the clear, and for none.
    init(of bytes: [UInt8]?, _ vault: Vault) async throws(VaultError) {
        if let bytes, let sealed = Self.sealedKey(bytes) {
            key = try await vault.open(sealed, associated: Self.keyContext)
            head = Array(bytes.prefix(Self.mark.count + 4 + sealed.count))
        } else {
            key = .random(count: AESGCM.keyByteCount)
            let sealed = try await vault.seal(key, associated: Self.keyContext)
            var head = Self.mark
            head.append(bigEndian: UInt32(sealed.count))
            self.head = head + sealed
        }
    }

    private static func sealedKey(_ bytes: [UInt8]) -> [UInt8]? {
        guard isSealed(bytes), bytes.count >= mark.count + 4 else { return nil }
        let count = bytes[mark.count..<(mark.count + 4)].reduce(0) { $0 << 8 | Int($1) }
        return Array(bytes.dropFirst(mark.count + 4).prefix(count))
    }

    func seal(_ bytes: [UInt8]) -> [UInt8] {
        head + VaultBlob.seal(Secret(bytes), key: key, context: Self.contentContext)
    }

    /// The content; nil for a file of another key, and for an altered one.
    func open(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.starts(with: head) else { return nil }
        let opened = try? VaultBlob.open(Array(bytes.dropFirst(head.count)), key: key, context: Self.contentContext)
        return opened?.withBytes { [UInt8](copying: $0) }
    }
}
