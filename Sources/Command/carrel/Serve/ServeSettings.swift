// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCommandLine
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelHTTPServer
import CarrelListening
import CarrelOrders
import CarrelServer
import CarrelSettings
import CarrelStreaming
import CarrelThrottling

/// The operator's settings, from the file `carrel.conf` of the home, the environment and the command line.
struct ServeSettings: SettingsTable {
    var address = "127.0.0.1"
    var port: UInt16 = 8080
    var allowedHosts: [String] = []
    var trustedProxies: [String] = []
    var workers: Int?
    var certificate: String?
    var certificateKey: String?
    var strictTransport = Duration.zero
    var publicURL: String?
    var connections = ServerConfiguration().maximumConnections
    var connectionsPerAddress: Int?
    var bodyMemory = ServerConfiguration().bodyMemory >> 20
    var minimumReadRate = ServerConfiguration().minimumReadRate
    var corsOrigins: [String] = []
    var accessLog = true
    var access = AccessMode.orderURL
    var concurrency = 3
    var keyRotation = 0
    var ticketLife = Duration.seconds(24 * 3600)
    var lateDays = Listening.usualLateDays
    var guestAccount: String?
    var sources = ["accounts"]
    var cannedUsers = false
    var cannedPrefix = CannedUsers.Issues().prefix
    var cannedStart = CannedUsers.Issues().numbers.lowerBound
    var cannedEnd = CannedUsers.Issues().numbers.upperBound
    var credentialLife = Duration.seconds(24 * 3600)
    var deviceLimit = 0
    var signInNetworkLimit = SignInThrottle.usualNetworkLimit
    var categoryValues = false
    var names = ParameterNames()
    var refusesQuerySecrets = false
    var debugComments = false
    var feedPasswords = false
    var sha1Secret: String?
    var sha1Until: Instant?
    var editionRefusal = RefusalStyle.forbidden
    var opdsRefusal = RefusalStyle.challenge
    var opdsSignIn = false
    var pugpigHeaders = false
    var catalogTitle = "Carrel"
    var auditRetention: Duration?

    var signOn = SignOnOptions()
    var receipts = ReceiptOptions()
    var rights = RightsOptions()

    static let settings = serverSettings + appSettings + SignOnOptions.settings + ReceiptOptions.settings + RightsOptions.settings

