// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import Glibc

/// Reads an untrusted PDF document with libqpdf, in a separate process.
///
/// libqpdf decompresses streams without a limit: a document of a megabyte can need gigabytes. So each call works in a child
/// process with limits on memory and time that grow with the length of the document, and with access to nothing but the document.
/// Calls wait for it, and belong on dedicated threads (`BlockingThreadPool`). The content of the pages is not read.
package struct PDFReader: Sendable {
    private let descriptor: Int32
    private let cancellation: PDFCancellation?

    /// - Parameters:
    ///   - descriptor: a regular file, with or without a name; it must stay open, and its position is not moved.
    ///   - cancellation: ends the reading; calls then throw `pdf.cancelled`. nil for none.
    package init(descriptor: Int32, cancellation: PDFCancellation? = nil) {
        self.descriptor = descriptor
        self.cancellation = cancellation
    }

    /// How the document is encrypted.
    ///
    /// - Parameter password: as it was typed; empty for none. Revisions before 5 have it in the encoding of PDF documents, those
    ///   since in UTF-8, and some writers mix that up: both are tried.
    /// - Returns: nil if it is not encrypted.
    /// - Throws: `pdf.password` for the wrong one, `pdf.unsupported`, `pdf.damaged`, `pdf.too-large`, `pdf.unavailable`.
    package func encryption(password: String = "") throws(PDFError) -> PDFEncryption? {
        let answer = try PDFChild.run(keeping: [descriptor], limits, cancellation) { () throws(PDFError) in
            try PDFDocument(descriptor: descriptor, password: password).encryption?.json ?? .null
        }
        return PDFEncryption(answer)
    }

    /// The description of the document. Damaged parts are left out with a warning.
    ///
    /// - Parameter password: as for `encryption(password:)`.
    /// - Returns: the description.
    /// - Throws: as `encryption(password:)`; `pdf.damaged` for a document without a page.
    package func describe(password: String = "") throws(PDFError) -> PDFDescription {
        let answer = try PDFChild.run(keeping: [descriptor], limits, cancellation) { () throws(PDFError) in
            try PDFDocument(descriptor: descriptor, password: password).describe().json
        }
        guard let description = PDFDescription(answer) else { throw PDFError(.unavailable, "the description was lost") }
        return description
    }

    /// Writes the document without its encryption. The bytes of pictures, fonts and pages are unchanged.
    ///
    /// - Parameters:
    ///   - password: as for `encryption(password:)`.
    ///   - target: an empty regular file, open for writing.
    /// - Throws: as `encryption(password:)`; the file may then be incomplete.
    package func writeDecrypted(password: String, to target: Int32) throws(PDFError) {
        _ = try PDFChild.run(keeping: [descriptor, target], limits, cancellation) { () throws(PDFError) in
            try PDFDocument(descriptor: descriptor, password: password).writeDecrypted(to: target)
            return .null
        }
    }

    var limits: PDFChild.Limits {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return PDFChild.Limits(fileSize: 0) }
        // holes do not belong to a document
        return PDFChild.Limits(fileSize: min(Int(status.st_size), 512 * Int(status.st_blocks)))
    }
}
