// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

extension ClientNetwork {
    /// Nil if no limit of one network applies: the home's socket, this machine, and proxies that speak for others.
    init?(_ peer: Peer, _ forwarding: Forwarding) {
        guard case .network(let text, _) = peer, let address = IPAddress(text), !address.isLoopback, !forwarding.trusts(address)
        else { return nil }
        self.init(address)
    }
}
