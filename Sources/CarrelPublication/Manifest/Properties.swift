public import CarrelJSON

/// What a link says besides: members that are known have names here, the others are kept as they are.
public struct Properties: Sendable, Equatable {
    public var json: JSONObject

    public init(_ json: JSONObject = JSONObject()) {
        self.json = json
    }

    /// How the resource is encrypted; nil when it is not.
    public var encryption: Encryption? {
        get { json["encrypted"]?.object.flatMap(Encryption.init) }
        set { json["encrypted"] = newValue?.json }
    }

    /// How the resource is laid out, where that differs from its publication.
    public var layout: Metadata.Layout? { json["layout"]?.string.flatMap(Metadata.Layout.init) }

    /// Where the page stands in a spread: `left`, `right` or `center`.
    public var page: String? { json["page"]?.string }

    /// What a resource holds or needs, such as `mathml`, `remote-resources`, `scripted` (EPUB 3.3 §D.5).
    public var contains: [String] {
        get { (json["contains"]?.array ?? []).compactMap(\.string) }
        set { json["contains"] = newValue.isEmpty ? nil : .array(newValue.map(JSON.string)) }
    }
}

/// How a resource is encrypted (Readium Web Publication Manifest, Encryption module).
public struct Encryption: Sendable, Hashable {
    /// The URI of the cipher, such as `http://www.w3.org/2001/04/xmlenc#aes256-cbc`.
    public var algorithm: String
    /// What was done before encrypting; `deflate`, or nil.
    public var compression: String?
    /// Bytes before compression and encryption, as declared: it may be wrong.
    public var originalLength: LengthHint?
    /// The URI of the profile of the protection.
    public var profile: String?
    /// The URI of the protection.
    public var scheme: String?

    public init(
        algorithm: String,
        compression: String? = nil,
        originalLength: LengthHint? = nil,
        profile: String? = nil,
        scheme: String? = nil
    ) {
        self.algorithm = algorithm
        self.compression = compression
        self.originalLength = originalLength
        self.profile = profile
        self.scheme = scheme
    }

    init?(_ json: JSONObject) {
        guard let algorithm = json["algorithm"]?.string else { return nil }
        self.algorithm = algorithm
        compression = json["compression"]?.string
        // "original-length" was its first name
        originalLength = (json["originalLength"] ?? json["original-length"])?.int.flatMap {
            $0 >= 0 ? LengthHint(Int64($0)) : nil
        }
        profile = json["profile"]?.string
        scheme = json["scheme"]?.string
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
