import CarrelBytes
import CarrelXML

/// `META-INF/encryption.xml` (EPUB 3.3 §4.2.6.3.2): which resources are encrypted, and how.
struct EncryptionDocument: Sendable {
    /// By where they are.
    private(set) var resources: [ResourcePath: Encryption] = [:]
    /// Whether it names Adobe's technology.
    private(set) var isADEPT = false
    /// Why it could not be read; what was read before stands.
    var fault: ResourceError?
    /// What was left out, in words.
    private(set) var warnings: [Warning] = []
    /// Addresses that may be names which nobody escaped, such as `100%25` and `C#.xhtml`.
    private var unescaped: [Unescaped] = []
    /// Constants, so that thousands of resources share them.
    private var texts: [String] = []

    private var depth = 0
    /// Of the entry that is open, from 1.
    private var number = 0
    /// The depth of the `EncryptedData` that is open.
    private var dataDepth: Int?
    private var current = Entry()
    /// Bytes of addresses so far.
    private var keptBytes = 0
    /// Whether there is more than is kept.
    fileprivate var hasTooMany = false

    static let path: ResourcePath = "META-INF/encryption.xml"
    private static let keyType = "http://readium.org/2014/01/lcp#EncryptedContentKey"
    private static let keyAddress = "license.lcpl#/encryption/content_key"
    static let adept = "\(adeptNamespace)"
    private static let adeptNamespace: StaticString = "http://ns.adobe.com/adept"
    private static let warningLimit = 100
    /// What publications of 50,000 resources are about: nine elements and seven attributes each. Of all that only the addresses are kept.
    private static let limits = XMLLimits(
        bytes: 48 << 20,
        depth: 128,
        elements: 900_000,
        attributes: 64,
        text: 1 << 20,
        totalAttributes: 700_000
    )
    /// Resources at most, and bytes of their addresses: with a package of few items their publication stays below 64 MiB. One that has
    /// as many items takes more: 87 MiB with 50,000.
    private static let entryLimit = 90_000
    private static let keptLimit = 8 << 20

    /// What is known of one resource so far.
    private struct Entry {
        var algorithm: String?
        var uri: String?
        var scheme: String?
        var compression: String?
        var length: LengthHint?
    }

    /// What is said of an address that may be a name.
    private struct Unescaped {
        /// Where it leads as an address; nil when it is none in the container.
        let address: ResourcePath?
        let name: ResourcePath
        let encryption: Encryption
        let number: Int
    }

    /// Whether any resource is encrypted by Readium LCP.
    var isLCP: Bool { resources.values.contains { $0.scheme == Encryption.lcpScheme } }

    /// Takes a document that is not well-formed for what it mentions.
    mutating func add(mentions text: String) {
        isADEPT = isADEPT || text.contains(Self.adept)
        guard !isLCP, text.contains(Encryption.lcpScheme) else { return }
        resources[Self.path] = Encryption(algorithm: Encryption.aes256CBC, scheme: Encryption.lcpScheme)
    }

    /// Takes the names of what is there for addresses that were not escaped.
    mutating func settle(_ entries: () async throws(ResourceError) -> [ResourcePath]) async throws(ResourceError) {
        guard !unescaped.isEmpty else { return }
        let paths = Set(try await entries())
        for entry in unescaped {
            if let address = entry.address, paths.contains(address) { continue }
            guard paths.contains(entry.name) else {
                if entry.address == nil { leaveOut(entry.number) }
                continue
            }
            resources[entry.name] = entry.encryption
            // of several names the address may be the same, and nothing is there
            if let address = entry.address { resources[address] = nil }
        }
        unescaped = []
    }

    mutating func start(_ tag: XMLTag) {
        depth += 1
        if !isADEPT, tag.isIn(Self.adeptNamespace) { isADEPT = true }
        guard let dataDepth else {
            if tag.isNamed("EncryptedData") {
                self.dataDepth = depth
                number += 1
                current = Entry()
            }
            return
        }
        switch depth - dataDepth {
        case 1 where tag.isNamed("EncryptionMethod"): current.algorithm = shared(tag, "Algorithm")
        case 2 where tag.isNamed("RetrievalMethod"):
            if tag.has("Type", Self.keyType) || tag.has("URI", Self.keyAddress) { current.scheme = Encryption.lcpScheme }
        case 2 where tag.isNamed("CipherReference"): current.uri = tag.value("URI")
        case 3 where tag.isNamed("Compression"):
            if tag.has("Method", "8") { current.compression = "deflate" }
            current.length = tag.value("OriginalLength").flatMap { Int64($0) }.flatMap { $0 >= 0 ? LengthHint($0) : nil }
        default: break
        }
    }

