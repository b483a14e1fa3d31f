// SPDX-License-Identifier: Apache-2.0

import CarrelAuthority
import CarrelCommandLine
import CarrelOrders
import CarrelHTTP
import CarrelSettings

extension Leases.Mode: TextValue {}

/// Which copies of apps are personalised.
enum PersonalizationMode: String, CaseIterable, Sendable, TextValue {
    case open
    case account
}

/// The port of the rights location with client certificates.
enum RightsPort: Sendable, TextValue {
    case off
    /// 0 for any free port.
    case number(UInt16)

    init(written text: String) throws(InvalidValue) {
        if text == "off" {
            self = .off
        } else if let number = UInt16(text) {
            self = .number(number)
        } else {
            throw InvalidValue("is neither a port nor off")
        }
    }

    var written: String {
        switch self {
        case .off: "off"
        case .number(let number): String(number)
        }
    }

    static var valueName: String { "port|off" }
}

/// The settings of devices, their certificates, and the rights location.
struct RightsOptions: Sendable {
    var personalization = PersonalizationMode.open
    var unlinked = Personalizations.Settings().unlinkedLimit
    var concurrencyMode = Leases.Mode.blockNewDevice
    var port: RightsPort?
    var certificateProxies: [String] = []

    static let settings: [Setting<ServeSettings>] = [
        Setting(
            \.rights.personalization,
            "devices.personalization",
            help: "Whether every copy of an app gets a certificate (open), or only with a signed-in reader (account)."
        ),
        Setting(
            \.rights.unlinked,
            "devices.unlinked",
            allowed: .range(0...100_000_000),
            help:
                "Maximum number of personalised copies without an account that never got a license; beyond it, the oldest of the largest network gives way; 0 = none."
        ),
        Setting(
            \.rights.concurrencyMode,
            "rights.concurrency-mode",
            help:
                "One stream more than stream.concurrency, of listeners and of licenses together: refused (BLOCK_NEW_DEVICE), or the oldest one ends (EVICT_OLDEST), or streams are not counted (NONE)."
        ),
        Setting(
            \.rights.port,
            "rights.port",
            help:
                "Port of the rights location that asks players for their certificate (TLS), or off; 0 = any free port; unset: off, or any free port if http.port is 0."
        ),
        Setting(
            \.rights.certificateProxies,
            "rights.client-cert-proxies",
            value: "network",
            help:
                "Networks of reverse proxies whose Client-Cert header (RFC 9440) is trusted, such as 10.0.0.0/8; they must remove it from requests of clients."
        ),
    ]

    /// Values that cannot be used.
    var contradictions: [(setting: String, problem: String)] {
        certificateProxies.filter { AddressRange($0) == nil }.map {
            ("rights.client-cert-proxies", "'\($0)' is not a network such as 10.0.0.0/8")
        }
    }

    var settings: Personalizations.Settings {
        var made = Personalizations.Settings()
        made.needsAccount = personalization == .account
        made.unlinkedLimit = unlinked
        return made
    }
}
