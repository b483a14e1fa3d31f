// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Imports point down only (docs/architecture.md); the build enforces it with `--explicit-target-dependency-import-check error`.

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
/// Byte-level targets also store spans in non-escapable cursors, which Swift 6.3 enables with this feature.
let byteSettings = settings + [.enableExperimentalFeature("Lifetimes")]

/// All targets of the server, for what uses the whole of it.
let wholeServer: [Target.Dependency] = [
    "CarrelHome", "CarrelWebAPI", "CarrelAudit", "CarrelThrottling", "CarrelPasswords", "CarrelAccounts", "CarrelCatalog",
    "CarrelOrders", "CarrelEntitlements", "CarrelAuthority", "CarrelKeyStore", "CarrelKeyExchange", "CarrelLicensing",
    "CarrelEntitlementSources",
    "CarrelSignOn",
    "CarrelStreaming", "CarrelListening", "CarrelEditionDelivery", "CarrelFeeds", "CarrelAdministration", "CarrelWebsite",
    "CarrelServer", "CarrelRestoring",
]

/// The name of a target, by the folder in Sources or Tests that holds its own.
func name(of place: String) -> String { String(place.split(separator: "/").last ?? "") }

func library(_ place: String, bytes: Bool = false, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name(of: place),
        dependencies: dependencies,
        path: "Sources/\(place)",
        swiftSettings: bytes ? byteSettings : settings
    )
}

/// A layer of the server, over others of it; both lists name targets without `Carrel`.
func server(_ name: String, over layers: String, _ ground: String, _ libraries: [Target.Dependency] = []) -> Target {
    let names = (ground.split(separator: " ") + layers.split(separator: " ")).map { "Carrel\($0)" }
    return library("Server/Carrel\(name)", bytes: true, libraries + names.map { .byName(name: $0) })
}

/// Targets of ours, by their names without `Carrel`.
func carrel(_ names: String) -> [Target.Dependency] {
    names.split(separator: " ").map { .byName(name: "Carrel\($0)") }
}

/// A library for other packages: a target, and those that its signatures name.
func product(_ targets: [String]) -> Product { .library(name: targets[0], targets: targets) }

func tests(_ place: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name(of: place), dependencies: dependencies, path: "Tests/\(place)", swiftSettings: byteSettings)
}

/// Code shared by tests, in no product.
func support(_ place: String, bytes: Bool = false, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name(of: place),
        dependencies: dependencies,
        path: "Tests/\(place)",
        swiftSettings: bytes ? byteSettings : settings
    )
}

/// Tests of a layer of the server, which also use the layers below it.
func serverTests(_ name: String, _ others: String) -> Target {
    tests(
        "Server/Carrel\(name)Tests",
        carrel(
            "Accounts Audit Bytes Catalog Crypto HTTP Home JSON Orders Server ServerTesting Store Subscription Testing Threads WebAPI \(others)"
        )
    )
}

func executable(_ path: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name(of: path), dependencies: dependencies, path: path, swiftSettings: settings)
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
    let blocks = Target.systemLibrary(name: "CIPSecMB", path: "Sources/C/CIPSecMB", providers: [.apt(["libipsec-mb-dev"])])
    let multiBuffer = [blocks]
#else
    let multiBuffer: [Target] = []
#endif

// Of the command alone; sanitizers have an allocator of their own.
let allocator: [Target.Dependency] = Context.environment["CARREL_SANITIZER"] == nil ? ["CJemalloc"] : []

// The test targets of a build that has only these (SHORT=1 of scripts/test-sanitize); nil for all.
let chosenTests = Context.environment["CARREL_TESTS"]?.split(separator: " ").map(String.init)

// The folders of Sources, lowest first: a target imports from its own folder and from those above it in this file.

// module maps of Debian's libraries, one importer each, and small C targets of our own
let cTargets: [Target] = [
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
    system("CPKCS11", pkgConfig: "p11-kit-1", apt: "libp11-kit-dev"),
    system("CPostgres", pkgConfig: "libpq", apt: "libpq-dev"),
    system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    system("CDBus", pkgConfig: "dbus-1", apt: "libdbus-1-dev"),
    .systemLibrary(name: "CSecret", path: "Sources/C/CSecret", providers: [.apt(["libsecret-1-dev"])]),
    system("CTSS2", pkgConfig: "tss2-esys", apt: "libtss2-dev"),
    system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
]

// the base of all targets; no protocol, no format
let groundTargets: [Target] = [
    library("Ground/CarrelBytes", bytes: true),
    library("Ground/CarrelFiles", bytes: true, ["CarrelBytes"]),
    library("Ground/CarrelJSON", bytes: true, ["CarrelBytes"]),
    library("Ground/CarrelThreads", ["CLinux", "CarrelBytes"]),
    library("Ground/CarrelCrypto", bytes: true, ["COpenSSL"] + carrel("Bytes Threads")),
    library("Ground/CarrelMetrics", carrel("Bytes Threads")),
    library("Ground/CarrelMultiBuffer", carrel("Crypto Threads") + multiBuffer.map { .target(name: $0.name) }),
    library("Ground/CarrelPasswordHash", bytes: true, ["CArgon2"] + carrel("Bytes Crypto")),
    library("Ground/CarrelXML", bytes: true, ["CXML", "CarrelBytes"]),
    library("Ground/CarrelZlib", bytes: true, ["CZlib", "CarrelBytes"]),
]

