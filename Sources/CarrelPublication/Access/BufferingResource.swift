import CarrelThreads

/// Reads ahead: for what is read in small pieces one after another from where each request is dear, such as a server.
public final class BufferingResource: Resource {
    public var link: Link { resource.link }
    public var lengthHint: LengthHint? { resource.lengthHint }

    private let resource: any Resource
    private let size: Int
    private let window = Locked(Window())

    private struct Window {
        var start: Int64 = 0
        var bytes: [UInt8] = []
    }

    /// - Parameters:
    ///   - resource: closed with this one.
    ///   - size: bytes that are read at least, and kept at most.
    public init(_ resource: any Resource, size: Int = 256 << 10) {
        self.resource = resource
        self.size = size
    }

    public func length() async throws(ResourceError) -> Int64 { try await resource.length() }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        guard !range.isEmpty else { return }
        guard range.upperBound - range.lowerBound < Int64(size) else { return try await resource.read(range, into: &buffer) }
        var missing = range
        if let kept = part(of: range) {
            buffer += kept
            missing = range.lowerBound + Int64(kept.count)..<range.upperBound
            if missing.isEmpty { return }
        }
        let bytes = try await resource.read(missing.lowerBound..<missing.lowerBound + Int64(size))
        buffer += bytes.prefix(Int(missing.upperBound - missing.lowerBound))
        window.withLock { $0 = Window(start: missing.lowerBound, bytes: bytes) }
    }

    public func close() { resource.close() }

    /// The first bytes of a range, as many as are kept; nil when its first is not.
    private func part(of range: Range<Int64>) -> ArraySlice<UInt8>? {
        window.withLock { window in
            let offset = range.lowerBound - window.start
            guard offset >= 0, offset < Int64(window.bytes.count) else { return nil }
            return window.bytes[Int(offset)...].prefix(Int(range.upperBound - range.lowerBound))
        }
    }
}
