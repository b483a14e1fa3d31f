// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelJOSE
import CarrelJSON

/// The signed messages between a player and the service. Each has its own `typ` and algorithm, so that none is mistaken for
/// another.
package enum RightsMessage {
    /// The keys of the service, signed by the root.
    package static let keys = TypedJWS.Kind(type: "cpk-keys+jwt", algorithm: .es256)
    /// A new root, signed by its predecessor.
    package static let rollover = TypedJWS.Kind(type: "cpk-root+jwt", algorithm: .es256, maxByteCount: 16_384)
    /// A player's request for its certificate.
    package static let personalization = TypedJWS.Kind(type: "cpk-per+jwt", algorithm: .es256, maxByteCount: 32_768)
    /// A player's request to be linked to an account, or unlinked from it.
    package static let link = TypedJWS.Kind(type: "cpk-link+jwt", algorithm: .es256, maxByteCount: 8192)
    /// A player's request for keys; its `kid` is the certificate's thumbprint.
    package static let request = TypedJWS.Kind(type: "cpk-req+jwt", algorithm: .es256, maxByteCount: 32_768)
    /// A player's proof of possession for redeeming a token (RFC 9449): the only kind with the key in the header.
    package static let proof = TypedJWS.Kind(type: "dpop+jwt", algorithm: .es256, hasKey: true, maxByteCount: 4096)
    /// A license.
    package static let license = TypedJWS.Kind(type: "cpk-lic+jwt", algorithm: .edDSA)
    /// Whether a text has the form of a license, by its header alone; only ``License`` verifies it.
    package static func isLicense(_ text: String) -> Bool {
        guard let header = text.split(separator: ".", maxSplits: 1).first, header.utf8.count <= 1024,
            let bytes = Base64URL.decode(header), let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 4))
        else { return false }
        return json["typ"]?.string == license.type
    }

    /// The numbered list of revocations.
    package static let revocations = TypedJWS.Kind(type: "cpk-rev+jwt", algorithm: .edDSA, maxByteCount: 8 << 20)
    /// The time of the service.
    package static let time = TypedJWS.Kind(type: "cpk-time+jwt", algorithm: .edDSA, maxByteCount: 4096)
}