// the machine and the network: HTTP, databases, settings, programs
let systemTargets: [Target] = [
    library("System/CarrelCommandLine", carrel("Bytes JSON Threads")),
    library("System/CarrelHTTP", bytes: true, ["CLinux"] + carrel("Bytes Files Threads")),
    library("System/CarrelHTTPClient", bytes: true, ["CCurl"] + carrel("Bytes Files HTTP Threads")),
    library(
        "System/CarrelHTTPServer",
        bytes: true,
        ["CLinux", "CMicroHTTPD"] + carrel("Bytes Crypto Files HTTP Metrics Threads Zlib")
    ),
    library("System/CarrelLoopback", bytes: true, ["CLinux"] + carrel("Bytes Crypto HTTP HTTPServer Threads")),
    library("System/CarrelSettings", carrel("CommandLine JSON")),
    library("System/CarrelStore", bytes: true, ["CLinux", "CSQLite"] + carrel("Bytes Crypto Files Threads")),
    library("System/CarrelPostgres", bytes: true, ["CPostgres"] + carrel("Bytes Store Threads")),
    library("System/CarrelTranscoding", bytes: true, ["CLinux"] + carrel("Bytes Files")),
    library("System/CarrelWeb", ["CWeb"] + carrel("Bytes Crypto")),
]

// formats of files and streams, read and written
let formatsTargets: [Target] = [
    library("Formats/CarrelArchive", bytes: true, ["CZip"] + carrel("Bytes Files")),
    library("Formats/CarrelAudio", bytes: true, ["CarrelBytes"]),
    library("Formats/CarrelDASH", bytes: true, carrel("Bytes XML")),
    library("Formats/CarrelEME", bytes: true, carrel("Bytes Crypto JSON")),
    library("Formats/CarrelHLS", bytes: true, ["CarrelBytes"]),
    library("Formats/CarrelJOSE", bytes: true, carrel("Bytes Crypto JSON")),
    library("Formats/CarrelPDF", bytes: true, ["CLinux", "CQPDF"] + carrel("Bytes Files JSON XML Zlib")),
    library("Formats/CarrelVideo", bytes: true, ["CarrelBytes"]),
    library("Formats/CarrelMP4", bytes: true, carrel("Audio Bytes Crypto Video")),
    library("Formats/CarrelDCF", bytes: true, carrel("Bytes Crypto MP4")),
    library("Formats/CarrelTS", bytes: true, carrel("Audio Bytes Crypto Video")),
    library("Formats/CarrelTimedText", bytes: true, carrel("Bytes MP4 XML")),
]

// keys of a device, each back end by itself: an app links what it uses
let vaultsTargets: [Target] = [
    library("Vaults/CarrelVault", carrel("Bytes Crypto Files JSON Threads")),
    library("Vaults/CarrelVaultPKCS11", ["CPKCS11"] + carrel("Bytes Crypto Files Threads Vault")),
    library("Vaults/CarrelVaultSecretService", ["CLinux", "CSecret"] + carrel("Bytes Crypto JSON Threads Vault")),
    library("Vaults/CarrelVaultTPM", ["CTSS2"] + carrel("Bytes Crypto JSON Vault")),
]

// licenses, tokens, receipts and subscriptions
let rightsTargets: [Target] = [
    library("Rights/CarrelReceipts", bytes: true, carrel("Bytes Crypto JOSE JSON")),
    library("Rights/CarrelRights", bytes: true, carrel("Bytes Crypto HTTP JOSE JSON Vault")),
    library("Rights/CarrelCPIX", bytes: true, carrel("Bytes Crypto MP4 Rights XML")),
    library("Rights/CarrelSubscription", bytes: true, carrel("Bytes XML")),
    library("Rights/CarrelTokens", bytes: true, carrel("Bytes Crypto HTTP JOSE JSON Rights XML")),
    library("Rights/CarrelUpstream", bytes: true, carrel("Bytes Crypto HTTP HTTPClient JOSE JSON Subscription Threads")),
]

// protected pictures and sound
let mediaTargets: [Target] = [
    library(
        "Media/CarrelMedia",
        bytes: true,
        ["CLinux"] + carrel("Audio Bytes Crypto DASH DCF EME Files HLS JSON MP4 TS Threads Video")
    ),
    library("Media/CarrelFileSegments", bytes: true, carrel("Bytes Crypto MP4 Media TS Threads")),
    library("Media/CarrelMediaInspection", bytes: true, carrel("Audio Bytes Crypto DASH DCF HLS JSON MP4 Media TS Video")),
    library(
        "Media/CarrelMediaPackaging",
        bytes: true,
        ["CLinux"] + carrel("Audio Bytes Crypto DASH DCF Files HLS MP4 Media TS TimedText Video")
    ),
]

// protected books
let publicationsTargets: [Target] = [
    library(
        "Publications/CarrelPublication",
        bytes: true,
        ["CLinux"] + carrel("Archive Audio Bytes Crypto Files HTTP HTTPClient JSON MP4 PDF Store Threads XML Zlib")
    ),
    library("Publications/CarrelFoundation", carrel("Bytes Publication")),
    library("Publications/CarrelLCP", carrel("Bytes Crypto HTTP HTTPClient JSON Publication Store Threads Vault XML")),
]

// import and packaging of audiobooks and editions
let audiobooksTargets: [Target] = [
    library("Audiobooks/CarrelWorks", ["CarrelBytes"]),
    library("Audiobooks/CarrelPackager", bytes: true, carrel("Audio Bytes Crypto HLS MultiBuffer TS Threads")),
    library(
        "Audiobooks/CarrelIngest",
        bytes: true,
        ["CLinux"] + carrel("Archive Audio Bytes Crypto Files JSON MP4 Packager Store Threads Transcoding Works XML Zlib")
    ),
]