    private static let serverSettings: [Setting<Self>] = [
        Setting(
            \.address,
            "http.address",
            flags: ["--bind"],
            value: "address",
            help: "Address to listen on; 0.0.0.0 = every network."
        ),
        Setting(\.port, "http.port", flags: ["--port", "-p"], help: "Port to listen on; 0 = any free port."),
        Setting(
            \.allowedHosts,
            "http.allowed-hosts",
            value: "name",
            help: "Host names that clients may use, in addition to the server's own address."
        ),
        Setting(
            \.trustedProxies,
            "http.trusted-proxies",
            value: "network",
            help: "Networks of reverse proxies whose X-Forwarded headers are trusted, such as 10.0.0.0/8."
        ),
        Setting(
            \.workers,
            "http.workers",
            allowed: .range(1...256),
            help: "Threads that serve connections; unset: one per core."
        ),
        Setting(
            \.publicURL,
            "http.public-url",
            value: "url",
            help: "Public base URL for playlist addresses; default: the request's host."
        ),
        Setting(
            \.connections,
            "http.connections",
            allowed: .range(64...1_000_000),
            help: "Maximum number of network connections; lower if the system's open-file limit is."
        ),
        Setting(
            \.connectionsPerAddress,
            "http.connections-per-address",
            allowed: .range(0...1_000_000),
            help:
                "Maximum number of connections per IPv4 address or IPv6 /64; unset: a quarter of http.connections; 0 = unlimited. This machine and "
                + "trusted proxies are exempt."
        ),
        Setting(
            \.bodyMemory,
            "http.body-memory",
            allowed: .range(8...65_536),
            help:
                "Memory for request bodies, in MiB, of which one IPv4 address or IPv6 /64 may use an eighth; beyond that, requests get 503."
        ),
        Setting(
            \.minimumReadRate,
            "http.minimum-read-rate",
            allowed: .range(0...1_000_000),
            help: "Minimum rate at which a client reads a response, in bytes per second over two minutes; 0 = no minimum."
        ),
        Setting(
            \.corsOrigins,
            "http.cors-origins",
            value: "origin",
            help:
                "Other origins whose pages may stream, report, make app calls, read feeds and request keys by ClearKey and relays, such as https://play.example.org, capacitor://localhost or null; * = all. Cookies from them are ignored."
        ),
        Setting(\.accessLog, "http.access-log", help: "Whether to log each request to standard error."),
        Setting(
            \.certificate,
            "tls.certificate",
            value: "file",
            help: "Certificate chain in PEM; enables TLS 1.2 and later."
        ),
        Setting(\.certificateKey, "tls.key", value: "file", help: "Private key of the certificate, in PEM."),
        Setting(
            \.strictTransport,
            "tls.hsts",
            help: "How long browsers must use TLS after a response over TLS (Strict-Transport-Security); 0s = header not sent."
        ),
        Setting(
            \.access,
            "stream.access",
            help: "Access to an order: its id is enough (order-url), or the account's session is required too (session)."
        ),
        Setting(
            \.concurrency,
            "stream.concurrency",
            allowed: .range(0...1_000_000),
            help:
                "Concurrent streams per account, or per order with order-url: listeners and stream licenses together; 0 = unlimited. A listener is a session's device, else a network address (IPv6: its /64): people behind one address count once. A place is free two minutes after the last request."
        ),
        Setting(
            \.keyRotation,
            "stream.key-rotation",
            allowed: .range(0...1_000_000),
            help: "Segments per content key; 0 = one key for the whole title."
        ),
        Setting(
            \.ticketLife,
            "stream.ticket-life",
            help: "Minimum lifetime of a playlist's addresses; never less than twice the title's duration."
        ),
        Setting(
            \.lateDays,
            "listening.late-days",
            allowed: .range(0...36_500),
            help: "Days after an order's end during which reports of earlier listening are accepted."
        ),
        Setting(
            \.guestAccount,
            "web.guest-account",
            value: "name",
            help: "Account whose shelf visitors see without signing in; unset: none."
        ),
        Setting(
            \.signInNetworkLimit,
            "sign-in.network-limit",
            allowed: .range(1...100_000),
            help: "Sign-in attempts per minute and network; successful ones do not count. Raise for shared networks."
        ),
        Setting(
            \.auditRetention,
            "audit.retention",
            help: "How long audit entries are kept after 'carrel audit archive' wrote them to a file; unset: forever."
        ),
        Setting(
            \.sources,
            "subscription.sources",
            value: "name",
            help: "Entitlement sources in order: accounts, or the name of an upstream/NAME.conf."
        ),
        Setting(
            \.cannedUsers,
            "subscription.canned-users",
            flags: ["--canned-users"],
            help: "Whether the canned users exist, for testing apps against every case; never on a server with readers."
        ),
        Setting(
            \.credentialLife,
            "subscription.credential-life",
            help: "Lifetime of edition credentials."
        ),
        Setting(
            \.deviceLimit,
            "subscription.device-limit",
            allowed: .range(0...1_000_000),
            help: "Default device limit per account, unless the account or its plan sets one; 0 for no limit."
        ),
        Setting(
            \.categoryValues,
            "subscription.category-values",
            help: "Whether verify_subscription repeats each category's term as value, which some apps read."
        ),
        Setting(
            \.editionRefusal,
            "editions.refusal",
            help: "How downloads below /editions/ are refused: 403 for apps (forbidden), or 401 for reading systems (challenge)."
        ),
        Setting(
            \.opdsRefusal,
            "opds.refusal",
            help: "How downloads below /opds/v2/editions/ are refused: 403 (forbidden) or 401 (challenge)."
        ),
        Setting(
            \.pugpigHeaders,
            "editions.pugpig-headers",
            help: "Whether responses also name the required entitlement in X-Pugpig-Entitlement."
        ),
        Setting(\.catalogTitle, "opds.title", value: "text", help: "Title of the catalog in feeds."),
        Setting(\.opdsSignIn, "opds.sign-in", help: "Whether feeds require signing in."),
    ]

    /// Variables of the command line, and of this package's own scripts, which start servers too.
    static let otherVariables: Set<String> = [
        "CARREL_HOME", "CARREL_ENVIRONMENT", "CARREL_DATABASE", "CARREL_FIXTURES", "CARREL_LONG", "CARREL_BENCH", "CARREL_FUZZ",
        "CARREL_SANITIZER", "CARREL_TESTS", "CARREL_READER_HOME", "CARREL_VAULT", "CARREL_VAULT_PASSPHRASE", "CARREL_TPM",
        "CARREL_PKCS11_MODULE", "CARREL_PKCS11_TOKEN", "CARREL_PKCS11_PIN",
    ]

