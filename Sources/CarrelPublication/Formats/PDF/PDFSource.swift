import CarrelPDF
import CarrelThreads

/// A PDF document as a file that libqpdf can open.
struct PDFSource {
    private let file: FileResource

    /// Bytes of a document that is copied to the disk, because it lies elsewhere.
    private static let copyLimit: Int64 = 2 << 30
    private static let threads = BlockingThreads(name: "carrel-pdf", count: 2)

    /// The document that an asset of one file is; nil when that is none by its first bytes (ISO 32000-1 Annex H.3). Throws what
    /// reading throws.
    init?(_ fetcher: any Fetcher) async throws(ResourceError) {
        guard let single = fetcher as? SingleResourceFetcher else { return nil }
        let head = try await single.resource.read(0..<1024)
        guard head.indices.contains(where: { head[$0...].starts(with: "%PDF-".utf8) }) else { return nil }
        file = try await single.file(upTo: Self.copyLimit)
    }

    /// Opens the document on a thread that may wait.
    ///
    /// - Parameters:
    ///   - password: empty for none.
    ///   - body: gets the document.
    /// - Returns: what `body` returns.
    /// - Throws: `resource.decryption` for the wrong password, `resource.forbidden` for an encryption that is not supported,
    ///   `resource.malformed`.
    func open<Value: Sendable>(
        password: String,
        _ body: @escaping @Sendable (PDFDocument) throws(PDFError) -> Value
    ) async throws(ResourceError) -> Value {
        let file = file
        do {
            return try await Self.threads.run {
                let document = try PDFDocument(descriptor: file.descriptor, password: password)
                return try body(document)
            }
        } catch let error as PDFError {
            throw ResourceError(error)
        } catch {
            throw ResourceError(.unavailable, "the document cannot be read")
        }
    }

    /// The document without its encryption, in a file without a name.
    ///
    /// - Parameter password: empty for none.
    /// - Returns: a resource with the link of the document.
    /// - Throws: as `open(password:_:)`.
    func decrypted(password: String) async throws(ResourceError) -> FileResource {
        let target = try UnnamedFile()
        try await open(password: password) { (document) throws(PDFError) in
            try document.writeDecrypted(to: target.descriptor)
        }
        return try target.sealed(file.link)
    }
}

extension ResourceError {
    fileprivate init(_ error: PDFError) {
        switch error.code {
        case .password: self.init(.decryption, error.message)
        case .unsupported: self.init(.forbidden, error.message)
        case .unavailable: self.init(.unavailable, error.message)
        case .tooLarge: self.init(.tooLarge, error.message)
        default: self.init(.malformed, error.message)
        }
    }
}
