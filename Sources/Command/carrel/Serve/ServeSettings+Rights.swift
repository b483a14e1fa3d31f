// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelSettings

extension RightsOptions {
    /// The settings of the group, as part of the one table.
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
}
