import CarrelHTTP
import CarrelHTTPServer

extension HTTPRequest {
    /// Whether nobody on the way can read what is said: TLS, or a browser on this very machine that calls it by a name of its own.
    var isConfidential: Bool {
        if scheme == "https" { return true }
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