// the server, lowest first: each a noun with one reason to change (docs/architecture.md)
let serverTargets: [Target] = [
    // the home on disk: locks, keys, secrets, schema
    server("Home", over: "", "Bytes Crypto Files HTTP Metrics Store Threads"),
    // conventions of the server's API; what a capability is
    server("WebAPI", over: "Home", "Bytes Crypto HTTP JSON Metrics Store Threads Web"),
    // the sealed log
    server("Audit", over: "Home WebAPI", "Bytes Crypto Files HTTP JSON Store Threads"),
    // what slows down guessing
    server("Throttling", over: "Audit", "Bytes Crypto HTTP Metrics Store Threads"),
    // which passwords may be chosen, how they are hashed and checked
    server("Passwords", over: "WebAPI", "Bytes Crypto PasswordHash Threads", ["CCommonPasswords"]),
    // people, staff, sessions, devices, who calls, revocations
    server(
        "Accounts",
        over: "Home WebAPI Audit Throttling Passwords",
        "Bytes Crypto HTTP JSON Metrics PasswordHash Store Threads"
    ),
    // titles, editions, their import and media
    server(
        "Catalog",
        over: "Home WebAPI Audit Accounts",
        "Audio Bytes Crypto HTTP Ingest JSON Packager Store Subscription Threads Works"
    ),
    // grants of titles, and who listens now
    server(
        "Orders",
        over: "Home WebAPI Audit Throttling Accounts Catalog",
        "Bytes Crypto HTTP JSON Store Threads Works"
    ),
    // plans, purchases, the sources of entitlement
    server("Entitlements", over: "Home WebAPI Audit Accounts Catalog", "Bytes Crypto HTTP JSON Store Subscription Threads"),
    // the certificate authority, and copies of apps that it certifies
    server(
        "Authority",
        over: "Home WebAPI Audit Throttling Accounts",
        "Bytes Crypto HTTP JOSE JSON Rights Store Threads Vault"
    ),
    // keys of content
    server(
        "KeyStore",
        over: "Home WebAPI Audit Accounts Catalog Authority",
        "Bytes Crypto HTTP JSON Rights Store Threads Tokens"
    ),
    // keys for packagers: CPIX, SPEKE
    server("KeyExchange", over: "Home WebAPI Audit Throttling Accounts KeyStore", "Bytes CPIX Crypto HTTP JSON Rights"),
    // tokens, licenses
    server(
        "Licensing",
        over: "Home WebAPI Audit Throttling Accounts Catalog Orders Authority KeyStore",
        "Bytes Crypto HTTP JSON Metrics Rights Store Threads Tokens"
    ),
    // keys in the clear for stock players, and the license address that all players share
    server(
        "ClearKey",
        over: "Home WebAPI Audit Throttling Accounts KeyStore Licensing",
        "Bytes Crypto EME HTTP Metrics Rights Tokens"
    ),
    // requests of other vendors' players, forwarded to the licensed servers
    server(
        "Relay",
        over: "Home WebAPI Audit Throttling Accounts",
        "Bytes Crypto HTTP HTTPClient JSON Metrics Rights Store Subscription Threads Tokens Upstream"
    ),
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
        "Audio Bytes Crypto HLS HTTP JSON Metrics Packager Rights Store Threads Works"
    ),
    // positions, history, bookmarks
    server(
        "Listening",
        over: "Home WebAPI Audit Accounts Catalog Orders Streaming",
        "Bytes Crypto HTTP JSON Metrics Store Works"
    ),
    // the five calls, credentials, downloads
    server(
        "EditionDelivery",
        over: "Home WebAPI Audit Accounts Catalog Entitlements KeyStore EntitlementSources",
        "Bytes Crypto DCF HTTP JSON Metrics Receipts Rights Store Subscription Threads Works XML"
    ),
    // OPDS
    server(
        "Feeds",
        over: "Home WebAPI Accounts Catalog EditionDelivery",
        "Bytes Crypto HTTP JSON Store Subscription Works XML"
    ),
    // health, key rotation, audit search, explanations, personal data
    server(
        "Administration",
        over: "Home WebAPI Audit Accounts Catalog Orders Entitlements",
        "Bytes Crypto HTTP JSON Metrics Store Subscription Threads Works"
    ),
    // pages for people
    server(
        "Website",
        over: "Home WebAPI Audit Accounts Catalog Orders Entitlements Authority Streaming Listening EditionDelivery "
            + "Administration",
        "Audio Bytes HTTP JSON Metrics Packager Store Vault Works"
    ),
    // assembly, backup, jobs
    server(
        "Server",
        over:
            "Home WebAPI Audit Throttling Accounts Catalog Orders Entitlements Authority KeyStore KeyExchange Licensing ClearKey Relay "
            + "EntitlementSources SignOn Streaming Listening EditionDelivery Feeds Administration Website",
        "Bytes Crypto Files HTTP Metrics PasswordHash Store Threads Upstream"
    ),
    // a backup in place of the database
    server("Restoring", over: "Home WebAPI Audit Accounts Authority Administration Server", "Bytes Files Store"),
]

