// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelJOSE
import CarrelJSON

/// The public keys of a service, signed by its root as one document.
package struct ServiceKeys: Sendable {
    /// The purpose of a key.
    package enum Use: String, Sendable, CaseIterable {
        /// Signs licenses.
        case license
        /// Requests are encrypted to it.
        case agreement
        /// The key that signs revocation lists.
        case revocation
        /// Signs the time.
        case time
    }

    /// One key. Several of a use overlap while one replaces another.
    package struct Key: Sendable, Equatable {
        package let use: Use
        package let key: JWK
        /// From when until when it may sign, or be encrypted to.
        package let validity: ClosedRange<Instant>

        package init(use: Use, key: JWK, validity: ClosedRange<Instant>) {
            self.use = use
            self.key = key
            self.validity = validity
        }
    }

    /// The most keys and authorities of a document.
    package static let maxKeys = 64
    package static let maxAuthorities = 8

    /// The environment, such as `production`. A player belongs to one.
    package let environment: String
    /// Larger in every later document.
    package let number: Int
    package let keys: [Key]
    /// The certificates of the authorities that issue players' certificates, in DER.
    package let authorities: [[UInt8]]
    /// From when until when the document is valid.
    package let validity: ClosedRange<Instant>

    package init(environment: String, number: Int, keys: [Key], authorities: [[UInt8]], validity: ClosedRange<Instant>) {
        self.environment = environment
        self.number = number
        self.keys = keys
        self.authorities = authorities
        self.validity = validity
    }

    /// The key with an ID for a use; nil if there is none, or it is not valid now.
    package func key(_ id: String, for use: Use, at now: Instant) -> JWK? {
        keys.first { $0.use == use && $0.key.thumbprint == id && $0.validity.contains(now) }?.key
    }

    /// The encryption key for requests: the valid key that expires last.
    package func agreementKey(at now: Instant) -> P256.PublicKey? {
        let current = keys.filter { $0.use == .agreement && $0.validity.contains(now) }
        guard let last = current.max(by: { $0.validity.upperBound < $1.validity.upperBound }), case .p256(let key) = last.key
        else {
            return nil
        }
        return key
    }

    /// Signs the document with the key of the root.
    package func signed(by root: P256.PrivateKey) -> String {
        let list = keys.map { key in
            var object = key.key.json.object ?? [:]
            object["kid"] = .string(key.key.thumbprint)
            object["use"] = .string(key.use.rawValue)
            object["nbf"] = key.validity.lowerBound.numericDate
            object["exp"] = key.validity.upperBound.numericDate
            return JSON.object(object)
        }
        let payload: JSON = [
            "env": .string(environment), "number": .integer(number), "iat": validity.lowerBound.numericDate,
            "exp": validity.upperBound.numericDate, "keys": .array(list),
            "authorities": .array(authorities.map { .string(Base64.encode($0)) }),
        ]
        return TypedJWS.sign(payload.write(), as: RightsMessage.keys, with: root)
    }

    /// Reads a document signed by the root. Its validity is not checked, because that needs a trusted time.
    ///
    /// - Throws: `rights.signature` for another root, `rights.malformed`.
    package init(_ text: String, signedBy root: P256.PublicKey) throws(RightsError) {
        let json = try RightsMessage.payload(of: text, as: RightsMessage.keys, by: .p256(root))
        guard let environment = json["env"]?.string, let number = json["number"]?.int, number >= 0,
            let validity = json.validity("iat", "exp"), let list = json["keys"]?.array, 1...Self.maxKeys ~= list.count,
            let encoded = json["authorities"]?.array, encoded.count <= Self.maxAuthorities
        else { throw RightsError(.malformed, "the service's keys cannot be read") }
        var keys: [Key] = []
        for element in list {
            guard let use = element["use"]?.string.flatMap({ Use(rawValue: $0) }) else { continue }  // of a later version
            guard let key = try? JWK(element), element["kid"]?.string == key.thumbprint,
                let validity = element.validity("nbf", "exp")
            else { throw RightsError(.malformed, "a key of the service cannot be read") }
            keys.append(Key(use: use, key: key, validity: validity))
        }
        var authorities: [[UInt8]] = []
        for element in encoded {
            guard let der = element.string.flatMap({ Base64.decode($0) }) else {
                throw RightsError(.malformed, "a certificate of the service cannot be read")
            }
            authorities.append(der)
        }
        self.init(environment: environment, number: number, keys: keys, authorities: authorities, validity: validity)
    }

    /// Reads the certificate of a player, which must lead to the root through an authority of this document.
    ///
    /// - Throws: `rights.signature` for another authority or another time, `rights.malformed`.
    package func player(_ der: [UInt8], root: Certificate, at now: Instant) throws(RightsError) -> PlayerCertificate {
        do {
            let certificate = try Certificate(der: der)
            let authorities = try self.authorities.map { try Certificate(der: $0) }
            let path = try CertificateRoots([root]).verify(certificate, through: authorities, at: now)
            guard path.count == 3 else {
                throw CryptoError(.untrusted, "the certificate was not issued by an authority of players")
            }
            return try PlayerCertificate(certificate)
        } catch let error as RightsError {
            throw error
        } catch {
            throw RightsError(.signature, "\(error)")
        }
    }
}

/// A new root, signed by its predecessor: players that trust the old root accept it.
package enum RootRollover {
    /// Signs a root's certificate with the key of the root before it.
    package static func sign(_ certificate: [UInt8], with old: P256.PrivateKey) -> String {
        let payload: JSON = ["root": .string(Base64.encode(certificate))]
        return TypedJWS.sign(payload.write(), as: RightsMessage.rollover, with: old)
    }

    /// Returns the root at the end of the chain of rollovers from a trusted root; the trusted root itself if there are none.
    ///
    /// - Parameters:
    ///   - trusted: the currently trusted root.
    ///   - rollovers: the service's rollovers, in any order.
    /// - Returns: the newest root.
    /// - Throws: `rights.signature`, `rights.malformed`.
    package static func newest(from trusted: Certificate, through rollovers: [String]) throws(RightsError) -> Certificate {
        var root = trusted
        var left = rollovers.prefix(64).map(\.self)
        while true {
            guard let key = try? P256.PublicKey(subjectPublicKeyInfo: root.subjectPublicKeyInfo) else {
                throw RightsError(.malformed, "the root has a key of another kind")
            }
            let id = JWK.p256(key).thumbprint
            guard let next = left.firstIndex(where: { (try? TypedJWS.Unverified($0, as: RightsMessage.rollover))?.keyID == id })
            else {
                return root
            }
            let json = try RightsMessage.payload(of: left.remove(at: next), as: RightsMessage.rollover, by: .p256(key))
            guard let der = json["root"]?.string.flatMap({ Base64.decode($0) }), let certificate = try? Certificate(der: der)
            else {
                throw RightsError(.malformed, "a new root cannot be read")
            }
            root = certificate
        }
    }
}
