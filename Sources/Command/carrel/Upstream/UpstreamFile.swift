// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelCrypto
import CarrelEntitlementSources
import CarrelHTTP
import CarrelHTTPServer
import CarrelServer
import CarrelSettings
import CarrelSubscription
import CarrelUpstream

/// The file `upstream/NAME.conf` of a home: settings of one upstream system.
struct UpstreamFile: SettingsTable {
    /// The protocol of the system.
    enum Transport: String, CaseIterable, TextValue { case calls, webhook }
    /// The HTTP method of the five calls.
    enum Method: String, CaseIterable, TextValue { case post, get }
    /// The policy while the system is unreachable.
    enum Policy: String, CaseIterable, TextValue {
        case closed
        case lastKnownGood = "last-known-good"
        case open
    }

    var transport = Transport.calls
    var url: String?
    var secret: String?
    var method = Method.post
    var signInURL: String?
    var verifyURL: String?
    var credentialsURL: String?
    var renewURL: String?
    var signOutURL: String?
    var canRenew = true
    var canSignOut = true
    var userParameter = "username"
    var passwordParameter = "password"
    var tokenParameter = "token"
    var productParameter = "product_id"
    var deviceParameter = "uuid"
    var policy = Policy.closed
    var memory = Duration.seconds(24 * 3600)
    var cap = 60
    var timeout = Duration.seconds(5)
    var concurrency = 128
    var networks: [String] = []
    var certificateAuthorities: String?

    static let settings: [Setting<Self>] = [
        Setting(
            \.transport,
            "upstream.protocol",
            help: "Protocol of the system: the five calls (calls) or Carrel's webhook (webhook)."
        ),
        Setting(\.url, "upstream.url", value: "url", help: "Base URL: https, or http on this machine."),
        Setting(
            \.secret,
            "upstream.secret",
            value: "text",
            isSecret: true,
            help: "Secret that signs the webhook's requests; at least 16 bytes."
        ),
        Setting(\.method, "upstream.method", help: "HTTP method of calls: POST with a form, or GET with a query."),
        Setting(
            \.signInURL,
            "upstream.sign-in-url",
            value: "url",
            help: "URL of sign_in, if not below upstream.url; may contain {username}, {password} and {uuid}."
        ),
        Setting(\.verifyURL, "upstream.verify-url", value: "url", help: "URL of verify_subscription; may contain {token}."),
        Setting(
            \.credentialsURL,
            "upstream.credentials-url",
            value: "url",
            help: "URL of edition_credentials; may contain {token} and {product_id}."
        ),
        Setting(\.renewURL, "upstream.renew-url", value: "url", help: "URL of renew_token; may contain {token}."),
        Setting(\.signOutURL, "upstream.sign-out-url", value: "url", help: "URL of sign_out; may contain {token}."),
        Setting(\.canRenew, "upstream.renew", help: "Whether the system renews tokens."),
        Setting(\.canSignOut, "upstream.sign-out", help: "Whether to notify the system of sign-outs."),
        Setting(
            \.userParameter,
            "upstream.username-parameter",
            value: "name",
            help: "Its parameter for the user name."
        ),
        Setting(\.passwordParameter, "upstream.password-parameter", value: "name", help: "Its parameter for the password."),
        Setting(\.tokenParameter, "upstream.token-parameter", value: "name", help: "Its parameter for the token."),
        Setting(\.productParameter, "upstream.product-parameter", value: "name", help: "Its parameter for the product id."),
        Setting(\.deviceParameter, "upstream.device-parameter", value: "name", help: "Its parameter for the device."),
        Setting(
            \.policy,
            "upstream.fail-policy",
            help:
                "While unreachable, grant nothing (closed), the last answers (last-known-good) or all products to known tokens (open)."
        ),
        Setting(
            \.memory,
            "upstream.fail-memory",
            help: "Lifetime of cached answers while unreachable; at most 7d, 1d with open."
        ),
        Setting(
            \.cap,
            "upstream.fail-cap",
            allowed: .range(0...1_000_000),
            help: "Maximum credentials issued per minute under fail policy open."
        ),
        Setting(\.timeout, "upstream.timeout", help: "Timeout of one call."),
        Setting(\.concurrency, "upstream.concurrency", allowed: .range(1...1024), help: "Maximum number of concurrent calls."),
        Setting(
            \.networks,
            "upstream.networks",
            value: "network",
            help: "Networks of its addresses, such as 10.1.0.0/16; unset: public ones, or this machine if upstream.url names it."
        ),
        Setting(
            \.certificateAuthorities,
            "upstream.certificate-authorities",
            value: "file",
            help: "Certificate authorities (PEM) to trust, instead of the system's."
        ),
    ]

