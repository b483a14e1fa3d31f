// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelEditionDelivery
package import CarrelHTTP
package import CarrelHome
import CarrelWebAPI

/// The catalog of editions, and what a reader may read of it, as OPDS.
package struct FeedsCapability: Capability {
    package let shelf: EditionShelf
    private let searches: CatalogSearches
    private let context: ServiceContext
    private let delivery: EditionDeliveryCapability
    private let callers: RequestAuthenticator
    private let catalogID: String
    private let parameters: ParameterNames
    private let needSignIn: Bool

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - delivery: the delivery of editions.
    ///   - callers: the authenticator of requests.
    ///   - parameters: the parameter names of the five calls.
    ///   - needSignIn: whether feeds require signing in.
    /// - Throws: ``ServerError`` `masterKey` if a secret is missing.
    package init(
        _ context: ServiceContext,
        _ delivery: EditionDeliveryCapability,
        _ callers: RequestAuthenticator,
        parameters: ParameterNames,
        needSignIn: Bool
    ) throws {
        self.context = context
        self.delivery = delivery
        self.callers = callers
        self.parameters = parameters
        self.needSignIn = needSignIn
        catalogID = CatalogID.text(try context.secret(.audit))
        searches = CatalogSearches(database: context.database)
        shelf = EditionShelf(database: context.database, searches: searches, readers: delivery.readers)
    }

    package func addRoutes(to router: inout Router) {
        let gate = FeedAuthorizer(readers: delivery.readers, document: delivery.document, needsSignIn: needSignIn)
        FeedRoutes(
            database: context.database,
            searches: searches,
            document: delivery.document,
            catalogID: catalogID,
            parameters: parameters,
            callers: callers,
            gate: gate
        ).add(to: &router)
        ShelfFeedRoutes(shelf: shelf, gate: gate, document: delivery.document, catalogID: catalogID).add(to: &router)
    }
}
