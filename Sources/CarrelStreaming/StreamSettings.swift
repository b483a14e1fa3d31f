package import CarrelOrders

/// What the operator decides about streaming.
package struct StreamSettings: Sendable {
    package var access = AccessMode.orderURL
    /// Listeners at once per account (`session`) or per order (`order-url`); 0 means any number.
    package var concurrency = 3
    /// Segments under one key; 0 means one key for the whole title.
    package var keyRotation = 0
    /// The least life of a ticket in milliseconds; a title's tickets live at least twice its duration.
    package var ticketLife: Int64 = 24 * 3_600_000
    /// Where clients reach this server, such as `https://audio.example.org`; nil means as the request says.
    package var publicURL: String?

    package init() {}
}
