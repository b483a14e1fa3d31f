// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// A trusted proxy's statement about the client it speaks for.
struct Forwarding: Sendable {
    let trusted: [AddressRange]
    /// The proxies trusted about their client's certificate.
    var certificates: [AddressRange] = []

    /// Whether the peer's word counts.
    func trusts(_ peer: Peer) -> Bool {
        guard !trusted.isEmpty, case .network(let text, _) = peer, let address = IPAddress(text) else { return false }
        return trusts(address)
    }

    /// The certificate of the client, if the peer is a proxy trusted about it.
    ///
    /// - Parameters:
    ///   - peer: the other end of the connection itself.
    ///   - headers: the fields as sent.
    /// - Returns: nil without the field, and for every other peer.
    /// - Throws: 400 for an unreadable field.
    func certificate(_ peer: Peer, _ headers: HTTPFields) throws(HTTPError) -> ClientCertificate? {
        guard !certificates.isEmpty, case .network(let text, _) = peer, let address = IPAddress(text),
            certificates.contains(where: { $0.contains(address) })
        else { return nil }
        return try ClientCertificate(forwardedIn: headers)
    }

    /// The client: the last address in `X-Forwarded-For` that is not a trusted proxy itself; nil if the field names none
    /// that can be used.
    func client(_ headers: HTTPFields) -> Peer? {
        guard let list = headers.list("X-Forwarded-For") else { return nil }
        var client: IPAddress?
        for part in list.split(separator: ",").reversed() {
            var text = part.drop { $0 == " " || $0 == "\t" }
            while text.last == " " || text.last == "\t" { text.removeLast() }
            if text.hasPrefix("[") { text = text.dropFirst().prefix { $0 != "]" } }
            guard let address = IPAddress(text) else { break }
            client = address
            if !trusts(address) { break }
        }
        return client.map { .network(address: $0.description, port: 0) }
    }

    /// `http` or `https`, when the proxy says one of them.
    func scheme(_ headers: HTTPFields) -> String? {
        let value = headers["X-Forwarded-Proto"]?.lowercased()
        return value == "http" || value == "https" ? value : nil
    }

    /// The host requested by the client.
    func authority(_ headers: HTTPFields) -> String? {
        headers["X-Forwarded-Host"]
    }

    /// Whether the word of a proxy at that address counts.
    func trusts(_ address: IPAddress) -> Bool {
        trusted.contains { $0.contains(address) }
    }
}
