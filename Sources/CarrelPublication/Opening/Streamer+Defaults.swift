extension Streamer {
    /// The formats that are opened without further ado.
    static let defaultParsers: [any PublicationParser] = [EPUBParser()]

    /// Protections that belong to a format.
    static let formatProtections: [any ContentProtection] = [ZIPPasswordProtection()]
}
