// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelMediaSource
import CarrelProxy

/// Options for requests to the servers of a stream.
struct StreamOptions: ParameterGroup, Sendable {
    var allowsHTTP = false
    var allowsPrivateNetworks = false
    var fields: [RequestField] = []

    static let parameters: [Parameter<StreamOptions>] = [
        .option(
            \.fields,
            "--header",
            help:
                "A field of requests to the server of the source, such as 'Authorization: Bearer …'. Other users of this machine can see it.",
            group: "Servers"
        ),
        .flag(\.allowsHTTP, "--allow-http", help: "Allow plain http beyond this machine.", group: "Servers"),
        .flag(
            \.allowsPrivateNetworks,
            "--allow-private-networks",
            help: "Let manifests, playlists, key lines and redirects lead into private networks.",
            group: "Servers"
        ),
    ]

    /// Applies them to a proxy and a source.
    func apply(to options: inout ProxyOptions, _ parameters: inout MediaSourceParameters) {
        options.allowsPlainHTTP = allowsHTTP
        options.allowsPrivateNetworks = allowsPrivateNetworks
        for field in fields { parameters.originFields.append(field.name, field.value) }
    }
}

extension MediaSourceType {
    /// - Parameter source: a path or an address; its extension determines the kind.
    init(named source: String) {
        let path = source.lowercased().split(whereSeparator: { $0 == "?" || $0 == "#" }).first ?? ""
        self = path.hasSuffix(".mpd") ? .dash : path.hasSuffix(".m3u8") || path.hasSuffix(".m3u") ? .hls : .singleFile
    }
}

/// A field of requests, written as in HTTP: `Name: value`.
struct RequestField: TextValue, Equatable {
    static let valueName = "field"

    let name: String
    let value: String

    init(written text: String) throws(InvalidValue) {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
            throw InvalidValue("is not a field such as 'Name: value'")
        }
        name = String(text[..<colon])
        value = String(text[text.index(after: colon)...].drop { $0 == " " })
    }

    var written: String { "\(name): \(value)" }
}