// what apps link: player, proxy, reader
let clientsTargets: [Target] = [
    library(
        "Clients/CarrelReader",
        bytes: true,
        carrel("Bytes Crypto Files HTTP HTTPClient JSON Subscription Threads Upstream Vault")
    ),
    library(
        "Clients/CarrelPlayer",
        bytes: true,
        carrel("Bytes Crypto HTTP HTTPClient JOSE JSON Reader Rights Store Threads Tokens Vault")
    ),
    library(
        "Clients/CarrelLicenseKeys",
        carrel("Bytes Crypto HTTP HTTPClient Media Player Rights Threads")
    ),
    library(
        "Clients/CarrelLicensedPublications",
        carrel("Bytes DCF HTTP HTTPClient JSON LicenseKeys MP4 Media Player Publication Rights Threads")
    ),
    library(
        "Clients/CarrelContentKeys",
        carrel("Bytes Crypto EME HTTP HTTPClient JSON LicenseKeys Media Player Reader Rights Threads")
    ),
    library("Clients/CarrelSavedMedia", bytes: true, ["CLinux"] + carrel("Bytes Crypto Files JSON Threads XML")),
    library("Clients/CarrelMediaSource", bytes: true, carrel("Bytes HLS HTTP HTTPClient MP4 Media Rights SavedMedia Threads")),
    library(
        "Clients/CarrelPresentation",
        bytes: true,
        carrel("Bytes Crypto DASH FileSegments HLS HTTP MP4 Media MediaSource Reader SavedMedia TS Threads TimedText")
    ),
    library(
        "Clients/CarrelMediaPlanning",
        bytes: true,
        carrel("Bytes DASH FileSegments HLS MP4 Media MediaSource Presentation SavedMedia TS Threads TimedText")
    ),
    library(
        "Clients/CarrelProxy",
        bytes: true,
        carrel(
            "Bytes Crypto HLS HTTP HTTPClient HTTPServer Loopback Media MediaSource Presentation Reader Rights SavedMedia Threads Tokens"
        )
    ),
    library("Clients/CarrelPlayerRights", carrel("LicenseKeys Media Player Proxy")),
    library(
        "Clients/CarrelDownloads",
        bytes: true,
        ["CLinux"]
            + carrel(
                "Bytes ContentKeys Crypto DASH Files HLS HTTP HTTPClient JSON LicenseKeys Media MediaPlanning MediaSource Player Presentation Reader Rights SavedMedia Store Threads Vault"
            )
    ),
    library("Clients/CarrelDownloadConditions", ["CDBus", "CLinux"] + carrel("Downloads Threads")),
    library(
        "Clients/CarrelWebReader",
        bytes: true,
        carrel("Bytes Crypto HTTP HTTPServer JSON Loopback Publication Reader Threads Web XML")
    ),
]

// the command
let commandTargets: [Target] = [
    executable(
        "Sources/Command/carrel",
        ["CLinux"]
            + carrel(
                "Audio Bytes CPIX CommandLine ContentKeys Crypto DASH DCF DownloadConditions Downloads Files HLS HTTP HTTPClient HTTPServer Ingest JSON LCP LicenseKeys LicensedPublications MP4 Media MediaInspection MediaPackaging MediaPlanning MediaSource Metrics Player PlayerRights Postgres Proxy Publication Reader Receipts Rights SavedMedia Settings Store Subscription Threads TimedText Tokens Transcoding Upstream Vault VaultPKCS11 VaultSecretService VaultTPM WebReader Works"
            ) + wholeServer + allocator
    )
]