    var contradictions: [(setting: String, problem: String)] {
        var found: [(setting: String, problem: String)] = []
        if (certificate == nil) != (certificateKey == nil) {
            found.append(
                (certificate == nil ? "tls.certificate" : "tls.key", "is required too: TLS needs a certificate and its key")
            )
        }
        if sources.isEmpty { found.append(("subscription.sources", "is empty")) }
        for (index, name) in sources.enumerated() {
            if name != "accounts", !UpstreamFile.isName(name) {
                found.append(
                    ("subscription.sources", "names '\(name)', which is neither accounts nor lower-case letters, digits and '-'")
                )
            } else if sources[..<index].contains(name) {
                found.append(("subscription.sources", "names '\(name)' twice"))
            }
        }
        if credentialLife < .seconds(10) { found.append(("subscription.credential-life", "is less than ten seconds")) }
        found += contradictionsOfApps
        if let auditRetention, auditRetention < .seconds(86_400) {
            found.append(("audit.retention", "is less than a day"))
        }
        if ticketLife < .seconds(60) { found.append(("stream.ticket-life", "is less than a minute")) }
        if ticketLife > Self.longestTicketLife { found.append(("stream.ticket-life", "is more than ten years")) }
        for network in trustedProxies where AddressRange(network) == nil {
            found.append(("http.trusted-proxies", "'\(network)' is not a network such as 10.0.0.0/8"))
        }
        if let publicURL, !Self.isAddress(publicURL) {
            found.append(("http.public-url", "'\(publicURL)' is not an address such as https://audio.example.org"))
        }
        for origin in corsOrigins where !OtherOrigins.isOrigin(origin) {
            found.append(
                (
                    "http.cors-origins",
                    "'\(origin)' is not an origin: give scheme and host only, such as https://play.example.org, or null or *"
                )
            )
        }
        return found + signOn.contradictions + receipts.contradictions + rights.contradictions
    }

    private static let longestTicketLife = Duration.seconds(10 * 366 * 86_400)

    /// Whether a text is a scheme and an authority, and perhaps a path under which a proxy has the server.
    private static func isAddress(_ text: String) -> Bool {
        guard let scheme = ["https://", "http://"].first(where: { text.hasPrefix($0) }) else { return false }
        let rest = text.dropFirst(scheme.count)
        return rest.prefix { $0 != "/" }.contains { $0.isLetter || $0.isNumber }
            && rest.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_~:[]/".contains($0)) }
    }

    /// Whether other machines reach the server without TLS, and through no proxy that could have it.
    var isInTheClear: Bool {
        certificate == nil && trustedProxies.isEmpty && IPAddress(address)?.isLoopback != true
    }

    /// The service's settings.
    var service: CarrelService.Settings {
        var made = CarrelService.Settings()
        made.stream.access = access
        made.stream.concurrency = concurrency
        made.stream.mode = rights.concurrencyMode
        made.stream.keyRotation = keyRotation
        made.stream.ticketLife = ticketLife.components.seconds * 1000
        made.stream.publicURL = publicURL.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        made.guestAccount = guestAccount
        made.trustsLoopback = trustedProxies.isEmpty
        made.otherOrigins = OtherOrigins(corsOrigins)
        made.lateDays = lateDays
        made.signInNetworkLimit = signInNetworkLimit
        made.subscription.hasCannedUsers = cannedUsers
        // Contradictory values are reported before this is used.
        made.subscription.cannedIssues = .init(prefix: cannedPrefix, numbers: cannedStart...max(cannedStart, cannedEnd))
        made.subscription.credentialLife = credentialLife
        made.subscription.devices.limit = deviceLimit == 0 ? nil : deviceLimit
        made.subscription.alsoValue = categoryValues
        made.subscription.names = names
        made.subscription.refusesQuerySecrets = refusesQuerySecrets
        made.subscription.saysWhatWasAsked = debugComments
        made.subscription.givesFeedPasswords = feedPasswords
        made.subscription.sha1 = sha1Secret.map { SHA1Credentials(secret: Secret(Array($0.utf8)), until: sha1Until) }
        made.editions.refusal = editionRefusal
        made.editions.opdsRefusal = opdsRefusal
        made.editions.feedsNeedSignIn = opdsSignIn
        made.editions.saysPugpigEntitlement = pugpigHeaders
        made.editions.catalogTitle = catalogTitle
        made.players = rights.settings
        if let port = rightsPort, port != 0 { made.rightsListener = "\(rightsHost):\(port)" }
        return made
    }
}

extension AccessMode: TextValue {}
extension RefusalStyle: TextValue {}
