// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

internal import CarrelThreads

/// The number of open connections, in total and for each network.
///
/// Connections of Unix sockets are counted separately, so that the operator can connect whatever clients do.
final class ConnectionCounts: Sendable {
    private enum Origin {
        case unix
        /// A network; nil if the limit per network does not apply.
        case network(ClientNetwork?)
    }

    private struct State {
        var unix = 0
        var network = 0
        var networks: [ClientNetwork: Int] = [:]
        /// The origins by descriptor.
        var origins: [Int32: Origin] = [:]
    }

    private let limit: Int
    private let networkLimit: Int
    private let unixLimit: Int
    private let forwarding: Forwarding
    private let state = Locked(State())

    init(_ configuration: ServerConfiguration, _ forwarding: Forwarding) {
        limit = configuration.maximumConnections
        let chosen = configuration.connectionsPerNetwork ?? max(1, limit / 4)
        networkLimit = chosen == 0 ? .max : chosen
        unixLimit = ServerConfiguration.unixConnections
        self.forwarding = forwarding
    }

    /// Open connections.
    var total: Int { state.withLock { $0.unix + $0.network } }

    /// Counts a connection of a Unix socket, unless there are too many.
    func admitUnix(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            guard state.unix < unixLimit else { return false }
            state.unix += 1
            state.origins[descriptor] = .unix
            return true
        }
    }

    /// Counts a connection over the network, unless there are too many.
    ///
    /// - Parameters:
    ///   - descriptor: the connection's descriptor.
    ///   - address: the peer's address; nil if it has already gone.
    /// - Returns: false if it must be closed.
    func admit(_ descriptor: Int32, from address: IPAddress?) -> Bool {
        let network = address.flatMap { $0.isLoopback || forwarding.trusts($0) ? nil : ClientNetwork($0) }
        return state.withLock { state in
            guard state.network < limit else { return false }
            if let network {
                let own = state.networks[network, default: 0]
                guard own < networkLimit else { return false }
                state.networks[network] = own + 1
            }
            state.network += 1
            state.origins[descriptor] = .network(network)
            return true
        }
    }

    /// Counts it no more. Before its descriptor is closed.
    func remove(_ descriptor: Int32) {
        state.withLock { state in
            switch state.origins.removeValue(forKey: descriptor) {
            case .unix: state.unix -= 1
            case .network(let network):
                state.network -= 1
                guard let network, let own = state.networks[network] else { return }
                state.networks[network] = own > 1 ? own - 1 : nil
            case nil: break
            }
        }
    }
}
