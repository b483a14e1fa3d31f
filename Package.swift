// swift-tools-version: 6.3
import PackageDescription

// The layers, lowest first. Imports point down only (docs/architecture.md); the build enforces it with
// `--explicit-target-dependency-import-check error`.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
]
/// Byte-level targets also store spans in non-escapable cursors, which 6.3 keeps behind this feature.
let byteSettings = settings + [.enableExperimentalFeature("Lifetimes")]

/// All targets of the server, for what uses the whole of it.
let serverTargets: [Target.Dependency] = [
    "CarrelHome", "CarrelWebAPI", "CarrelAudit", "CarrelThrottling", "CarrelAccounts", "CarrelCatalog", "CarrelOrders",
    "CarrelEntitlements",
    "CarrelEntitlementSources", "CarrelSignOn", "CarrelStreaming", "CarrelListening", "CarrelEditionDelivery", "CarrelFeeds",
    "CarrelAdministration", "CarrelWebsite", "CarrelServer",
]

func library(_ name: String, bytes: Bool = false, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: bytes ? byteSettings : settings)
}

/// A layer of the server, over others of it; both lists name targets without `Carrel`.
func server(_ name: String, over layers: String, _ ground: String, _ libraries: [Target.Dependency] = []) -> Target {
    let names = (ground.split(separator: " ") + layers.split(separator: " ")).map { "Carrel\($0)" }
    return library("Carrel\(name)", bytes: true, libraries + names.map { .byName(name: $0) })
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: byteSettings)
}

func executable(_ name: String, path: String? = nil, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

/// Fed mutated bytes by `make fuzz`; the folder is `Fuzz/<name>`, its `corpus` the bytes to start from.
func fuzz(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies,
        path: "Fuzz/\(name)",
        exclude: ["corpus"],
        swiftSettings: byteSettings + [.unsafeFlags(["-parse-as-library"])]
    )
}

/// Run by `make bench`; the folder is `Benchmarks/<name>`.
func benchmark(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies,
        path: "Benchmarks/\(name)",
        exclude: exclude,
        swiftSettings: settings
    )
}

