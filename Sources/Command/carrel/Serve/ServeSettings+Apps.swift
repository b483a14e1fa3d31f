// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelEditionDelivery
import CarrelIngest
import CarrelServer
import CarrelSettings

// Settings for the names that apps use, and for compatibility with older apps.
extension ServeSettings {
    static let appSettings: [Setting<Self>] = [
        Setting(
            \.cannedPrefix,
            "subscription.canned-prefix",
            value: "text",
            help: "Prefix of the canned users' product ids; a number of at least four digits follows."
        ),
        Setting(
            \.cannedStart,
            "subscription.canned-start",
            allowed: .range(0...99_999),
            help: "Number of the canned users' first product."
        ),
        Setting(
            \.cannedEnd,
            "subscription.canned-end",
            allowed: .range(0...99_999),
            help: "Number of the canned users' last product."
        ),
        Setting(\.names.user, "subscription.parameter.user", value: "name", help: "Names of the user-name parameter of sign_in."),
        Setting(\.names.password, "subscription.parameter.password", value: "name", help: "Names of the password parameter."),
        Setting(\.names.token, "subscription.parameter.token", value: "name", help: "Names of the token parameter."),
        Setting(
            \.names.product,
            "subscription.parameter.product",
            value: "name",
            help: "Names of the product-id parameter of edition_credentials."
        ),
        Setting(
            \.names.device,
            "subscription.parameter.device",
            value: "name",
            help: "Names of the installation-id parameter of sign_in."
        ),
        Setting(
            \.names.deviceName,
            "subscription.parameter.device-name",
            value: "name",
            help: "Names of the device-name parameter of sign_in."
        ),
        Setting(
            \.refusesQuerySecrets,
            "subscription.refuse-query-secrets",
            help: "Whether to refuse app calls with a token or a password in the query, which proxies log."
        ),
        Setting(
            \.debugComments,
            "subscription.debug-comments",
            help:
                "Whether responses to apps end with a comment: call, product and request id."
        ),
        Setting(
            \.feedPasswords,
            "subscription.global-auth-password",
            help: "Whether sign_in also returns a credential for feeds."
        ),
        Setting(
            \.sha1Secret,
            "compatibility.sha1-credentials",
            value: "secret",
            isSecret: true,
            help: "Shared secret of the legacy SHA-1 scheme, whose credentials are then accepted; unset: refused."
        ),
        Setting(
            \.sha1Until,
            "compatibility.sha1-until",
            help: "When credentials of the legacy scheme stop being accepted; unset: never."
        ),
    ]

    var contradictionsOfApps: [(setting: String, problem: String)] {
        var found: [(setting: String, problem: String)] = []
        if credentialLife > EditionCredentials.longestLife {
            found.append(("subscription.credential-life", "is more than 31 days"))
        }
        if cannedEnd < cannedStart {
            found.append(("subscription.canned-end", "is less than subscription.canned-start"))
        }
        if let fault = EditionOptions.fault(inProductID: cannedPrefix + "00000") {
            found.append(("subscription.canned-prefix", "cannot begin a product id: \(fault)"))
        }
        if let problem = names.problem { found.append(("subscription.parameter.\(problem.of)", problem.text)) }
        if let sha1Secret, sha1Secret.utf8.count < 8 {
            found.append(("compatibility.sha1-credentials", "is shorter than 8 bytes and could be guessed"))
        }
        if sha1Until != nil, sha1Secret == nil {
            found.append(("compatibility.sha1-until", "requires compatibility.sha1-credentials"))
        }
        return found
    }
}
