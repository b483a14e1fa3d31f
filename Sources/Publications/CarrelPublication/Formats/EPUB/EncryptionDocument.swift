// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// `META-INF/encryption.xml` (EPUB 3.3 §4.2.6.3.2): which resources are encrypted, and how.
struct EncryptionDocument: ContainerDocument {
    /// The entries by their paths.
    private(set) var resources: [ResourcePath: Encryption] = [:]
    /// Whether it names Adobe's technology.
    var isADEPT = false
    /// The error that ended reading; resources read before it are kept.
    var fault: ResourceError?
    /// The omissions, in words.
    private(set) var warnings: [Warning] = []
    /// Addresses that may be unescaped names, such as `100%25` and `C#.xhtml`.
    private var unescaped: [Unescaped] = []
    /// The method of the previous entry, which most others share, so that thousands of resources share it.
    private var last = Encryption(algorithm: Encryption.aes256CBC)

    /// Bytes of addresses so far.
    private var keptBytes = 0
    /// Whether there is more than is kept.
    private(set) var hasTooMany = false

    static let path: ResourcePath = "META-INF/encryption.xml"
    static let adept = "\(adeptNamespace)"
    static let adeptNamespace: StaticString = "http://ns.adobe.com/adept"
    private static let warningLimit = 100
    /// Limits for publications of 50,000 resources: nine elements and seven attributes each. Of all that only the addresses are
    /// kept.
    private static let limits = XMLLimits(
        bytes: 48 << 20,
        depth: 128,
        elements: 900_000,
        attributes: 64,
        text: 1 << 20,
        totalAttributes: 700_000
    )
    /// The limits of resources and of the bytes of their addresses: with few items, a publication stays below 64 MiB. As many
    /// items take more: 87 MiB with 50,000.
    private static let entryLimit = 90_000
    private static let keptLimit = 8 << 20
    /// Bytes that an entry of LCP has, about.
    private static let entrySize: Int64 = 512

    /// The content of an entry.
    struct Entry {
        /// From 1, in the order of the document.
        var number: Int
        var algorithm: String?
        /// The address of the encrypted resource.
        var uri: String?
        var isLCP = false
        var isDeflated = false
        var length: LengthHint?
    }

    /// An address that may be a name.
    private struct Unescaped {
        /// The path by the rules of addresses; nil if it is outside the container.
        let address: ResourcePath?
        let name: ResourcePath
        let encryption: Encryption
        let number: Int
    }

    /// Whether any resource is encrypted by Readium LCP.
    var isLCP: Bool { resources.values.contains { $0.scheme == Encryption.lcpScheme } }

    /// Treats every resource mentioned in a malformed document as encrypted.
    mutating func add(mentions text: String) {
        isADEPT = isADEPT || text.contains(Self.adept)
        guard !isLCP, text.contains(Encryption.lcpScheme) else { return }
        resources[Self.path] = Encryption(algorithm: Encryption.aes256CBC, scheme: Encryption.lcpScheme)
    }

    /// Resolves unescaped addresses against the names in the container.
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
            // several names may have the same address, without an entry
            if let address = entry.address { resources[address] = nil }
        }
        unescaped = []
    }

    /// Reserves capacity for the resources of a document.
    ///
    /// - Parameter bytes: the declared length, which may be wrong: capacity beyond some thousand grows on demand.
    mutating func expect(bytes: Int64) {
        resources.reserveCapacity(Int(min(bytes / Self.entrySize, 16_384)))
    }

    /// Adds the resource of one entry.
    mutating func add(_ entry: borrowing Entry) {
        guard let algorithm = entry.algorithm, let uri = entry.uri else { return leaveOut(entry.number) }
        keptBytes += uri.utf8.count
        guard entry.number <= Self.entryLimit, keptBytes <= Self.keptLimit else {
            hasTooMany = true
            return
        }
        if entry.isLCP != (last.scheme != nil) || entry.isDeflated != last.isDeflated || last.algorithm != algorithm {
            last = Encryption(
                algorithm: algorithm,
                compression: entry.isDeflated ? "deflate" : nil,
                scheme: entry.isLCP ? Encryption.lcpScheme : nil
            )
        }
        last.originalLength = entry.length
        if let path = ResourcePath(plain: uri) {
            resources[path] = last
            return
        }
        let path = ResourcePath(href: uri)
        if let path { resources[path] = last }
        if Self.mayBeUnescaped(uri.utf8.span), let name = ResourcePath(decoded: uri), name != path {
            unescaped.append(Unescaped(address: path, name: name, encryption: last, number: entry.number))
        } else if path == nil {
            leaveOut(entry.number)
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

    /// Reads the document of a container, a piece at a time; empty if there is none.
    ///
    /// - Parameter fetcher: the container's fetcher.
    /// - Returns: its entries, with its fault if any.
    /// - Throws: `resource.unavailable` and `resource.cancelled`: a later attempt may succeed.
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
        visitor.document.expect(bytes: resource.lengthHint?.byteCount ?? 0)
        var reader = XMLReader(limits: Self.limits, documentType: .skipped)
        defer { self = visitor.document }
        let tooMany = Malformed("it names more resources than are read", at: 0)
        try await EPUBDocument.stream(resource) { (piece) throws(Malformed) in
            try reader.read(piece, telling: visitor)
            if visitor.document.hasTooMany { throw tooMany }
            return true
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

    private var depth = 0
    /// The depth of the `EncryptedData` that is open; 0 when none is.
    private var dataDepth = 0
    /// The number of the last `EncryptedData`, from 1.
    private var number = 0
    private var entry = EncryptionDocument.Entry(number: 0)
    private var isADEPT = false
    /// The cipher of the previous entry, which most documents use for all entries.
    private var algorithm = Encryption.aes256CBC

    private static let keyType = "http://readium.org/2014/01/lcp#EncryptedContentKey"
    private static let keyAddress = "license.lcpl#/encryption/content_key"

    func start(_ tag: borrowing XMLTag) {
        depth += 1
        if !isADEPT, tag.isIn(EncryptionDocument.adeptNamespace) {
            isADEPT = true
            document.isADEPT = true
        }
        guard dataDepth > 0 else {
            if tag.isNamed("EncryptedData") {
                dataDepth = depth
                number += 1
                entry = EncryptionDocument.Entry(number: number)
            }
            return
        }
        switch depth - dataDepth {
        case 1 where tag.isNamed("EncryptionMethod"):
            if !tag.has("Algorithm", algorithm) {
                guard let other = tag.value("Algorithm") else { return entry.algorithm = nil }
                algorithm = other
            }
            entry.algorithm = algorithm
        case 2 where tag.isNamed("RetrievalMethod"):
            if tag.has("Type", Self.keyType) || tag.has("URI", Self.keyAddress) { entry.isLCP = true }
        case 2 where tag.isNamed("CipherReference"): entry.uri = tag.value("URI")
        case 3 where tag.isNamed("Compression"):
            if tag.has("Method", "8") { entry.isDeflated = true }
            entry.length = tag.value("OriginalLength").flatMap { Int64($0) }.flatMap { $0 >= 0 ? LengthHint($0) : nil }
        default: break
        }
    }

    func end() {
        if depth == dataDepth {
            dataDepth = 0
            document.add(entry)
        }
        depth -= 1
    }
}
