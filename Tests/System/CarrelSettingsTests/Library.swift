// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelSettings

/// Settings with one of every kind.
struct Library: SettingsTable {
    enum Access: String, CaseIterable, TextValue {
        case orderURL = "order-url"
        case session
    }

    struct HTTP: Sendable {
        var host = "127.0.0.1"
        var port: UInt16 = 8080
        var trustedProxies: [String] = ["127.0.0.1"]
        var compress = true
    }

    var http = HTTP()
    var access = Access.orderURL
    var lease = Duration.seconds(300)
    var grace = Duration.seconds(60)
    var cache = ByteCount(64 << 20)
    var motto: String?
    var password: String?

    static let settings: [Setting<Self>] = [
        .init(\.http.host, "http.host", help: "The address to listen on."),
        .init(\.http.port, "http.port", flags: ["--port", "-p"], help: "The port to listen on; 0 takes any."),
        .init(\.http.trustedProxies, "http.trusted-proxies", value: "address", help: "Whose forwarded headers count."),
        .init(\.http.compress, "http.compress", help: "Compress text."),
        .init(\.access, "access.mode", help: "What a listener needs."),
        .init(\.lease, "lease.duration", allowed: .range(.seconds(10)...(.seconds(3600))), help: "How long a lease is."),
        .init(\.grace, "lease.grace", help: "How long it lives on."),
        .init(\.cache, "cache.size", help: "How much is kept."),
        .init(\.motto, "motto", help: "What the page says."),
        .init(\.password, "database.password", isSecret: true, help: "The database's password."),
    ]

    static let otherVariables: Set<String> = ["CARREL_HOME", "CARREL_FIXTURES"]

    var contradictions: [(setting: String, problem: String)] {
        grace > lease ? [("lease.grace", "is longer than the lease")] : []
    }
}

func load(
    _ text: String = "",
    _ environment: [String: String] = [:],
    flags: [(String, String)] = [],
    isReadableByOthers: Bool = false
) throws(SettingsError) -> LoadedSettings<Library> {
    var overrides = SettingOverrides<Library>()
    for (name, text) in flags { overrides.set(name, text) }
    let file = SettingsFile(Array(text.utf8), path: "carrel.conf", isReadableByOthers: isReadableByOthers)
    return try LoadedSettings(file: file, environment: environment, overrides: overrides)
}