    var contradictions: [(setting: String, problem: String)] {
        var found: [(setting: String, problem: String)] = []
        switch transport {
        case .calls:
            if url == nil, signInURL == nil || verifyURL == nil || credentialsURL == nil {
                found.append(("upstream.url", "is required, unless sign-in-url, verify-url and credentials-url are all set"))
            } else if let problem = Self.problem({ () throws(UpstreamError) in try endpoints.check() }) {
                found.append(("upstream.url", problem))
            }
        case .webhook:
            if (secret?.utf8.count ?? 0) < 16 {
                found.append(("upstream.secret", "is required for the webhook: at least 16 bytes"))
            }
            let isUsable = url.flatMap { url in
                Self.problem { () throws(UpstreamError) in try SubscriptionEndpoints(base: url).check() }
            }
            if url == nil || isUsable != nil { found.append(("upstream.url", isUsable ?? "is required")) }
        }
        for network in networks where AddressRange(network) == nil {
            found.append(("upstream.networks", "'\(network)' is not a network such as 10.0.0.0/8"))
        }
        if timeout < .milliseconds(100) || timeout > .seconds(60) {
            found.append(("upstream.timeout", "is not between a tenth of a second and a minute"))
        }
        let longest = policy == .open ? FailPolicy.longestOpening : FailPolicy.longestMemory
        if memory < .seconds(1) || memory > longest {
            found.append(("upstream.fail-memory", "is not between a second and \(longest.written)"))
        }
        return found
    }

    private static func problem(_ check: () throws(UpstreamError) -> Void) -> String? {
        do throws(UpstreamError) {
            try check()
            return nil
        } catch {
            return "cannot be used: \(error.message)"
        }
    }

    private var endpoints: SubscriptionEndpoints {
        var made = SubscriptionEndpoints(base: url ?? "")
        if let signInURL { made.signIn = signInURL }
        if let verifyURL { made.verify = verifyURL }
        if let credentialsURL { made.credentials = credentialsURL }
        made.renew = canRenew ? renewURL ?? (url == nil ? nil : made.renew) : nil
        made.signOut = canSignOut ? signOutURL ?? (url == nil ? nil : made.signOut) : nil
        made.names = [
            .username: userParameter, .password: passwordParameter, .token: tokenParameter, .product: productParameter,
            .device: deviceParameter,
        ]
        made.usesForm = method == .post
        return made
    }

    /// The service's settings; nil for a webhook without an address, which ``contradictions`` refuses.
    func settings(name: String) -> UpstreamSettings {
        let transport: UpstreamSettings.Transport =
            switch transport {
            case .calls: .calls(endpoints)
            case .webhook: .webhook(url: url ?? "", secret: Secret(Array((secret ?? "").utf8)))
            }
        var made = UpstreamSettings(name: name, transport)
        made.policy =
            switch policy {
            case .closed: .closed
            case .lastKnownGood: .lastKnownGood(memory)
            case .open: .open(memory, perMinute: cap)
            }
        made.timeout = timeout
        made.concurrency = concurrency
        made.networks = networks.compactMap { AddressRange($0) }
        made.certificateAuthorities = certificateAuthorities
        return made
    }

    /// Whether a text can be the name of a system, and of its file.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && !["accounts", "canned"].contains(text) && text.first != "-"
            && text.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7a || $0 >= 0x30 && $0 <= 0x39 || $0 == UInt8(ascii: "-") }
    }
}