func system(_ name: String, pkgConfig: String, apt: String) -> Target {
    .systemLibrary(name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

// What Debian has for x86-64 alone; other machines do without (AESCBCGroup).
#if arch(x86_64)
    let multiBuffer: [Target] = [
        .systemLibrary(name: "CIPSecMB", path: "Sources/C/CIPSecMB", providers: [.apt(["libipsec-mb-dev"])])
    ]
#else
    let multiBuffer: [Target] = []
#endif

// Of the command alone; sanitizers have an allocator of their own.
let allocator: [Target.Dependency] = Context.environment["CARREL_SANITIZER"] == nil ? ["CJemalloc"] : []

let package = Package(
    name: "carrel",
    // What other packages may use: each product holds the targets that its signatures name. The command `carrel` is one by itself.
    products: [
        .library(
            name: "CarrelReader",
            targets: ["CarrelReader", "CarrelUpstream", "CarrelSubscription", "CarrelHTTPClient", "CarrelHTTP", "CarrelBytes"]
        ),
        .library(
            name: "CarrelPublication",
            targets: ["CarrelPublication", "CarrelLCP", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes"]
        ),
        .library(
            name: "CarrelFoundation",
            targets: [
                "CarrelFoundation", "CarrelPublication", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
            ]
        ),
        .library(
            name: "CarrelWebReader",
            targets: [
                "CarrelWebReader", "CarrelPublication", "CarrelReader", "CarrelUpstream", "CarrelSubscription",
                "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
            ]
        ),
    ],
    targets: [
        // C: module maps of Debian's libraries, one importer each, and small C targets of our own
        .target(name: "CLinux", path: "Sources/C/CLinux"),
        system("CArgon2", pkgConfig: "libargon2", apt: "libargon2-dev"),
        .target(name: "CCommonPasswords", path: "Sources/C/CCommonPasswords", exclude: ["hashes.bin"]),
        system("CMicroHTTPD", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
        system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        .target(name: "CJemalloc", path: "Sources/C/CJemalloc", linkerSettings: [.linkedLibrary("jemalloc")]),
        .target(name: "CWeb", path: "Sources/C/CWeb", exclude: ["assets"]),
        system("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
        system("CXML", pkgConfig: "libxml-2.0", apt: "libxml2-dev"),
        system("CZip", pkgConfig: "libzip", apt: "libzip-dev"),
        system("CQPDF", pkgConfig: "libqpdf", apt: "libqpdf-dev"),
        system("CPostgres", pkgConfig: "libpq", apt: "libpq-dev"),
        system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),

        // ground
        library("CarrelBytes", bytes: true),
        library("CarrelJSON", bytes: true, ["CarrelBytes"]),
        library(
            "CarrelCrypto",
            bytes: true,
            ["CarrelBytes", "CarrelThreads", "COpenSSL"]
        ),
        library("CarrelMultiBuffer", ["CarrelCrypto", "CarrelThreads"] + multiBuffer.map { .target(name: $0.name) }),
        library("CarrelPasswordHash", bytes: true, ["CArgon2", "CarrelBytes", "CarrelCrypto"]),
        library("CarrelThreads", ["CLinux", "CarrelBytes"]),
        library("CarrelFiles", ["CarrelBytes"]),
        library("CarrelCommandLine", ["CarrelBytes", "CarrelJSON", "CarrelThreads"]),
        library("CarrelSettings", ["CarrelCommandLine", "CarrelJSON"]),
        library("CarrelMetrics", ["CarrelBytes", "CarrelThreads"]),
        library("CarrelHTTP", bytes: true, ["CLinux", "CarrelBytes", "CarrelThreads"]),
        library("CarrelZlib", bytes: true, ["CZlib", "CarrelBytes"]),
        library(
            "CarrelHTTPServer",
            bytes: true,
            ["CarrelBytes", "CarrelFiles", "CarrelHTTP", "CarrelMetrics", "CarrelThreads", "CarrelZlib", "CLinux", "CMicroHTTPD"]
        ),
        library(
            "CarrelStore",
            bytes: true,
            ["CLinux", "CSQLite", "CarrelBytes", "CarrelCrypto", "CarrelFiles", "CarrelThreads"]
        ),
        library("CarrelPostgres", bytes: true, ["CPostgres", "CarrelBytes", "CarrelStore", "CarrelThreads"]),
        library("CarrelHTTPClient", bytes: true, ["CarrelBytes", "CarrelHTTP", "CarrelThreads", "CCurl"]),

        // formats
        library("CarrelAudio", bytes: true, ["CarrelBytes"]),
        library("CarrelArchive", bytes: true, ["CZip", "CarrelBytes"]),
        library("CarrelMP4", bytes: true, ["CarrelAudio", "CarrelBytes"]),
        library(
            "CarrelPDF",
            bytes: true,
            ["CLinux", "CQPDF", "CarrelBytes", "CarrelFiles", "CarrelJSON", "CarrelXML", "CarrelZlib"]
        ),
        library("CarrelTS", bytes: true, ["CarrelBytes"]),
        library("CarrelHLS", bytes: true, ["CarrelBytes"]),
        library("CarrelJOSE", bytes: true, ["CarrelBytes", "CarrelCrypto", "CarrelJSON"]),
        library("CarrelXML", bytes: true, ["CXML", "CarrelBytes"]),

        // domain
        library(
            "CarrelIngest",
            bytes: true,
            [
                "CLinux", "CarrelArchive", "CarrelAudio", "CarrelBytes", "CarrelCrypto", "CarrelJSON", "CarrelMP4",
                "CarrelFiles", "CarrelPackager", "CarrelStore", "CarrelThreads", "CarrelXML", "CarrelZlib",
            ]
        ),
        library("CarrelSubscription", bytes: true, ["CarrelBytes", "CarrelXML"]),
        library(
            "CarrelPublication",
            bytes: true,
            [
                "CLinux", "CarrelArchive", "CarrelAudio", "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient",
                "CarrelFiles", "CarrelJSON", "CarrelMP4", "CarrelPDF", "CarrelStore",
                "CarrelThreads", "CarrelXML", "CarrelZlib",
            ]
        ),
        library(
            "CarrelLCP",
            [
                "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient", "CarrelJSON", "CarrelPublication", "CarrelStore",
                "CarrelThreads", "CarrelXML",
            ]
        ),
        library("CarrelReceipts", bytes: true, ["CarrelBytes", "CarrelCrypto", "CarrelJOSE", "CarrelJSON"]),
        library(
            "CarrelUpstream",
            bytes: true,
            [
                "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient", "CarrelJOSE", "CarrelJSON", "CarrelSubscription",
                "CarrelThreads",
            ]
        ),
        library(
            "CarrelPackager",
            bytes: true,
            ["CarrelAudio", "CarrelBytes", "CarrelCrypto", "CarrelHLS", "CarrelMultiBuffer", "CarrelThreads", "CarrelTS"]
        ),

        // server, lowest first: each a noun with one reason to change (docs/architecture.md)
        // the home on disk: locks, keys, secrets, schema
        server("Home", over: "", "Bytes Crypto Files HTTP Metrics Store Threads"),
        // conventions of the server's API; what a capability is
        server("WebAPI", over: "Home", "Bytes Crypto HTTP JSON Metrics Store Threads Web"),
        // the sealed log
        server("Audit", over: "Home WebAPI", "Bytes Crypto Files HTTP JSON Store Threads"),
        // what slows down guessing
        server("Throttling", over: "Audit", "Bytes Crypto Metrics Store Threads"),
        // people, staff, sessions, devices, who calls, revocations
        server(
            "Accounts",
            over: "Home WebAPI Audit Throttling",
            "Bytes Crypto HTTP JSON Metrics PasswordHash Store Threads",
            ["CCommonPasswords"]
        ),
        // titles, editions, their import and media
        server(
            "Catalog",
            over: "Home WebAPI Audit Accounts",
            "Audio Bytes Crypto HTTP Ingest JSON Packager Store Subscription Threads"
        ),
        // grants of titles, and who listens now
        server(
            "Orders",
            over: "Home WebAPI Audit Throttling Accounts Catalog",
            "Audio Bytes Crypto HTTP Ingest JSON Store Threads"
        ),
        // plans, purchases, the sources of entitlement
        server("Entitlements", over: "Home WebAPI Audit Accounts Catalog", "Bytes Crypto HTTP JSON Store Subscription Threads"),
        // other systems and app stores as sources
        server(
            "EntitlementSources",
            over: "Home WebAPI Audit Throttling Accounts Catalog Entitlements",
            "Bytes Crypto HTTP HTTPClient JOSE JSON Metrics Receipts Store Subscription Threads Upstream"
        ),
        // OpenID Connect
        server(
            "SignOn",
            over: "Home WebAPI Audit Accounts Entitlements",
            "Bytes Crypto HTTP HTTPClient JSON Metrics Store Subscription Upstream"
        ),
        // delivery of audio
        server(
            "Streaming",
            over: "Home WebAPI Audit Accounts Catalog Orders",
            "Audio Bytes Crypto HLS HTTP Ingest JSON Metrics Packager Store Threads"
        ),
        // positions, history, bookmarks
        server(
            "Listening",
            over: "Home WebAPI Audit Accounts Catalog Orders Streaming",
            "Bytes Crypto HTTP Ingest JSON Metrics Store"
        ),
        // the five calls, credentials, downloads
        server(
            "EditionDelivery",
            over: "Home WebAPI Audit Accounts Catalog Entitlements EntitlementSources",
            "Bytes Crypto HTTP Ingest JSON Metrics Receipts Store Subscription Threads XML"
        ),
        // OPDS
        server(
            "Feeds",
            over: "Home WebAPI Accounts Catalog EditionDelivery",
            "Bytes Crypto HTTP Ingest JSON Store Subscription XML"
        ),
        // health, key rotation, audit search, explanations, personal data
        server(
            "Administration",
            over: "Home WebAPI Audit Accounts Catalog Orders Entitlements",
            "Audio Bytes Crypto HTTP Ingest JSON Metrics Store Subscription Threads"
        ),
        // pages for people
        server(
            "Website",
            over: "Home WebAPI Audit Accounts Catalog Orders Entitlements Streaming Listening EditionDelivery "
                + "Administration",
            "Audio Bytes HTTP Ingest JSON Metrics Packager Store"
        ),
        // assembly, backup, jobs
        server(
            "Server",
            over: "Home WebAPI Audit Throttling Accounts Catalog Orders Entitlements EntitlementSources SignOn "
                + "Streaming Listening EditionDelivery Feeds Administration Website",
            "Bytes Crypto Files HTTP Metrics PasswordHash Store Threads Upstream"
        ),

        // runs
        library("CarrelFoundation", ["CarrelBytes", "CarrelPublication"]),
        library(
            "CarrelReader",
            bytes: true,
            [
                "CarrelBytes", "CarrelFiles", "CarrelHTTP", "CarrelJSON", "CarrelSubscription", "CarrelThreads",
                "CarrelUpstream",
            ]
        ),
        library(
            "CarrelWebReader",
            bytes: true,
            [
                "CLinux", "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPServer", "CarrelJSON", "CarrelPublication",
                "CarrelReader", "CarrelThreads", "CarrelWeb", "CarrelXML",
            ]
        ),
        library("CarrelWeb", ["CWeb", "CarrelBytes", "CarrelCrypto"]),

        // tools
        executable(
            "carrel",
            [
                "CLinux", "CarrelAudio", "CarrelBytes", "CarrelCommandLine", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient",
                "CarrelHTTPServer", "CarrelMetrics", "CarrelFiles",
                "CarrelIngest", "CarrelLCP", "CarrelPostgres", "CarrelPublication",
                "CarrelJSON", "CarrelReader", "CarrelReceipts", "CarrelSettings", "CarrelStore",
                "CarrelSubscription", "CarrelThreads", "CarrelUpstream", "CarrelWebReader",
            ] + serverTargets + allocator
        ),

        // tests (CarrelTesting: what they share, not shipped)
        .target(
            name: "CarrelTesting",
            dependencies: ["CLinux", "CarrelBytes", "CarrelHTTP", "CarrelHTTPClient", "CarrelJSON", "CarrelThreads"],
            path: "Tests/Support",
            swiftSettings: settings
        ),
        .target(
            name: "ProtectedPublications",
            dependencies: ["CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelZlib"],
            path: "Tests/ProtectedPublications",
            swiftSettings: byteSettings
        ),
        tests(
            "CarrelPublicationTests",
            [
                "CarrelArchive", "CarrelBytes", "CarrelCrypto", "CarrelFoundation", "CarrelHTTP", "CarrelHTTPClient",
                "CarrelHTTPServer", "CarrelJSON", "CarrelPublication", "CarrelReader", "CarrelStore", "CarrelSubscription",
                "CarrelUpstream",
                "CarrelTesting", "CarrelThreads", "CarrelXML", "CarrelZlib", "ProtectedPublications", "PublicationProgram",
            ]
        ),
        tests(
            "CarrelLCPTests",
            [
                "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient", "CarrelHTTPServer", "CarrelJSON", "CarrelLCP",
                "CarrelPublication", "CarrelStore", "CarrelTesting", "CarrelThreads", "ProtectedPublications",
            ]
        ),
        tests("CarrelPDFTests", ["CarrelJSON", "CarrelPDF", "CarrelTesting", "CarrelThreads"]),
        tests("CarrelArchiveTests", ["CarrelArchive", "CarrelBytes", "CarrelTesting"]),
        tests("CarrelAudioTests", ["CarrelAudio", "CarrelBytes", "CarrelTesting"]),
        tests("CarrelBytesTests", ["CarrelBytes"]),
        tests("CarrelMP4Tests", ["CarrelAudio", "CarrelBytes", "CarrelMP4", "CarrelTesting"]),
        tests("CarrelJSONTests", ["CarrelBytes", "CarrelJSON"]),
        tests(
            "CarrelCryptoTests",
            ["CarrelBytes", "CarrelCrypto", "CarrelMultiBuffer", "CarrelPasswordHash", "CarrelTesting"]
        ),
        tests("CarrelHLSTests", ["CarrelBytes", "CarrelHLS", "CarrelJSON", "CarrelTesting"]),
        tests(
            "CarrelPackagerTests",
            ["CarrelAudio", "CarrelBytes", "CarrelCrypto", "CarrelHLS", "CarrelPackager", "CarrelTesting"]
        ),
        tests(
            "CarrelIngestTests",
            [
                "CarrelAudio", "CarrelBytes", "CarrelIngest", "CarrelPackager", "CarrelStore", "CarrelTesting",
            ]
        ),
        tests("CarrelJOSETests", ["CarrelBytes", "CarrelCrypto", "CarrelJOSE", "CarrelJSON"]),
        tests("CarrelReceiptsTests", ["CarrelBytes", "CarrelCrypto", "CarrelJSON", "CarrelReceipts", "CarrelTesting"]),
        tests("CarrelXMLTests", ["CarrelBytes", "CarrelTesting", "CarrelXML"]),
        tests("CarrelSubscriptionTests", ["CarrelBytes", "CarrelSubscription", "CarrelTesting", "CarrelXML"]),
        tests(
            "CarrelUpstreamTests",
            [
                "CarrelBytes", "CarrelCrypto", "CarrelHTTPClient", "CarrelSubscription", "CarrelTesting", "CarrelThreads",
                "CarrelUpstream",
            ]
        ),
        tests(
            "CarrelReaderTests",
            [
                "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient", "CarrelHTTPServer", "CarrelMetrics",
                "CarrelPasswordHash", "CarrelReader",
                "CarrelStore", "CarrelSubscription", "CarrelTesting", "CarrelThreads", "CarrelUpstream",
            ] + serverTargets
        ),
        tests(
            "CarrelWebReaderTests",
            [
                "CarrelBytes", "CarrelHTTP", "CarrelHTTPClient", "CarrelJSON", "CarrelPublication", "CarrelReader",
                "CarrelTesting", "CarrelThreads", "CarrelWebReader", "ProtectedPublications",
            ]
        ),
        tests("CarrelTSTests", ["CarrelTS", "CarrelBytes"]),
        tests("CarrelThreadsTests", ["CarrelThreads"]),
        tests("CarrelCommandLineTests", ["CarrelBytes", "CarrelCommandLine", "CarrelTesting", "CarrelThreads"]),
        tests("CarrelSettingsTests", ["CarrelCommandLine", "CarrelJSON", "CarrelSettings", "CarrelTesting"]),
        tests("CarrelHTTPTests", ["CarrelHTTP", "CarrelBytes", "CarrelThreads"]),
        tests(
            "CarrelHTTPServerTests",
            ["CarrelBytes", "CarrelHTTP", "CarrelHTTPServer", "CarrelMetrics", "CarrelTesting", "CarrelThreads"]
        ),
        tests(
            "CarrelHTTPClientTests",
            ["CarrelBytes", "CarrelHTTP", "CarrelHTTPClient", "CarrelTesting", "CarrelThreads"]
        ),
        .target(
            name: "CarrelServerTesting",
            dependencies: [
                "CarrelAccounts", "CarrelAudio", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto",
                "CarrelEditionDelivery", "CarrelEntitlementSources", "CarrelHTTP", "CarrelHome", "CarrelIngest", "CarrelJSON",
                "CarrelOrders", "CarrelPackager", "CarrelPostgres", "CarrelServer", "CarrelStore", "CarrelSubscription",
                "CarrelTesting", "CarrelThreads", "CarrelUpstream", "CarrelWebAPI",
            ],
            path: "Tests/CarrelServerTesting",
            swiftSettings: byteSettings
        ),
        tests(
            "CarrelAuditTests",
            [
                "CarrelAccounts", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto", "CarrelEntitlements",
                "CarrelHTTP", "CarrelHome", "CarrelJSON", "CarrelOrders", "CarrelServer", "CarrelServerTesting", "CarrelStore",
                "CarrelSubscription", "CarrelTesting", "CarrelThreads",
            ]
        ),
        tests(
            "CarrelAccountsTests",
            [
                "CarrelAccounts", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto", "CarrelEditionDelivery",
                "CarrelEntitlements", "CarrelHTTP", "CarrelHome", "CarrelJSON", "CarrelListening", "CarrelOrders",
                "CarrelPasswordHash", "CarrelServer", "CarrelServerTesting", "CarrelStore", "CarrelStreaming",
                "CarrelSubscription", "CarrelTesting",
            ]
        ),
        tests(
            "CarrelCatalogTests",
            [
                "CarrelAccounts", "CarrelAudio", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelHTTP", "CarrelHome",
                "CarrelIngest", "CarrelJSON", "CarrelOrders", "CarrelPackager", "CarrelServer", "CarrelServerTesting",
                "CarrelStore", "CarrelSubscription", "CarrelTesting", "CarrelThreads",
            ]
        ),
        tests(
            "CarrelOrdersTests",
            [
                "CarrelAccounts", "CarrelAudio", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto",
                "CarrelEditionDelivery", "CarrelHTTP", "CarrelHome", "CarrelIngest", "CarrelJSON", "CarrelListening",
                "CarrelOrders", "CarrelServer", "CarrelServerTesting", "CarrelStore", "CarrelStreaming", "CarrelTesting",
                "CarrelWebsite",
            ]
        ),
        tests(
            "CarrelStreamingTests",
            [
                "CarrelAccounts", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto", "CarrelHTTP", "CarrelHome",
                "CarrelIngest", "CarrelJSON", "CarrelListening", "CarrelOrders", "CarrelServer", "CarrelServerTesting",
                "CarrelStore", "CarrelStreaming", "CarrelTesting", "CarrelThreads",
            ]
        ),
        tests(
            "CarrelEntitlementsTests",
            [
                "CarrelAccounts", "CarrelAdministration", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto",
                "CarrelEditionDelivery", "CarrelEntitlementSources", "CarrelEntitlements", "CarrelHTTP", "CarrelHTTPServer",
                "CarrelHome", "CarrelIngest", "CarrelJSON", "CarrelMetrics", "CarrelPostgres", "CarrelReceipts", "CarrelServer",
                "CarrelServerTesting", "CarrelStore", "CarrelSubscription", "CarrelTesting", "CarrelThreads", "CarrelUpstream",
                "CarrelXML",
            ]
        ),
        tests(
            "CarrelEditionDeliveryTests",
            [
                "CarrelAccounts", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto", "CarrelEditionDelivery",
                "CarrelEntitlements", "CarrelHTTP", "CarrelHTTPServer", "CarrelHome", "CarrelIngest", "CarrelJSON",
                "CarrelMetrics", "CarrelServer", "CarrelServerTesting", "CarrelStore", "CarrelStreaming", "CarrelSubscription",
                "CarrelTesting", "CarrelThreads", "CarrelXML",
            ]
        ),
        tests(
            "CarrelServerTests",
            [
                "CarrelAccounts", "CarrelAdministration", "CarrelAudit", "CarrelBytes", "CarrelCatalog", "CarrelCrypto",
                "CarrelEntitlementSources", "CarrelEntitlements", "CarrelFeeds", "CarrelHTTP", "CarrelHTTPServer", "CarrelHome",
                "CarrelJSON", "CarrelListening", "CarrelMetrics", "CarrelOrders", "CarrelPostgres", "CarrelServer",
                "CarrelServerTesting", "CarrelSignOn", "CarrelStore", "CarrelStreaming", "CarrelSubscription", "CarrelTesting",
                "CarrelThreads", "CarrelUpstream", "CarrelWebAPI", "CarrelWebsite", "CarrelXML",
            ]
        ),
        executable("ReaderProgram", path: "Tests/ReaderProgram", ["CarrelReader"]),
        executable(
            "PublicationProgram",
            path: "Tests/PublicationProgram",
            ["CarrelJSON", "CarrelPublication", "CarrelThreads"]
        ),
        tests("ScriptsTests", ["CarrelBytes", "CarrelJSON", "CarrelTesting"]),
        tests(
            "CarrelPlayerTests",
            [
                "CarrelBytes", "CarrelCommandLine", "CarrelHTTP", "CarrelHTTPClient", "CarrelJSON", "CarrelSettings",
                "CarrelHTTPServer", "CarrelMetrics", "CarrelTesting", "CarrelThreads", "ProtectedPublications", "ReaderProgram",
                "carrel",
            ] + serverTargets
        ),
        tests("CarrelTestingTests", ["CarrelBytes", "CarrelJSON", "CarrelTesting"]),
        tests("CarrelWebTests", ["CarrelTesting", "CarrelThreads", "CarrelWeb"]),
        .target(name: "StorePairs", dependencies: ["CarrelStore"], path: "Tests/StorePairs", swiftSettings: settings),
        executable(
            "StoreCrashWriter",
            path: "Tests/StoreCrashWriter",
            ["CarrelBytes", "CarrelPostgres", "CarrelStore", "CarrelThreads", "StorePairs"]
        ),
        tests(
            "CarrelStoreTests",
            [
                "CarrelBytes", "CarrelCrypto", "CarrelPostgres", "CarrelStore", "CarrelTesting", "CarrelThreads",
                "StoreCrashWriter", "StorePairs",
            ]
        ),
    ]
)

// Built only when asked for, so that `swift build` stays short.
package.targets += multiBuffer
if Context.environment["CARREL_FUZZ"] != nil {
    package.targets += [
        fuzz("AnswerFuzz", ["CarrelSubscription"]),
        fuzz("AppReceiptFuzz", ["CarrelBytes", "CarrelCrypto", "CarrelReceipts"]),
        fuzz("ArchiveFuzz", ["CarrelArchive"]),
        fuzz("AuditArchiveFuzz", ["CarrelBytes", "CarrelCrypto", "CarrelJSON"] + serverTargets),
        fuzz("ComicInfoFuzz", ["CarrelBytes", "CarrelPublication", "CarrelXML"]),
        fuzz("DateFuzz", ["CarrelBytes"]),
        fuzz("DirectoryFuzz", ["CarrelBytes", "CarrelCrypto", "CarrelPublication", "CarrelThreads"]),
        fuzz("EPUBFuzz", ["CarrelBytes", "CarrelIngest", "CarrelZlib"]),
        fuzz("JSONFuzz", ["CarrelBytes", "CarrelJSON"]),
        fuzz("JWSFuzz", ["CarrelBytes", "CarrelCrypto", "CarrelJOSE"]),
        fuzz("ResponseHeadFuzz", ["CarrelBytes", "CarrelHTTP", "CarrelHTTPClient"]),
        fuzz("MP3Fuzz", ["CarrelAudio", "CarrelBytes"]),
        fuzz("MP4Fuzz", ["CarrelBytes", "CarrelMP4"]),
        fuzz("LicenseFuzz", ["CarrelBytes", "CarrelJSON", "CarrelLCP"]),
        fuzz("ManifestFuzz", ["CarrelBytes", "CarrelJSON", "CarrelPublication"]),
        fuzz("NavigationFuzz", ["CarrelBytes", "CarrelPublication", "CarrelXML"]),
        fuzz("PDFDocumentFuzz", ["CLinux", "CarrelPDF"]),
        fuzz("PDFFuzz", ["CarrelIngest"]),
        fuzz("PageHeadFuzz", ["CarrelIngest"]),
        fuzz("RangeFuzz", ["CarrelHTTP"]),
        fuzz("ReceiptFuzz", ["CarrelBytes", "CarrelJSON", "CarrelReceipts"]),
        fuzz("RequestFuzz", ["CarrelBytes", "CarrelHTTP", "CarrelHTTPServer"] + serverTargets),
        fuzz("ReportFuzz", ["CarrelBytes", "CarrelJSON"] + serverTargets),
        fuzz("PlaylistFuzz", ["CarrelBytes", "CarrelHLS"]),
        fuzz("PublicationFuzz", ["CarrelBytes", "CarrelPublication", "CarrelThreads", "CarrelXML"]),
        fuzz("SegmentIndexFuzz", ["CarrelBytes", "CarrelPackager"]),
        fuzz("SettingsFuzz", ["CarrelCommandLine", "CarrelSettings"]),
        fuzz("StatusFuzz", ["CarrelBytes", "CarrelLCP"]),
        fuzz("TagsFuzz", ["CarrelAudio", "CarrelBytes"]),
        fuzz("TicketFuzz", ["CarrelBytes", "CarrelCrypto"] + serverTargets),
        fuzz("XMLFuzz", ["CarrelBytes", "CarrelXML"]),
    ]
}
if Context.environment["CARREL_BENCH"] != nil {
    package.targets += [
        .target(name: "CCryptoLoops", dependencies: ["COpenSSL"], path: "Benchmarks/CryptoBench/C"),
        benchmark("CryptoBench", ["CCryptoLoops", "CarrelBytes", "CarrelCrypto"], exclude: ["C"]),
        benchmark("HTTPServerBench", ["CarrelHTTP", "CarrelHTTPServer", "CarrelThreads"], exclude: ["run"]),
        benchmark("JSONBench", ["CarrelBytes", "CarrelJSON"]),
        .target(name: "CPublicationLoops", dependencies: ["COpenSSL"], path: "Benchmarks/PublicationBench/C"),
        benchmark(
            "PublicationBench",
            [
                "CPublicationLoops", "CarrelBytes", "CarrelCrypto", "CarrelHTTP", "CarrelHTTPClient", "CarrelLCP",
                "CarrelPublication", "CarrelThreads", "ProtectedPublications",
            ],
            exclude: ["C", "curve", "hostile", "hostile-pdf", "measure", "run"]
        ),
        benchmark("ScanBench", ["CarrelAudio", "CarrelBytes", "CarrelCrypto", "CarrelMP4", "CarrelPackager"]),
        .target(name: "CClientLoops", dependencies: ["CCurl"], path: "Benchmarks/ClientBench/C"),
        benchmark("ClientBench", ["CClientLoops", "CarrelHTTPClient"], exclude: ["C", "run"]),
        .target(name: "CStoreLoops", dependencies: ["CSQLite"], path: "Benchmarks/StoreBench/C"),
        benchmark("StoreBench", ["CStoreLoops", "CarrelStore"], exclude: ["C"]),
        .target(name: "CSegmentLoops", dependencies: ["COpenSSL"], path: "Benchmarks/SegmentBench/C"),
        benchmark(
            "SegmentBench",
            ["CSegmentLoops", "CarrelAudio", "CarrelBytes", "CarrelCrypto", "CarrelPackager"],
            exclude: ["C"]
        ),
    ]
}
