// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelUpstream
import CarrelWebAPI

/// A running sign-in at the provider. All of it is derived from an identifier and a secret of the server: the browser has
/// the identifier, sealed, in a cookie, and nothing is stored until the sign-in is complete. So attempts without end cost no
/// storage.
struct SignOnAttempt: Sendable {
    /// 16 random bytes.
    let id: [UInt8]
    let expiresAt: Instant
    /// The path on this server to return to.
    let returnPath: String

    /// Time limit of a sign-in at the provider.
    static let life = Duration.seconds(600)

    init(returnPath: String?, at now: Instant) {
        id = Random.bytes(16)
        expiresAt = now + Self.life
        self.returnPath = returnPath.flatMap { SameOrigin.isPath($0) ? $0 : nil } ?? "/"
    }

    /// An attempt out of its cookie; nil if we did not seal it.
    init?(cookie text: String, key: HMACSHA256) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let content = Base64URL.decode(parts[0]), let seal = Base64URL.decode(parts[1]),
            content.count > 24,
            key.isValid(seal.rawSpan, for: (Array("cookie".utf8) + content).rawSpan),
            let path = String(validating: content[24...], as: UTF8.self)
        else { return nil }
        id = Array(content[..<16])
        expiresAt = Instant(milliseconds: content[16..<24].reduce(Int64(0)) { $0 << 8 | Int64($1) })
        returnPath = path
    }

    func cookie(key: HMACSHA256) -> String {
        let time = (0..<8).map { UInt8(truncatingIfNeeded: expiresAt.milliseconds >> (56 - 8 * $0)) }
        let content = id + time + Array(returnPath.utf8)
        let seal = key.authenticate((Array("cookie".utf8) + content).rawSpan)
        return "\(Base64URL.encode(content)).\(Base64URL.encode(seal))"
    }

    /// The parameters sent to the provider, which it must return.
    func request(key: HMACSHA256, redirect: String) -> OpenIDClient.Attempt {
        func derived(_ purpose: String) -> String {
            Base64URL.encode(key.authenticate((Array(purpose.utf8) + id).rawSpan))
        }
        return OpenIDClient.Attempt(
            state: derived("state"),
            nonce: derived("nonce"),
            verifier: derived("verifier"),
            redirect: redirect
        )
    }
}
