// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPDF
import CarrelThreads

/// A PDF document as a file, read in another process.
struct PDFSource {
    let file: FileResource

    /// Bytes of a document that is copied to the disk, because it lies elsewhere.
    private static let copyLimit: Int64 = 2 << 30
    /// Bytes at the beginning and at the end in which a security handler is looked for.
    private static let nameLimit: Int64 = 256 << 10
    private static let threads = BlockingThreadPool(name: "carrel-pdf", count: 2)

    /// The document that an asset of one file is; nil if that is none by its first bytes (ISO 32000-1 Annex H.3). Throws what
    /// reading throws.
    init?(_ fetcher: any Fetcher) async throws(ResourceError) {
        guard let single = fetcher as? SingleResourceFetcher else { return nil }
        guard PDFHeader.isIn(try await single.resource.read(0..<Int64(PDFHeader.window))) else { return nil }
        file = try await single.file(upTo: Self.copyLimit)
    }

    /// Reads the encryption of the document; returns nil if it is not encrypted.
    ///
    /// - Parameter password: the password; empty for none.
    /// - Returns: the encryption, according to libqpdf.
    /// - Throws: `resource.decryption` for the wrong password, `resource.forbidden` for an encryption that is not supported,
    ///   `resource.malformed`.
    func encryption(password: String) async throws(ResourceError) -> PDFEncryption? {
        try await read { (reader) throws(PDFError) in try reader.encryption(password: password) }
    }

    /// Returns the name of the protection of a document without a password, from its security handler (ISO 32000-2 §7.6.2).
    ///
    /// - Returns: a name for "protected by …".
    /// - Throws: errors of reading.
    func foreignProtection() async throws(ResourceError) -> String {
        let length = try await file.length()
        for part in [0..<min(length, Self.nameLimit), max(0, length - Self.nameLimit)..<length] {
            let text = String(decoding: try await file.read(part), as: UTF8.self)
            if text.contains("/EBX_HANDLER") { return "Adobe ADEPT" }
        }
        return "an unknown technology"
    }

    /// Reads the metadata of the document.
    ///
    /// - Returns: the description.
    /// - Throws: the errors of `encryption(password:)`.
    func describe() async throws(ResourceError) -> PDFDescription {
        try await read { (reader) throws(PDFError) in try reader.describe() }
    }

    /// Decrypts the document into an unnamed file.
    ///
    /// - Parameter password: the password; empty for none.
    /// - Returns: a resource with the link of the document.
    /// - Throws: the errors of `encryption(password:)`.
    func decrypted(password: String) async throws(ResourceError) -> FileResource {
        let target = try await AnonymousFile(expecting: file.length())
        try await read { (reader) throws(PDFError) in
            try reader.writeDecrypted(password: password, to: target.descriptor)
        }
        return try target.sealed(file.link)
    }

    /// On a thread that may wait. Cancelling the task ends the process that reads, and gives the thread to the next.
    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (PDFReader) throws(PDFError) -> Value
    ) async throws(ResourceError) -> Value {
        let (file, cancellation) = (file, PDFCancellation())
        do {
            return try await withTaskCancellationHandler {
                try await Self.threads.run { try body(PDFReader(descriptor: file.descriptor, cancellation: cancellation)) }
            } onCancel: {
                cancellation.cancel()
            }
        } catch let error as PDFError {
            throw ResourceError(error)
        } catch {
            throw ResourceError(.unavailable, "the document cannot be read")
        }
    }
}

extension ResourceError {
    fileprivate init(_ error: PDFError) {
        switch error.code {
        case .password: self.init(.decryption, error.message)
        case .unsupported: self.init(.forbidden, error.message)
        case .unavailable: self.init(.unavailable, error.message)
        case .tooLarge: self.init(.tooLarge, error.message)
        case .cancelled: self.init(.cancelled, error.message)
        default: self.init(.malformed, error.message)
        }
    }
}
