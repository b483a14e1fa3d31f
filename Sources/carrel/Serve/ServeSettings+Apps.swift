import CarrelCommandLine
import CarrelEditionDelivery
import CarrelIngest
import CarrelServer
import CarrelSettings

// What apps call things, and what is let in for the sake of older ones.
extension ServeSettings {
    static let appSettings: [Setting<Self>] = [
        Setting(
            \.cannedPrefix,
            "subscription.canned-prefix",
            value: "text",
            help: "What the ids of the canned users' products begin with; a number of at least four digits follows."
        ),
        Setting(
            \.cannedStart,
            "subscription.canned-start",
            allowed: .range(0...99_999),
            help: "The number of the first of the canned users' products."
        ),
        Setting(
            \.cannedEnd,
            "subscription.canned-end",
            allowed: .range(0...99_999),
            help: "The number of the last of the canned users' products."
        ),
        Setting(\.names.user, "subscription.parameter.user", value: "name", help: "Parameters of sign_in that say who it is."),
        Setting(\.names.password, "subscription.parameter.password", value: "name", help: "Parameters that hold the password."),
        Setting(\.names.token, "subscription.parameter.token", value: "name", help: "Parameters that hold the token."),
        Setting(
            \.names.product,
            "subscription.parameter.product",
            value: "name",
            help: "Parameters of edition_credentials that hold the product's id."
        ),
        Setting(
            \.names.device,
            "subscription.parameter.device",
            value: "name",
            help: "Parameters of sign_in that name the app's installation."
        ),
        Setting(
            \.names.deviceName,
            "subscription.parameter.device-name",
            value: "name",
            help: "Parameters of sign_in that hold what the device is called."
        ),
        Setting(
            \.refusesQuerySecrets,
            "subscription.refuse-query-secrets",
            help: "Whether apps' calls are refused that have a token or a password in the query, where proxies log it."
        ),
        Setting(
            \.debugComments,
            "subscription.debug-comments",
            help:
                "Whether answers to apps end with a comment that says which call it was, of which product, and the request's id."
        ),
        Setting(
            \.feedPasswords,
            "subscription.global-auth-password",
            help: "Whether accounts are given a second credential for feeds when they sign in."
        ),
        Setting(
            \.sha1Secret,
            "compatibility.sha1-credentials",
            value: "secret",
            isSecret: true,
            help: "The shared secret of the field's old SHA-1 scheme: credentials made with it are let in; none when unset."
        ),
        Setting(
            \.sha1Until,
            "compatibility.sha1-until",
            help: "When credentials of the old scheme are let in no longer; for ever when unset."
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
            found.append(("subscription.canned-prefix", "begins no product's id: \(fault)"))
        }
        if let problem = names.problem { found.append(("subscription.parameter.\(problem.of)", problem.text)) }
        if let sha1Secret, sha1Secret.utf8.count < 8 {
            found.append(("compatibility.sha1-credentials", "is shorter than eight bytes: anybody could guess it"))
        }
        if sha1Until != nil, sha1Secret == nil {
            found.append(("compatibility.sha1-until", "means nothing without compatibility.sha1-credentials"))
        }
        return found
    }
}
