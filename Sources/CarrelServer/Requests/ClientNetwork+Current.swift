import CarrelHTTP
import CarrelHTTPServer

extension ClientNetwork {
    /// The network of the client whose request is being answered; nil where no limit of one network applies: the home's socket, this
    /// machine, and work that no request asked for.
    static var current: ClientNetwork? {
        guard case .network(let text, _) = Peer.current, let address = IPAddress(text), !address.isLoopback else { return nil }
        return ClientNetwork(address)
    }
}