    mutating func end() {
        if depth == dataDepth { finish() }
        depth -= 1
    }

    private mutating func shared(_ tag: XMLTag, _ name: StaticString) -> String? {
        if let known = texts.first(where: { tag.has(name, $0) }) { return known }
        let text = tag.value(name)
        if let text, texts.count < 16 { texts.append(text) }
        return text
    }

    private mutating func finish() {
        dataDepth = nil
        guard let algorithm = current.algorithm, let uri = current.uri else { return leaveOut(number) }
        keptBytes += uri.utf8.count
        guard number <= Self.entryLimit, keptBytes <= Self.keptLimit else {
            hasTooMany = true
            return
        }
        let encryption = Encryption(
            algorithm: algorithm,
            compression: current.compression,
            originalLength: current.length,
            scheme: current.scheme
        )
        let path = ResourcePath(href: uri)
        if let path { resources[path] = encryption }
        if Self.mayBeUnescaped(uri.utf8.span), let name = ResourcePath(decoded: uri), name != path {
            unescaped.append(Unescaped(address: path, name: name, encryption: encryption, number: number))
        } else if path == nil {
            leaveOut(number)
        }
    }

    /// Whether an address has a character that means something else in a name.
    private static func mayBeUnescaped(_ address: Span<UInt8>) -> Bool {
        for index in address.indices {
            switch address[index] {
            case UInt8(ascii: "%"), UInt8(ascii: "#"), UInt8(ascii: "?"), UInt8(ascii: ":"): return true
            default: continue
            }
        }
        return false
    }

    private mutating func leaveOut(_ number: Int) {
        guard warnings.count < Self.warningLimit else { return }
        warnings.append(
            Warning(.moderate, "entry \(number) of \"\(Self.path)\" does not say what is encrypted, or how, and is left out")
        )
    }

    /// Reads the document of a container, a piece at a time; an empty one where there is none.
    ///
    /// - Parameter fetcher: of the container.
    /// - Returns: what it says, with its fault if it has one.
    /// - Throws: `resource.unavailable` and `resource.cancelled`: another time it may be read.
    static func read(_ fetcher: any Fetcher) async throws(ResourceError) -> EncryptionDocument {
        var document = EncryptionDocument()
        let resource = fetcher.get(Link(path))
        do throws(ResourceError) {
            try await document.parse(resource)
            try await document.settle { () async throws(ResourceError) in try await fetcher.paths() }
        } catch {
            switch error.code {
            case .notFound: break
            case .unavailable, .cancelled: throw error
            default:
                document.fault = error
                if let bytes = try? await resource.read(0..<Int64(4 << 20)) {
                    document.add(mentions: String(decoding: bytes, as: UTF8.self))
                }
            }
        }
        return document
    }

    private mutating func parse(_ resource: any Resource) async throws(ResourceError) {
        let visitor = EncryptionVisitor()
        var reader = XMLReader(limits: Self.limits, documentType: .skipped)
        defer { self = visitor.document }
        let tooMany = Malformed("it names more resources than are read", at: 0)
        try await EPUBDocument.stream(resource) { (piece) throws(Malformed) in
            try reader.read(piece, telling: visitor)
            if visitor.document.hasTooMany { throw tooMany }
        }
        do throws(Malformed) {
            try reader.finish(telling: visitor)
            if visitor.document.hasTooMany { throw tooMany }
        } catch { throw EPUBDocument.malformed(Self.path, error) }
    }
}

/// Reads a document of a hundred thousand elements, of which only what is encrypted is kept.
final class EncryptionVisitor: XMLVisitor {
    var document = EncryptionDocument()

    func start(_ tag: XMLTag) { document.start(tag) }
    func end() { document.end() }
}
