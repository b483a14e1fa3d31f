import CarrelHTTP
import CarrelHTTPServer

extension HTTPRequest {
    /// Whether nobody on the way can read what is said: TLS, or a browser on this very machine that calls it by a name of its own.
    var isConfidential: Bool {
        scheme == "https" || isAddressedToThisMachine
    }

    /// Whether somebody on this very machine asks, and no server on it for somebody else.
    var isFromThisMachine: Bool {
        isAddressedToThisMachine && ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"].allSatisfy { headers[$0] == nil }
    }

    /// Whether it came from this machine to a name that only this machine has.
    private var isAddressedToThisMachine: Bool {
        guard case .network(let text, _) = peer, IPAddress(text)?.isLoopback == true else {
            if case .local = peer { return true }
            return false
        }
        var host = Substring(authority.lowercased())
        if host.hasPrefix("[") {
            host = host.dropFirst().prefix { $0 != "]" }
        } else if let colon = host.firstIndex(of: ":") {
            host = host[..<colon]
        }
        return host == "localhost" || IPAddress(host)?.isLoopback == true
    }
}
