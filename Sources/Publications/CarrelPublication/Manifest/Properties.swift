// SPDX-License-Identifier: Apache-2.0

public import CarrelJSON

/// Further members of a link: known members have properties here, others are kept unparsed.
public struct Properties: Sendable, Equatable {
    /// The members; nil if nothing is set, which is the usual case.
    private var content: Content?

    /// Shared by copies, and never changed.
    private final class Content: Sendable {
        /// All members, where `encryption` is nil; else all others.
        let members: JSONObject
        /// Stored as a value, because every resource of a protected publication has one.
        let encryption: Encryption?

        init(_ members: JSONObject, _ encryption: Encryption? = nil) {
            self.members = members
            self.encryption = encryption
        }
    }

    /// Creates properties.
    ///
    /// - Parameter json: all members, kept unchanged.
    public init(_ json: JSONObject = JSONObject()) {
        if !json.isEmpty { content = Content(json) }
    }

    /// All members.
    public var json: JSONObject {
        get {
            var json = content?.members ?? JSONObject()
            if let encryption = content?.encryption { json["encrypted"] = encryption.json }
            return json
        }
        set { self = Properties(newValue) }
    }

    public static func == (a: Properties, b: Properties) -> Bool { a.content === b.content || a.json == b.json }

    /// The encryption of the resource; nil if it is not encrypted.
    public var encryption: Encryption? {
        get { content.flatMap { $0.encryption ?? $0.members["encrypted"]?.object.flatMap(Encryption.init) } }
        set {
            guard let content else {
                if newValue != nil { self.content = Content(JSONObject(), newValue) }
                return
            }
            var members = content.members
            members["encrypted"] = nil
            self.content = members.isEmpty && newValue == nil ? nil : Content(members, newValue)
        }
    }

    /// The side of a spread: `left`, `right` or `center`.
    public var page: String? { content?.members["page"]?.string }

    /// Content and requirements of a resource, such as `mathml`, `remote-resources`, `scripted` (EPUB 3.3 §D.5).
    public var contains: [String] {
        get { (content?.members["contains"]?.array ?? []).compactMap(\.string) }
        set { json["contains"] = newValue.isEmpty ? nil : .array(newValue.map(JSON.string)) }
    }
}

/// The encryption of a resource (Readium Web Publication Manifest, Encryption module).
public struct Encryption: Sendable, Hashable {
    /// The URI of the cipher, such as `http://www.w3.org/2001/04/xmlenc#aes256-cbc`.
    public var algorithm: String {
        get { shared.method.algorithm }
        set { change { $0.algorithm = newValue } }
    }
    /// The compression before the encryption; `deflate`, or nil.
    public var compression: String? {
        get { shared.method.compression }
        set { change { $0.compression = newValue } }
    }
    /// Bytes before compression and encryption, as declared: it may be wrong.
    public var originalLength: LengthHint?
    /// The URI of the profile of the protection.
    public var profile: String? {
        get { shared.method.profile }
        set { change { $0.profile = newValue } }
    }
    /// The URI of the protection.
    public var scheme: String? {
        get { shared.method.scheme }
        set { change { $0.scheme = newValue } }
    }

    /// The same for most resources of a publication, which share it.
    private var shared: Shared

    private struct Method: Sendable, Hashable {
        var algorithm: String
        var compression: String?
        var profile: String?
        var scheme: String?
    }

    /// Shared by copies, and never changed.
    private final class Shared: Sendable, Hashable {
        let method: Method

        init(_ method: Method) {
            self.method = method
        }

        static func == (a: Shared, b: Shared) -> Bool { a === b || a.method == b.method }
        func hash(into hasher: inout Hasher) { hasher.combine(method) }
    }

    private mutating func change(_ body: (inout Method) -> Void) {
        var method = shared.method
        body(&method)
        shared = Shared(method)
    }

    /// Creates a description of an encryption.
    ///
    /// - Parameters:
    ///   - algorithm: the URI of the cipher, such as ``aes256CBC``.
    ///   - compression: `deflate`, or nil.
    ///   - originalLength: bytes before compression and encryption.
    ///   - profile: the URI of the profile of the protection.
    ///   - scheme: the URI of the protection, such as ``lcpScheme``.
    public init(
        algorithm: String,
        compression: String? = nil,
        originalLength: LengthHint? = nil,
        profile: String? = nil,
        scheme: String? = nil
    ) {
        shared = Shared(Method(algorithm: algorithm, compression: compression, profile: profile, scheme: scheme))
        self.originalLength = originalLength
    }

    /// The scheme of Readium LCP.
    public static let lcpScheme = "http://readium.org/2014/01/lcp"
    /// AES-256 in CBC mode after an initialization vector (XML Encryption §5.2).
    public static let aes256CBC = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"

    /// Whether it was deflated (RFC 1951) before it was encrypted.
    public var isDeflated: Bool { compression == "deflate" }

    /// Whether it is encrypted by Readium LCP. One that names its cipher and no scheme counts: older tools wrote such.
    public var isLCP: Bool { scheme == Self.lcpScheme || scheme == nil && algorithm == Self.aes256CBC }

    init?(_ json: JSONObject) {
        guard let algorithm = json["algorithm"]?.string else { return nil }
        self.init(
            algorithm: algorithm,
            compression: json["compression"]?.string,
            // "original-length" was its first name
            originalLength: (json["originalLength"] ?? json["original-length"])?.int.flatMap {
                $0 >= 0 ? LengthHint(Int64($0)) : nil
            },
            profile: json["profile"]?.string,
            scheme: json["scheme"]?.string
        )
    }

    var json: JSON {
        var object = JSONObject()
        object["algorithm"] = .string(algorithm)
        object["compression"] = compression.map(JSON.string)
        object["originalLength"] = originalLength.map { .integer($0.byteCount) }
        object["profile"] = profile.map(JSON.string)
        object["scheme"] = scheme.map(JSON.string)
        return .object(object)
    }
}
