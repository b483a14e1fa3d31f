import CarrelBytes
import CarrelStore

// Instants and optional text, as the tables keep them.
extension SQLValue {
    static func instant(_ value: Instant) -> SQLValue { .integer(value.milliseconds) }

    static func instant(_ value: Instant?) -> SQLValue { value.map { .integer($0.milliseconds) } ?? .null }

    static func text(ifPresent value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
}

extension Row {
    func instant(_ column: Int) throws -> Instant { Instant(milliseconds: try integer(column)) }

    func instantIfPresent(_ column: Int) throws -> Instant? { try integerIfPresent(column).map { Instant(milliseconds: $0) } }
}

extension BlobID {
    /// A name that the database holds.
    init(stored text: String) throws(ServerError) {
        guard let id = BlobID(text) else { throw ServerError(.home, "the database names a blob that cannot be one") }
        self = id
    }
}
