// SPDX-License-Identifier: Apache-2.0

package import CarrelJOSE

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
    /// The numbered list of revocations.
    package static let revocations = TypedJWS.Kind(type: "cpk-rev+jwt", algorithm: .edDSA, maxByteCount: 8 << 20)
    /// The time of the service.
    package static let time = TypedJWS.Kind(type: "cpk-time+jwt", algorithm: .edDSA, maxByteCount: 4096)
}