// tests, in the same folders (CarrelTesting: what they share, not shipped)
let testTargets: [Target] = [
    .target(
        name: "CarrelTesting",
        dependencies: ["CLinux"] + carrel("Bytes HTTP HTTPClient JSON Threads"),
        path: "Tests/Support",
        swiftSettings: settings
    ),

    executable("Tests/Programs/DownloadProgram", ["ProgramArguments"] + carrel("Downloads Player Vault")),
    executable("Tests/Programs/PlayerProgram", ["ProgramArguments"] + carrel("Bytes ContentKeys LicenseKeys Media Player Vault")),
    support("Programs/ProgramArguments"),
    executable("Tests/Programs/PublicationProgram", carrel("JSON Publication Threads")),
    executable("Tests/Programs/ReaderProgram", ["CarrelReader"]),
    executable("Tests/Programs/SavedPackageProgram", carrel("Bytes Crypto SavedMedia")),
    executable("Tests/Programs/StoreCrashWriter", ["StorePairs"] + carrel("Bytes Postgres Store Threads")),
    support("Programs/StorePairs", ["CarrelStore"]),
    executable(
        "Tests/Programs/VaultProgram",
        ["ProgramArguments"] + carrel("Bytes Crypto Vault VaultPKCS11 VaultSecretService VaultTPM")
    ),

    tests("Ground/CarrelBytesTests", ["CarrelBytes"]),
    tests("Ground/CarrelCryptoTests", carrel("Bytes Crypto MultiBuffer PasswordHash Testing")),
    tests("Ground/CarrelFilesTests", carrel("Files Testing Threads")),
    tests("Ground/CarrelJSONTests", carrel("Bytes JSON Testing")),
    tests("Ground/CarrelThreadsTests", ["CarrelThreads"]),
    tests("Ground/CarrelXMLTests", carrel("Bytes Testing XML")),

    tests("System/CarrelCommandLineTests", carrel("Bytes CommandLine Testing Threads")),
    tests("System/CarrelHTTPClientTests", carrel("Bytes HTTP HTTPClient HTTPServer Testing Threads")),
    tests("System/CarrelHTTPServerTests", carrel("Bytes Crypto HTTP HTTPServer Metrics Testing Threads")),
    tests("System/CarrelHTTPTests", carrel("Bytes HTTP Testing Threads")),
    tests("System/CarrelLoopbackTests", carrel("Bytes HTTP HTTPClient HTTPServer Loopback Testing Threads")),
    tests("System/CarrelSettingsTests", carrel("CommandLine JSON Settings Testing")),
    tests("System/CarrelStoreTests", ["StoreCrashWriter", "StorePairs"] + carrel("Bytes Crypto Postgres Store Testing Threads")),
    tests("System/CarrelTranscodingTests", carrel("Bytes Testing Transcoding")),
    tests("System/CarrelWebTests", carrel("Testing Threads Web")),

    tests("Formats/CarrelArchiveTests", carrel("Archive Bytes Testing")),
    tests("Formats/CarrelAudioTests", carrel("Audio Bytes Testing")),
    tests("Formats/CarrelDASHTests", carrel("Bytes DASH JSON Testing XML")),
    tests("Formats/CarrelDCFTests", carrel("Bytes Crypto DCF JSON MP4 Testing")),
    tests("Formats/CarrelEMETests", carrel("Bytes Crypto EME JSON Testing")),
    tests("Formats/CarrelHLSTests", carrel("Bytes HLS JSON Testing")),
    tests("Formats/CarrelJOSETests", carrel("Bytes Crypto JOSE JSON Testing")),
    tests("Formats/CarrelMP4Tests", carrel("Audio Bytes Crypto JSON MP4 Testing Video")),
    tests("Formats/CarrelPDFTests", carrel("JSON PDF Testing Threads")),
    tests("Formats/CarrelTSTests", carrel("Audio Bytes Crypto JSON TS Testing Video")),
    tests("Formats/CarrelTimedTextTests", carrel("Bytes MP4 Testing TimedText")),
    tests("Formats/CarrelVideoTests", carrel("Bytes Testing Video")),

    tests(
        "Vaults/CarrelVaultTests",
        ["VaultProgram", "carrel"]
            + carrel("Bytes Crypto JSON Player Testing Threads Vault VaultPKCS11 VaultSecretService VaultTPM")
    ),

    tests("Rights/CarrelCPIXTests", carrel("Bytes CPIX Crypto JSON MP4 Rights Testing XML")),
    tests("Rights/CarrelReceiptsTests", carrel("Bytes Crypto JSON Receipts Testing")),
    tests("Rights/CarrelRightsTests", carrel("Bytes Crypto HTTP JOSE JSON Rights Testing Vault")),
    tests("Rights/CarrelSubscriptionTests", carrel("Bytes Subscription Testing XML")),
    tests("Rights/CarrelTokensTests", carrel("Bytes Crypto HTTP JOSE JSON Rights Testing Tokens XML")),
    tests("Rights/CarrelUpstreamTests", carrel("Bytes Crypto HTTPClient Subscription Testing Threads Upstream")),

    tests(
        "Media/CarrelFileSegmentsTests",
        ["ProtectedMedia"] + carrel("Bytes Crypto FileSegments MP4 Media TS Testing Threads Video")
    ),
    tests(
        "Media/CarrelMediaInspectionTests",
        ["ProtectedMedia"] + carrel("Bytes Crypto HLS JSON MP4 Media MediaInspection TS Testing")
    ),
    tests(
        "Media/CarrelMediaPackagingTests",
        ["ProtectedMedia"]
            + carrel(
                "Audio Bytes Crypto DASH DCF Files HLS JSON MP4 Media MediaInspection MediaPackaging TS Testing TimedText Video"
            )
    ),
    tests(
        "Media/CarrelMediaTests",
        ["ProtectedMedia"]
            + carrel("Audio Bytes Crypto DASH DCF FileSegments Files HLS JSON MP4 Media MediaInspection TS Testing Threads Video")
    ),
    support("Media/ProtectedMedia", bytes: true, carrel("Bytes Crypto JSON MP4 Media Testing")),

    tests(
        "Publications/CarrelLCPTests",
        ["ProtectedPublications"]
            + carrel("Bytes Crypto HTTP HTTPClient HTTPServer JSON LCP Publication Store Testing Threads Vault")
    ),
    tests(
        "Publications/CarrelPublicationTests",
        ["ProtectedPublications", "PublicationProgram"]
            + carrel(
                "Archive Bytes Crypto Foundation HTTP HTTPClient HTTPServer JSON Publication Reader Store Subscription Testing Threads Upstream XML Zlib"
            )
    ),
    support("Publications/ProtectedPublications", bytes: true, carrel("Bytes Crypto HTTP Zlib")),

    tests("Audiobooks/CarrelIngestTests", carrel("Audio Bytes Ingest Packager Store Testing Works")),
    tests("Audiobooks/CarrelPackagerTests", carrel("Audio Bytes Crypto HLS Packager Testing")),

    support(
        "Server/CarrelServerTesting",
        bytes: true,
        carrel(
            "Accounts Administration Audio Audit Authority Bytes Catalog ClearKey KeyStore Crypto EditionDelivery EntitlementSources Entitlements Feeds HTTP Home Ingest JSON KeyExchange Licensing Listening Orders Packager Postgres Relay Rights Server SignOn Store Streaming Subscription Testing Threads Tokens Upstream Vault WebAPI Website Works"
        )
    ),
    serverTests("Home", "Administration Postgres"),
    serverTests("WebAPI", "PasswordHash Streaming"),
    serverTests("Audit", "Entitlements Licensing PasswordHash Relay Rights Tokens"),
    serverTests("Throttling", "PasswordHash"),
    serverTests("Passwords", "EditionDelivery Entitlements PasswordHash"),
    serverTests("Accounts", "Entitlements Listening PasswordHash Passwords Streaming"),
    serverTests("Catalog", "Ingest Packager Works"),
    serverTests("Orders", "EditionDelivery Ingest Listening PasswordHash Streaming Website Works"),
    serverTests("Entitlements", "Administration EditionDelivery EntitlementSources Entitlements PasswordHash Postgres XML"),
    serverTests("Authority", "Administration Authority JOSE Licensing PasswordHash Rights Streaming Tokens Vault"),
    serverTests("KeyStore", "KeyStore Licensing Rights Tokens"),
    serverTests("KeyExchange", "CPIX KeyStore Restoring Rights Streaming"),
    serverTests(
        "Licensing",
        "Administration Authority KeyStore DCF EditionDelivery Entitlements HTTPServer JOSE Licensing Rights Streaming Tokens Works XML"
    ),
    serverTests("ClearKey", "EME Metrics Rights Tokens"),
    serverTests("Relay", "Metrics Relay Rights Tokens"),
    serverTests(
        "EntitlementSources",
        "EditionDelivery EntitlementSources Entitlements HTTPServer Metrics PasswordHash Receipts Throttling Upstream Works"
    ),
    serverTests("SignOn", "Entitlements SignOn Upstream"),
    serverTests("Streaming", "Ingest Streaming Works"),
    serverTests("Listening", "Listening PasswordHash Streaming"),
    serverTests("EditionDelivery", "EditionDelivery Entitlements HTTPServer Ingest Metrics PasswordHash Streaming XML"),
    serverTests("Feeds", "EditionDelivery Entitlements HTTPServer Ingest PasswordHash Streaming Works XML"),
    serverTests(
        "Administration",
        "Administration EntitlementSources Entitlements HTTPServer Licensing Listening Metrics PasswordHash Rights Streaming Tokens"
    ),
    serverTests("Website", "Entitlements PasswordHash XML"),
    serverTests(
        "Server",
        "Administration Feeds HTTPServer KeyExchange Licensing Listening Metrics PasswordHash Postgres Restoring SignOn Streaming Website"
    ),
    serverTests("Restoring", "Authority KeyStore Entitlements Licensing PasswordHash Restoring"),

    tests(
        "Clients/CarrelProxyTests",
        ["ProtectedMedia"]
            + carrel(
                "Bytes Crypto DASH DCF HLS HTTP HTTPClient HTTPServer JSON MP4 Media MediaPackaging MediaPlanning MediaSource Presentation Proxy Reader SavedMedia TS Testing Threads"
            )
    ),
    tests(
        "Clients/CarrelReaderTests",
        carrel(
            "Bytes Crypto HTTP HTTPClient HTTPServer JSON Metrics PasswordHash Reader Rights Store Subscription Testing Threads "
                + "Upstream Vault"
        ) + wholeServer
    ),
    tests(
        "Clients/CarrelWebReaderTests",
        ["ProtectedPublications"] + carrel("Bytes HTTP HTTPClient JSON Publication Reader Testing Threads WebReader")
    ),
    support(
        "Clients/CarrelPlayerTesting",
        carrel("Bytes Crypto HTTP HTTPServer JOSE JSON Player Rights Store Testing Threads Tokens Vault") + wholeServer
    ),
    tests(
        "Clients/PlayerEngineTests",
        carrel(
            "Bytes Crypto HTTP HTTPClient HTTPServer JSON LicenseKeys MP4 Media MediaPackaging MediaSource Player PlayerRights PlayerTesting Postgres Proxy Rights ServerTesting Store Testing Threads Tokens Vault"
        )
            + wholeServer
    ),
    tests(
        "Clients/CarrelLicensedPublicationsTests",
        ["ProtectedPublications"]
            + carrel(
                "Bytes Crypto DCF HTTP HTTPClient HTTPServer JSON LicenseKeys LicensedPublications MP4 Media Player PlayerTesting Publication Reader Rights Testing Threads Tokens Vault WebReader"
            ) + wholeServer
    ),

    tests(
        "Clients/CarrelContentKeysTests",
        ["PlayerProgram"]
            + carrel(
                "Bytes ContentKeys Crypto EME HTTP HTTPClient HTTPServer Ingest JSON LicenseKeys Media Player PlayerTesting Reader Rights ServerTesting Store Testing Threads Tokens Vault Works"
            ) + wholeServer
    ),
    tests(
        "Clients/CarrelSavedMediaTests",
        ["SavedPackageProgram"] + carrel("Bytes Crypto Files SavedMedia Testing")
    ),
    tests(
        "Clients/CarrelDownloadsTests",
        ["DownloadProgram"]
            + carrel(
                "Bytes ContentKeys Crypto DownloadConditions Downloads Files HLS HTTP HTTPClient HTTPServer JSON LicenseKeys Media MediaPlanning MediaSource Player Presentation Proxy Reader Rights SavedMedia Store Testing Threads Vault"
            )
    ),
    tests("Command/CarrelDownloadCommandTests", ["carrel"] + carrel("Bytes Crypto HTTP HTTPServer JSON Testing Threads")),

    tests("Command/CarrelMediaCommandTests", ["carrel"] + carrel("Bytes CPIX Crypto JSON Rights Testing Threads")),
    tests(
        "Command/CarrelPlayerTests",
        ["PlayerProgram", "ProtectedPublications", "ReaderProgram", "carrel"]
            + carrel(
                "Bytes CommandLine Crypto HTTP HTTPClient HTTPServer JSON Metrics Rights ServerTesting Settings Testing Threads Tokens"
            ) + wholeServer
    ),

    tests("CarrelTestingTests", carrel("Bytes JSON Testing")),
    tests("ScriptsTests", carrel("Bytes JSON Testing")),
]

