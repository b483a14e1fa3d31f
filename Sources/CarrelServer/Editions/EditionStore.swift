import CarrelBytes
import CarrelSubscription
package import CarrelStore

/// The SQL of editions.
package enum EditionStore {
    static let products = SQL("SELECT product_id, issued_at, price, state FROM editions ORDER BY issued_at, product_id")

    package static let statements = [products]

    /// Every edition as entitlement sees it.
    static func products(in transaction: any Transaction) throws -> [Product] {
        try transaction.rows(products, []).map {
            guard let state = Product.State(rawValue: try $0.text(3)) else {
                throw ServerError(.home, "an edition has a state that this version does not know")
            }
            return Product(
                id: try $0.text(0),
                issuedAt: try $0.instant(1),
                isFree: try $0.text(2) == "free",
                state: state
            )
        }
    }
}
