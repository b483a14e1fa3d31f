// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelCrypto

/// The bytes of an entry that is encrypted with AES, decrypted from any place (WinZip, AE-1 and AE-2).
final class WinZipResource: Resource {
    var link: Link { encrypted.link }
    private let encrypted: any Resource
    private let cipher: WinZipAES
    private let macKey: Secret
    /// The range of the cipher text in the entry.
    private let place: Range<Int64>

    private static let iterations = 1000

    /// Reads the header before the encrypted bytes.
    ///
    /// - Parameters:
    ///   - encrypted: all bytes of the entry.
    ///   - encryption: its encryption parameters.
    ///   - password: the password as typed.
    /// - Throws: `resource.decryption` for most wrong passwords (the verifier has only two bytes).
    init(_ encrypted: any Resource, _ encryption: AESEncryption, password: Secret) async throws(ResourceError) {
        let length = try await encrypted.length()
        let headLength = encryption.saltLength + AESEncryption.verifierLength
        guard length >= Int64(headLength + AESEncryption.codeLength) else {
            throw ResourceError(.malformed, "\"\(encrypted.link.href)\" is cut off")
        }
        let head = try await encrypted.read(0..<Int64(headLength))
        guard head.count == headLength else { throw ResourceError(.malformed, "\"\(encrypted.link.href)\" is cut off") }
        let salt = Array(head[..<encryption.saltLength])
        let count = 2 * encryption.keyLength + AESEncryption.verifierLength
        let keys = PBKDF2.sha1(password: password, salt: salt, iterations: Self.iterations, count: count)
        let (key, macKey, isRight) = keys.withBytes { keys in
            let length = encryption.keyLength
            return (
                Secret(copying: keys.extracting(0..<length)), Secret(copying: keys.extracting(length..<2 * length)),
                constantTimeEqual(
                    keys.extracting(2 * length..<count),
                    head.rawSpan.extracting(encryption.saltLength..<headLength)
                )
            )
        }
        guard isRight else { throw ResourceError(.decryption, "the password is wrong") }
        do throws(CryptoError) { cipher = try WinZipAES(key: key) } catch {
            throw ResourceError(.decryption, error.description)
        }
        self.encrypted = encrypted
        self.macKey = macKey
        place = Int64(headLength)..<length - Int64(AESEncryption.codeLength)
    }

    func length() async throws(ResourceError) -> Int64 { place.upperBound - place.lowerBound }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<place.upperBound - place.lowerBound)
        let before = buffer.count
        try await encrypted.read(place.lowerBound + range.lowerBound..<place.lowerBound + range.upperBound, into: &buffer)
        do throws(CryptoError) { try cipher.apply(to: &buffer, from: before, at: range.lowerBound) } catch {
            throw ResourceError(.decryption, error.description)
        }
    }

    /// Reads all of it and compares with the authentication code: whether the password is right and nothing was changed.
    func isAuthentic() async throws(ResourceError) -> Bool {
        var mac = HMACSHA1(key: macKey)
        var at = place.lowerBound
        var buffer: [UInt8] = []
        while at < place.upperBound {
            buffer.removeAll(keepingCapacity: true)
            try await encrypted.read(at..<min(at + 256 << 10, place.upperBound), into: &buffer)
            guard !buffer.isEmpty else { throw ResourceError(.malformed, "\"\(link.href)\" is cut off") }
            mac.update(buffer.rawSpan)
            at += Int64(buffer.count)
        }
        let code = try await encrypted.read(place.upperBound..<place.upperBound + Int64(AESEncryption.codeLength))
        let digest = mac.finish()
        return constantTimeEqual(code.rawSpan, digest.rawSpan.extracting(0..<AESEncryption.codeLength))
    }
}