let package = Package(
    name: "carrel",
    // What other packages may use: each product holds the targets that its signatures name. The command `carrel` is one by itself.
    products: [
        product([
            "CarrelReader", "CarrelUpstream", "CarrelSubscription", "CarrelVault", "CarrelHTTPClient", "CarrelHTTP",
            "CarrelBytes",
        ]),
        product(["CarrelPlayer", "CarrelRights", "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes"]),
        product(["CarrelMedia", "CarrelBytes"]),
        product([
            "CarrelLicenseKeys", "CarrelPlayer", "CarrelMedia", "CarrelRights", "CarrelVault", "CarrelHTTPClient", "CarrelHTTP",
            "CarrelJSON", "CarrelBytes",
        ]),
        product([
            "CarrelContentKeys", "CarrelLicenseKeys", "CarrelPlayer", "CarrelMedia", "CarrelReader", "CarrelRights",
            "CarrelUpstream", "CarrelSubscription", "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
        ]),
        product([
            "CarrelDownloads", "CarrelPlayer", "CarrelReader", "CarrelRights", "CarrelUpstream", "CarrelSubscription",
            "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
        ]),
        product([
            "CarrelDownloadConditions", "CarrelDownloads", "CarrelPlayer", "CarrelReader", "CarrelRights", "CarrelUpstream",
            "CarrelSubscription", "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
        ]),
        product([
            "CarrelProxy", "CarrelMediaSource", "CarrelMedia", "CarrelReader", "CarrelUpstream", "CarrelSubscription",
            "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelBytes",
        ]),
        product([
            "CarrelPlayerRights", "CarrelLicenseKeys", "CarrelPlayer", "CarrelProxy", "CarrelMediaSource", "CarrelMedia",
            "CarrelReader", "CarrelRights", "CarrelUpstream", "CarrelSubscription", "CarrelVault", "CarrelHTTPClient",
            "CarrelHTTP", "CarrelJSON", "CarrelBytes",
        ]),
        product(["CarrelPublication", "CarrelLCP", "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes"]),
        product([
            "CarrelLicensedPublications", "CarrelLicenseKeys", "CarrelPlayer", "CarrelPublication", "CarrelMedia", "CarrelRights",
            "CarrelVault", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
        ]),
        product(["CarrelFoundation", "CarrelPublication", "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes"]),
        product([
            "CarrelWebReader", "CarrelPublication", "CarrelReader", "CarrelUpstream", "CarrelSubscription", "CarrelVault",
            "CarrelHTTPClient", "CarrelHTTP", "CarrelJSON", "CarrelBytes",
        ]),
        product(["CarrelVault", "CarrelBytes"]),
        product(["CarrelVaultPKCS11", "CarrelVault", "CarrelBytes"]),
        product(["CarrelVaultTPM", "CarrelVault", "CarrelBytes"]),
        product(["CarrelVaultSecretService", "CarrelVault", "CarrelBytes"]),
    ],
    targets: cTargets + groundTargets + systemTargets + formatsTargets + vaultsTargets + rightsTargets + mediaTargets
        + publicationsTargets + audiobooksTargets + serverTargets + clientsTargets + commandTargets
        + testTargets.filter { $0.type != .test || chosenTests?.contains($0.name) ?? true }
)

