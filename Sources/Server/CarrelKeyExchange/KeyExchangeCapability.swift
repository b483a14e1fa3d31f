// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelKeyStore
package import CarrelHTTP
package import CarrelHome
import CarrelThrottling
import CarrelWebAPI

/// Keys for packagers of other vendors, by CPIX and SPEKE. It has no tables: its keys are in the key store.
package struct KeyExchangeCapability: Capability {
    private let routes: KeyExchangeRoutes

    /// The limit of requests per network and minute.
    private static let networkLimit = 600

    /// - Parameters:
    ///   - context: the clock.
    ///   - keys: the key store.
    ///   - accounts: the back-office keys of packagers.
    ///   - publicURL: the public URL of the server, without a slash at the end.
    ///   - version: the version of the running program.
    package init(
        _ context: ServiceContext,
        _ keys: ContentKeys,
        _ accounts: AccountsCapability,
        _ publicURL: String?,
        version: String
    ) {
        routes = KeyExchangeRoutes(
            exchange: KeyExchange(keys: keys, publicURL: publicURL),
            callers: accounts.callers,
            clock: context.clock,
            limiter: TokenBucketLimiter(perMinute: Self.networkLimit),
            agent: version.isEmpty ? "Carrel" : "Carrel/\(version)"
        )
    }

    package func addRoutes(to router: inout Router) { routes.add(to: &router) }
}
