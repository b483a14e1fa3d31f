struct ArchiveUnpacking {
    init(path: String, limit: Int64) {}; static func makeFolder(in: String) throws -> String { "" };
    static func remove(_ s: String) {}; func unpack(into: String, _ p: (IngestProgress) throws -> Void) throws {}
}
