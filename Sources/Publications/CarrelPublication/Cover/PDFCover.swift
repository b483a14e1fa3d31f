// SPDX-License-Identifier: Apache-2.0

/// Renders the first page of a PDF document with `pdftoppm`, if it is installed and can be confined (``Poppler``).
enum PDFCover {
    /// Pixels of the longer side.
    private static let size = 1200
    /// Bytes of a document that is copied to the disk for it.
    private static let copyLimit: Int64 = 256 << 20

    /// - Parameter resource: the document, decrypted.
    /// - Returns: nil if the program is missing, cannot render the page, or cannot be confined.
    /// - Throws: errors of reading.
    static func draw(_ resource: any Resource) async throws(ResourceError) -> Cover? {
        let file: FileResource
        if let own = resource as? FileResource {
            file = own
        } else {
            file = try await AnonymousFile.copy(of: resource, upTo: copyLimit)
        }
        let words = ["pdftoppm", "-q", "-f", "1", "-l", "1", "-singlefile", "-scale-to", "\(size)", "-jpeg"]
        do throws(Poppler.Failure) {
            return Cover(try await Poppler().run(words, on: file, upTo: Cover.limit))
        } catch {
            if case .cancelled = error { throw ResourceError(.cancelled, "nobody waits for the cover any more") }
            return nil
        }
    }
}
