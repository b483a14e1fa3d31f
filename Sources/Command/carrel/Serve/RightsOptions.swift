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
