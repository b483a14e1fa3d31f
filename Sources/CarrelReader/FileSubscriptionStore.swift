/// Keeps a subscription in a file that only its owner can read.
public struct FileSubscriptionStore: SubscriptionStore {
    private let file: PrivateFile

    /// - Parameter path: of the file; its folder is there.
    public init(path: String) {
        // an answer with 50,000 issues has about three megabytes
        file = PrivateFile(path: path, limit: 16 << 20, name: "file with the subscription")
    }

    public func load() throws -> [UInt8]? { try file.load() }

    /// Writes a new file beside the old one, to the disk, and puts it in its place.
    public func save(_ bytes: [UInt8]?) throws {
        if let bytes { try file.save(bytes) } else { try file.remove() }
    }
}
