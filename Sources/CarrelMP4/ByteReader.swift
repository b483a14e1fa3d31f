/// Random access to the bytes of a file.
public protocol ByteReader {
    /// Bytes in all. Must not change.
    var length: Int64 { get }

    /// The bytes of `range`, which lies inside `0..<length`: all of them, or an error.
    func read(_ range: Range<Int64>) throws -> [UInt8]
}

/// Bytes in memory as a file.
public struct BytesReader: ByteReader, Sendable {
    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    public var length: Int64 { Int64(bytes.count) }

    public func read(_ range: Range<Int64>) -> [UInt8] {
        Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