// Built only when asked for, so that `swift build` stays short.
package.targets += multiBuffer
if Context.environment["CARREL_FUZZ"] != nil {
    package.targets += [
        fuzz("AnswerFuzz", ["CarrelSubscription"]),
        fuzz("AppReceiptFuzz", carrel("Bytes Crypto Receipts")),
        fuzz("ArchiveFuzz", ["CarrelArchive"]),
        fuzz("AuditArchiveFuzz", carrel("Bytes Crypto JSON") + wholeServer),
        fuzz("ComicInfoFuzz", carrel("Bytes Publication XML")),
        fuzz("CPIXFuzz", carrel("Bytes CPIX Crypto")),
        fuzz("SPEKEFuzz", carrel("Bytes CPIX Crypto Rights")),
        fuzz("DateFuzz", ["CarrelBytes"]),
        fuzz("DirectoryFuzz", carrel("Bytes Crypto Publication Threads")),
        fuzz("EPUBFuzz", carrel("Bytes Ingest Works Zlib")),
        fuzz("JSONFuzz", carrel("Bytes JSON")),
        fuzz("JWSFuzz", carrel("Bytes Crypto JOSE")),
        fuzz("ResponseHeadFuzz", carrel("Bytes HTTP HTTPClient")),
        fuzz("MP3Fuzz", carrel("Audio Bytes")),
        fuzz("MP4Fuzz", carrel("Bytes MP4")),
        fuzz("CommonEncryptionFuzz", carrel("Bytes Crypto MP4 Media Threads")),
        fuzz("DCFFuzz", carrel("Bytes Crypto DCF MP4")),
        fuzz("EMEFuzz", carrel("Bytes Crypto EME")),
        fuzz("FragmentFuzz", carrel("Bytes MP4")),
        fuzz("LenientPlaylistFuzz", carrel("Bytes HLS")),
        fuzz("MPDFuzz", carrel("Bytes DASH")),
        fuzz("MS3URLFuzz", carrel("HTTP MediaSource Presentation Proxy")),
        fuzz("MarlinFuzz", carrel("Bytes Crypto DCF MP4")),
        fuzz("TransportStreamFuzz", carrel("Bytes Crypto TS")),
        fuzz("CodecRecordFuzz", carrel("Audio Bytes Video")),
        fuzz("LicenseFuzz", carrel("Bytes JSON LCP")),
        fuzz("ManifestFuzz", carrel("Bytes JSON Publication")),
        fuzz("NavigationFuzz", carrel("Bytes Publication XML")),
        fuzz("PDFDocumentFuzz", ["CLinux", "CarrelPDF"]),
        fuzz("PDFFuzz", ["CarrelIngest"]),
        fuzz("PageHeadFuzz", ["CarrelIngest"]),
        fuzz("PayloadTagFuzz", carrel("Bytes Crypto DCF MP4")),
        fuzz("ProxyAddressFuzz", carrel("HTTP MediaSource Presentation Proxy")),
        fuzz("RangeFuzz", ["CarrelHTTP"]),
        fuzz("ReceiptFuzz", carrel("Bytes JSON Receipts")),
        fuzz("RequestFuzz", carrel("Bytes HTTP HTTPServer") + wholeServer),
        fuzz("ReportFuzz", carrel("Bytes JSON") + wholeServer),
        fuzz("PlaylistFuzz", carrel("Bytes HLS")),
        fuzz("PublicationFuzz", carrel("Bytes Publication Threads XML")),
        fuzz("RightsFuzz", carrel("Bytes Crypto HTTP JOSE JSON Rights")),
        fuzz("TokenFuzz", carrel("Bytes Crypto Rights Tokens")),
        fuzz("StoredRecordFuzz", carrel("Bytes Crypto JSON Player Store")),
        fuzz("SliceFuzz", carrel("Bytes Video")),
        fuzz("StreamListFuzz", ["CarrelContentKeys"]),
        fuzz("WebVTTFuzz", carrel("Bytes MP4 TimedText")),
        fuzz("SavedTableFuzz", carrel("Bytes SavedMedia")),
        fuzz("SealedFileFuzz", ["CLinux"] + carrel("Bytes Crypto Files SavedMedia")),
        fuzz("SegmentIndexFuzz", carrel("Bytes Packager")),
        fuzz("SettingsFuzz", carrel("CommandLine Settings")),
        fuzz("StatusFuzz", carrel("Bytes LCP")),
        fuzz("TagsFuzz", carrel("Audio Bytes")),
        fuzz("TicketFuzz", carrel("Bytes Crypto") + wholeServer),
        fuzz("XMLFuzz", carrel("Bytes XML")),
    ]
}
if Context.environment["CARREL_BENCH"] != nil {
    package.targets += [
        .target(name: "CCryptoLoops", dependencies: ["COpenSSL"], path: "Benchmarks/CryptoBench/C"),
        benchmark("CryptoBench", ["CCryptoLoops"] + carrel("Bytes Crypto"), exclude: ["C"]),
        benchmark("HTTPServerBench", carrel("HTTP HTTPServer Threads"), exclude: ["run"]),
        benchmark("JSONBench", carrel("Bytes JSON")),
        .target(name: "CMediaLoops", dependencies: ["COpenSSL", "CXML"], path: "Benchmarks/MediaBench/C"),
        benchmark(
            "MediaBench",
            ["CMediaLoops"] + carrel("Bytes Crypto DASH DCF HLS MP4 Media MediaPackaging TS"),
            exclude: ["C", "run"]
        ),
        benchmark(
            "ProxyBench",
            carrel("Bytes HTTP HTTPClient LicenseKeys MP4 Media MediaSource Player Proxy Threads Vault") + allocator,
            exclude: ["run"]
        ),
        benchmark("OfflineBench", carrel("Bytes Downloads Player Reader Threads Vault") + allocator, exclude: ["run"]),
        .target(name: "CPublicationLoops", dependencies: ["COpenSSL"], path: "Benchmarks/PublicationBench/C"),
        benchmark(
            "PublicationBench",
            ["CPublicationLoops", "ProtectedPublications"]
                + carrel("Bytes Crypto HTTP HTTPClient LCP LicensedPublications Player Publication Threads Vault"),
            exclude: ["C", "curve", "hostile", "hostile-pdf", "measure", "run"]
        ),
        benchmark("ScanBench", carrel("Audio Bytes Crypto MP4 Packager")),
        .target(name: "CClientLoops", dependencies: ["CCurl"], path: "Benchmarks/ClientBench/C"),
        benchmark("ClientBench", ["CClientLoops", "CarrelHTTPClient"], exclude: ["C", "run"]),
        .target(name: "CStoreLoops", dependencies: ["CSQLite"], path: "Benchmarks/StoreBench/C"),
        benchmark("StoreBench", ["CStoreLoops", "CarrelStore"], exclude: ["C"]),
        .target(name: "CRightsLoops", dependencies: ["COpenSSL", "CSQLite", "CXML"], path: "Benchmarks/RightsBench/C"),
        benchmark(
            "RightsBench",
            ["CRightsLoops"] + carrel("CPIX HTTPServer Player Postgres") + wholeServer,
            exclude: ["C", "run"]
        ),
        .target(name: "CSegmentLoops", dependencies: ["COpenSSL"], path: "Benchmarks/SegmentBench/C"),
        benchmark("SegmentBench", ["CSegmentLoops"] + carrel("Audio Bytes Crypto Packager"), exclude: ["C"]),
    ]
}
