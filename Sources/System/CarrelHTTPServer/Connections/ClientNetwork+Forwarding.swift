// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

extension ClientNetwork {
    /// Nil if no limit per network applies: for the home's socket, this machine, and proxies.
    init?(_ peer: Peer, _ forwarding: Forwarding) {
        guard case .network(let text, _) = peer, let address = IPAddress(text), !address.isLoopback, !forwarding.trusts(address)
        else { return nil }
        self.init(address)
    }
}
