// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

extension SubscriptionEndpoints {
    /// Checks that requests can be sent to every address.
    ///
    /// - Throws: `upstream.address` for an address that cannot be used.
    public func check() throws(UpstreamError) {
        for address in addresses {
            try UpstreamAddress.check(address)
            _ = try EndpointTemplate(address)
        }
    }
}

/// An address with placeholders for parameters.
struct EndpointTemplate {
    private enum Piece {
        case text(Substring)
        case parameter(SubscriptionEndpoints.Parameter)
    }

    private let pieces: [Piece]

    init(_ address: String) throws(UpstreamError) {
        var pieces: [Piece] = []
        var rest = address[...]
        while let open = rest.firstIndex(of: "{") {
            let inside = rest[rest.index(after: open)...]
            guard let close = inside.firstIndex(of: "}"),
                let parameter = SubscriptionEndpoints.Parameter(rawValue: String(inside[..<close]))
            else { throw UpstreamError(.address, "an address has a placeholder that is not known") }
            pieces += [.text(rest[..<open]), .parameter(parameter)]
            rest = inside[inside.index(after: close)...]
        }
        pieces.append(.text(rest))
        self.pieces = pieces
    }

    var hasPlaceholders: Bool { pieces.count > 1 }

    /// The address with its placeholders replaced by values; a missing value is empty.
    func filled(_ values: [(SubscriptionEndpoints.Parameter, String)]) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): String(text)
            case .parameter(let name): PercentEncoding.encode(values.first { $0.0 == name }?.1 ?? "")
            }
        }.joined()
    }
}
