// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelCrypto
import CarrelHTTP
import CarrelRelay
import CarrelRights
import CarrelSettings
import CarrelTokens
import CarrelUpstream

/// The file `relay/NAME.conf` of a home: settings of one license server of another vendor.
struct RelayFile: SettingsTable {
    var url: String?
    var certificateURL: String?
    var keyID: String?
    var key: String?
    var portal: String?
    var fields: [String] = []
    var timeout = RelaySettings.longestTimeout
    var concurrency = 128
    var networks: [String] = []
    var certificateAuthorities: String?
    var certificateLife = Duration.seconds(3600)

    static let settings: [Setting<Self>] = [
        Setting(\.url, "relay.url", value: "url", help: "Address of the license server: https, or http on this machine."),
        Setting(
            \.certificateURL,
            "relay.certificate-url",
            value: "url",
            help: "Address of the certificate that players need, such as FairPlay's; unset: none."
        ),
        Setting(\.keyID, "relay.key-id", value: "uuid", help: "Id of the communication key, which license messages name."),
        Setting(
            \.key,
            "relay.key",
            value: "text",
            isSecret: true,
            help: "The communication key: 32 bytes in hexadecimal digits or base 64. It opens this relay alone."
        ),
        Setting(
            \.portal,
            "relay.portal",
            value: "key-id",
            help: "Back-office key of the portal that may make messages for the relay; unset: staff and shops alone."
        ),
        Setting(
            \.fields,
            "relay.fields",
            value: "name",
            help: "Further request fields to forward, such as x-dt-auth-token. X-AxDRM fields and the body's type always are."
        ),
        Setting(\.timeout, "relay.timeout", help: "Timeout of one request; at most 10s."),
        Setting(\.concurrency, "relay.concurrency", allowed: .range(1...1024), help: "Maximum number of concurrent requests."),
        Setting(
            \.networks,
            "relay.networks",
            value: "network",
            help: "Networks of its addresses, such as 10.1.0.0/16; unset: public ones, or this machine if its addresses name it."
        ),
        Setting(
            \.certificateAuthorities,
            "relay.certificate-authorities",
            value: "file",
            help: "Certificate authorities (PEM) to trust, instead of the system's."
        ),
        Setting(
            \.certificateLife,
            "relay.certificate-life",
            help: "Longest time for which the certificate is cached; its server may shorten it. 0s caches nothing."
        ),
    ]

    /// Fields that the relay writes itself, or that would reveal a reader's session here.
    private static let ownFields: Set<String> = [
        "authorization", "connection", "content-length", "cookie", "host", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    var contradictions: [(setting: String, problem: String)] {
        var found: [(setting: String, problem: String)] = []
        for (setting, address) in [("relay.url", url), ("relay.certificate-url", certificateURL)] {
            guard let address else { continue }
            do throws(UpstreamError) { try UpstreamAddress.check(address) } catch {
                found.append((setting, "cannot be used: \(error.message)"))
            }
        }
        if url == nil { found.append(("relay.url", "is required")) }
        if keyID.flatMap({ KeyID(uuid: $0) }) == nil { found.append(("relay.key-id", "is required: a UUID")) }
        if secret == nil { found.append(("relay.key", "is required: 32 bytes in hexadecimal digits or base 64")) }
        for field in fields where !Token.isValid(field) || Self.ownFields.contains(field.lowercased()) {
            found.append(("relay.fields", "'\(field)' cannot be forwarded"))
        }
        for network in networks where AddressRange(network) == nil {
            found.append(("relay.networks", "'\(network)' is not a network such as 10.0.0.0/8"))
        }
        if timeout < .milliseconds(100) || timeout > RelaySettings.longestTimeout {
            found.append(("relay.timeout", "is not between a tenth of a second and 10s"))
        }
        if certificateLife < .zero || certificateLife > .seconds(30 * 86_400) {
            found.append(("relay.certificate-life", "is not between 0s and 30d"))
        }
        return found
    }

    private var secret: Secret? {
        guard let text = key, let bytes = Hex.decode(text) ?? Base64.decode(text) ?? Base64URL.decode(text), bytes.count == 32
        else { return nil }
        return Secret(bytes)
    }

    /// The service's settings; nil for a file that ``contradictions`` refuses.
    func settings(name: String) -> RelaySettings? {
        guard let url, let id = keyID.flatMap({ KeyID(uuid: $0) }), let secret,
            let key = try? LicenseMessage.CommunicationKey(id: id, secret: secret)
        else { return nil }
        var made = RelaySettings(name: name, url: url, key: key)
        made.certificateURL = certificateURL
        made.portal = portal
        made.fields = fields
        made.timeout = timeout
        made.concurrency = concurrency
        made.networks = networks.compactMap { AddressRange($0) }
        made.certificateAuthorities = certificateAuthorities
        made.certificateLife = certificateLife
        return made
    }

    /// A file that is complete except for address and key.
    static var sample: String {
        sampleFile(heading: [
            "# A license server of another vendor; the relay's name is this file's name: relay/NAME.conf. A line is `name = value`;",
            "# lines commented out are defaults. relay.url, relay.key-id and relay.key are required. Others must not read the file.",
        ])
    }
}
