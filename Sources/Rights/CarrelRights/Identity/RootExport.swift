// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
import CarrelBytes
import CarrelJSON

/// The private key of a root in a text file, encrypted under a passphrase: scrypt (RFC 7914) and AES-256-GCM.
package enum RootExport {
    private static let format = "carrel-root-1"
    private static let saltByteCount = 16

    /// Encrypts a root's private key for export.
    ///
    /// - Throws: `crypto.refused` if there is not enough memory for scrypt.
    package static func seal(
        _ key: P256.PrivateKey,
        certificate: [UInt8],
        passphrase: Secret,
        cost: Scrypt = .interactive
    ) throws(CryptoError) -> String {
        let (salt, nonce) = (Random.bytes(saltByteCount), Random.bytes(AESGCM.nonceByteCount))
        let wrapper = try cost.key(passphrase, salt: salt, count: AESGCM.keyByteCount)
        let scalar = key.scalar
        let sealed = try scalar.withBytes { bytes throws(CryptoError) in
            try AESGCM.seal(bytes, key: wrapper, nonce: nonce, associated: certificate)
        }
        let json: JSON = [
            "format": .string(format), "kdf": "scrypt", "n": .integer(cost.cost), "r": .integer(cost.blockSize),
            "p": .integer(cost.parallelism), "salt": .string(Base64.encode(salt)), "nonce": .string(Base64.encode(nonce)),
            "sealed": .string(Base64.encode(sealed)), "certificate": .string(Base64.encode(certificate)),
        ]
        return String(decoding: json.writePretty(), as: UTF8.self) + "\n"
    }

    /// Reads the output of ``seal(_:certificate:passphrase:cost:)``.
    ///
    /// - Returns: the key and its certificate in DER.
    /// - Throws: `rights.malformed` for another file, `rights.key` for another passphrase and for an altered file.
    package static func open(_ text: String, passphrase: Secret) throws(RightsError) -> (
        key: P256.PrivateKey, certificate: [UInt8]
    ) {
        let bytes = Array(text.utf8)
        guard let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 3, byteCount: 65_536)),
            json["format"]?.string == format, let n = json["n"]?.int, let r = json["r"]?.int, let p = json["p"]?.int
        else { throw RightsError(.malformed, "the file is not an exported root") }
        func field(_ name: String) throws(RightsError) -> [UInt8] {
            guard let bytes = json[name]?.string.flatMap({ Base64.decode($0) }) else {
                throw RightsError(.malformed, "\(name) of the exported root cannot be read")
            }
            return bytes
        }
        let (salt, nonce, sealed, certificate) = (
            try field("salt"), try field("nonce"), try field("sealed"), try field("certificate")
        )
        do throws(CryptoError) {
            let wrapper = try Scrypt(cost: n, blockSize: r, parallelism: p).key(
                passphrase,
                salt: salt,
                count: AESGCM.keyByteCount
            )
            let scalar = try AESGCM.open(sealed.rawSpan, key: wrapper, nonce: nonce, associated: certificate)
            return (try P256.PrivateKey(scalar: scalar), certificate)
        } catch {
            throw RightsError(.key, "the passphrase is wrong, or the file was altered")
        }
    }
}
