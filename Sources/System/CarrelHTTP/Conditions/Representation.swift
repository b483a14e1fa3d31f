// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Something that can be served whole or in parts: a file, a segment, a sample.
public struct Representation: Sendable {
    /// Bytes.
    public var length: Int64
    /// The media type, such as `audio/mpeg`.
    public var contentType: String
    /// The entity tag as sent, with its quotes; nil if there is none.
    public var etag: String?
    /// When it last changed; sent to the second.
    public var lastModified: Instant?
    /// The maximum number of parts in one request: each part may cost as much as the whole.
    public var maximumParts: Int
    /// The bytes of a part of it; called once for each part that is sent.
    public var body: @Sendable (Range<Int64>) -> ResponseBody

    /// Creates a representation that is made in parts; each parameter is the property of its name.
    public init(
        length: Int64,
        contentType: String,
        etag: String? = nil,
        lastModified: Instant? = nil,
        maximumParts: Int = 16,
        body: @escaping @Sendable (Range<Int64>) -> ResponseBody
    ) {
        self.length = length
        self.contentType = contentType
        self.etag = etag
        self.lastModified = lastModified
        self.maximumParts = maximumParts
        self.body = body
    }

    /// Bytes in memory.
    ///
    /// - Parameters:
    ///   - bytes: the whole representation.
    ///   - contentType: the media type.
    ///   - etag: the entity tag; nil for none.
    ///   - lastModified: the time of the last change; nil if that is unknown.
    public init(_ bytes: [UInt8], contentType: String, etag: String? = nil, lastModified: Instant? = nil) {
        self.init(length: Int64(bytes.count), contentType: contentType, etag: etag, lastModified: lastModified) { range in
            .bytes(range.count == bytes.count ? bytes : Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }

    /// A file, with a tag of its size and time.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - contentType: the media type.
    public init(_ file: OpenFile, contentType: String) {
        let tag = String(file.size, radix: 16) + "-" + String(file.modified.milliseconds, radix: 16)
        self.init(
            length: file.size,
            contentType: contentType,
            etag: EntityTag(tag).description,
            lastModified: file.modified
        ) { .file(file, $0) }
    }
}
