import CarrelThreads

/// Reads ahead: for what is read in small pieces one after another from where each request is dear, such as a server.
///
/// A read that goes on where an earlier one ended asks for twice as much as was asked for there, up to a limit; one that does not
/// asks for what is wanted. Several readers in different places do not disturb each other.
public final class BufferingResource: Resource {
    public var link: Link { resource.link }
    public var lengthHint: LengthHint? { resource.lengthHint }

    private let resource: any Resource
    private let least: Int
    private let most: Int
    /// The last used last.
    private let windows = Locked<[Window]>([])

    /// Bytes that were read at once.
    private struct Window {
        let start: Int64
        let bytes: [UInt8]
        var end: Int64 { start + Int64(bytes.count) }
    }

    /// Readers in different places that are told apart.
    private static let windowLimit = 8

    /// - Parameters:
    ///   - resource: closed with this one.
    ///   - least: bytes that are asked for at least.
    ///   - most: bytes that are asked for ahead at most; eight times as many are kept.
    public init(_ resource: any Resource, least: Int = 0, most: Int = 2 << 20) {
        self.resource = resource
        self.least = least
        self.most = most
    }

    public func length() async throws(ResourceError) -> Int64 { try await resource.length() }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        guard !range.isEmpty else { return }
        let kept = kept(range)
        buffer += kept
        let start = range.lowerBound + Int64(kept.count)
        guard start < range.upperBound else { return }
        let missing = range.upperBound - start
        let wanted = min(max(missing, ahead(at: start)), Int64.max - max(0, start))
        guard missing < wanted || missing < Int64(most) else {
            // too much to keep; where it ended is enough to go on from
            try await resource.read(start..<range.upperBound, into: &buffer)
            return keep(Window(start: range.upperBound, bytes: []))
        }
        let bytes = try await resource.read(start..<start + wanted)
        buffer += bytes.prefix(Int(missing))
        keep(Window(start: start, bytes: bytes))
    }

    public func close() { resource.close() }

    /// The first bytes of a range, as many as are kept.
    private func kept(_ range: Range<Int64>) -> ArraySlice<UInt8> {
        windows.withLock { windows in
            let here = windows.indices.filter { windows[$0].start <= range.lowerBound && range.lowerBound < windows[$0].end }
            guard let index = here.max(by: { windows[$0].end < windows[$1].end }) else { return [] }
            let window = windows.remove(at: index)
            windows.append(window)
            return window.bytes[Int(range.lowerBound - window.start)...].prefix(
                Int(clamping: range.upperBound - range.lowerBound)
            )
        }
    }

    /// Bytes to ask for from a place on: more where a window ends there, which has been read and goes.
    private func ahead(at start: Int64) -> Int64 {
        windows.withLock { windows in
            guard let index = windows.lastIndex(where: { $0.end == start }) else { return Int64(least) }
            return Int64(min(most, max(least, 2 * windows.remove(at: index).bytes.count)))
        }
    }

    private func keep(_ window: Window) {
        windows.withLock { windows in
            if windows.count == Self.windowLimit { windows.removeFirst() }
            windows.append(window)
        }
    }
}
