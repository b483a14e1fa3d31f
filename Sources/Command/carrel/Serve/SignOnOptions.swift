// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelCrypto
import CarrelHome
import CarrelServer
import CarrelSettings
import CarrelSignOn
import CarrelUpstream
import Glibc

/// The settings of signing in at an OpenID provider.
struct SignOnOptions: Sendable {
    var issuer: String?
    var clientID: String?
    var secretFile: String?
    var scopes: [String] = ["profile"]
    var groupsClaim = "groups"
    var plans: [String] = []
    var roles: [String] = []
    var planLife = Duration.seconds(30 * 24 * 3600)
    var createsAccounts = true
    var label = "Sign in with your organisation"
    var authorities: String?

    var contradictions: [(setting: String, problem: String)] {
        var found: [(setting: String, problem: String)] = []
        if (issuer == nil) != (clientID == nil) {
            found.append((issuer == nil ? "oidc.issuer" : "oidc.client-id", "is required too: single sign-on needs both"))
        }
        if let issuer, (try? OpenIDConfiguration(issuer: issuer, clientID: "x")) == nil {
            found.append(("oidc.issuer", "'\(issuer)' is not an address such as https://login.example.org"))
        }
        for text in plans where Self.pair(text) == nil {
            found.append(("oidc.plans", "'\(text)' is not GROUP=PLAN"))
        }
        for text in roles
        where Self.pair(text).flatMap({ Role(rawValue: $0.1) }).map({ [.admin, .support].contains($0) }) != true {
            found.append(("oidc.roles", "'\(text)' is not GROUP=admin or GROUP=support"))
        }
        if planLife < .seconds(3600) { found.append(("oidc.plan-life", "is less than an hour")) }
        return found
    }

    /// Splits a group and its grant at the last equals sign.
    private static func pair(_ text: String) -> (String, String)? {
        guard let equals = text.lastIndex(of: "="), equals != text.startIndex, text.index(after: equals) != text.endIndex else {
            return nil
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    /// The service's settings; reads the file of the secret.
    func service(publicURL: String?) throws -> SignOnSettings {
        var made = SignOnSettings()
        guard let issuer, let clientID else { return made }
        made.provider = try OpenIDConfiguration(
            issuer: issuer,
            clientID: clientID,
            clientSecret: try secretFile.map(Self.secret),
            scopes: scopes,
            groupsClaim: groupsClaim
        )
        made.certificateAuthorities = authorities
        made.plans = Dictionary(plans.compactMap(Self.pair)) { $1 }
        made.roles = Dictionary(roles.compactMap(Self.pair)) { $1 }.compactMapValues(Role.init)
        made.planLife = planLife
        made.createsAccounts = createsAccounts
        made.publicURL = publicURL
        made.label = label
        return made
    }

    /// The first line of a file.
    private static func secret(_ path: String) throws -> Secret {
        guard let file = unsafe fopen(path, "re") else {
            throw ServerError(.notFound, "oidc.client-secret-file: \(path) cannot be read")
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4097)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        let line = Array(bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") })
        guard 1...4096 ~= line.count else {
            throw ServerError(.invalid, "oidc.client-secret-file: \(path) does not begin with a line of 1 to 4096 bytes")
        }
        return Secret(line)
    }
}
