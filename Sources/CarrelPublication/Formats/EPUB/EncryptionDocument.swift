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
    private var texts: [String: String] = [:]

    private var depth = 0
    /// Of the entry that is open, from 1.
    private var number = 0
    /// The depth of the `EncryptedData` that is open.
    private var dataDepth: Int?
    private var current = Entry()

    static let path: ResourcePath = "META-INF/encryption.xml"
    private static let keyType = "http://readium.org/2014/01/lcp#EncryptedContentKey"
    private static let keyAddress = "license.lcpl#/encryption/content_key"
    static let adept = "http://ns.adobe.com/adept"
    private static let warningLimit = 100

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

    mutating func add(_ events: [XMLEvent]) {
        for event in events {
            switch event {
            case .start(let name, let attributes):
                depth += 1
                start(name, attributes)
            case .text: break
            case .end:
                if depth == dataDepth { finish() }
                depth -= 1
            }
        }
    }

    /// Takes the names of what is there for addresses that were not escaped.
    mutating func settle(_ entries: () async throws(ResourceError) -> [Link]) async throws(ResourceError) {
        guard !unescaped.isEmpty else { return }
        let paths = Set(try await entries().compactMap(\.path))
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

    private mutating func start(_ name: XMLName, _ attributes: [XMLAttribute]) {
        if name.namespace == Self.adept { isADEPT = true }
        guard let dataDepth else {
            if name.local == "EncryptedData" {
                self.dataDepth = depth
                number += 1
                current = Entry()
            }
            return
        }
        func value(_ name: String) -> String? { attributes.first { $0.name.local == name }?.value }
        switch (depth - dataDepth, name.local) {
        case (1, "EncryptionMethod"): current.algorithm = value("Algorithm").map { shared($0) }
        case (2, "RetrievalMethod"):
            if value("Type") == Self.keyType || value("URI") == Self.keyAddress { current.scheme = Encryption.lcpScheme }
        case (2, "CipherReference"): current.uri = value("URI")
        case (3, "Compression"):
            if value("Method") == "8" { current.compression = "deflate" }
            current.length = value("OriginalLength").flatMap { Int64($0) }.flatMap { $0 >= 0 ? LengthHint($0) : nil }
        default: break
        }
    }

    private mutating func shared(_ text: String) -> String {
        if let known = texts[text] { return known }
        if texts.count < 16 { texts[text] = text }
        return text
    }

    private mutating func finish() {
        dataDepth = nil
        guard let algorithm = current.algorithm, let uri = current.uri else { return leaveOut(number) }
        let encryption = Encryption(
            algorithm: algorithm,
            compression: current.compression,
            originalLength: current.length,
            scheme: current.scheme
        )
        let path = ResourcePath(href: uri)
        if let path { resources[path] = encryption }
        if uri.utf8.contains(where: "%#?:".utf8.contains), let name = ResourcePath(decoded: uri), name != path {
            unescaped.append(Unescaped(address: path, name: name, encryption: encryption, number: number))
        } else if path == nil {
            leaveOut(number)
        }
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
            try await document.settle { () async throws(ResourceError) in try await fetcher.links() }
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
        var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
        var piece: [UInt8] = []
        var at: Int64 = 0
        while true {
            piece.removeAll(keepingCapacity: true)
            try await resource.read(at..<at + 64 << 10, into: &piece)
            at += Int64(piece.count)
            do throws(Malformed) {
                if piece.isEmpty { return add(try reader.finish()) }
                add(try reader.read(piece.rawSpan))
            } catch {
                throw ResourceError(.malformed, "\"\(Self.path)\" cannot be read: \(error)")
            }
        }
    }
}
