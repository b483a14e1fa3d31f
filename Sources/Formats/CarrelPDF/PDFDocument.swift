// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A PDF document, opened with libqpdf. Used by one thread at a time, in a process of its own (``PDFReader``).
package final class PDFDocument {
    private let handle: PDFHandle
    private let password: [UInt8]

    /// Complaints of libqpdf that are kept.
    private static let warningLimit = 20

    /// Opens a document.
    ///
    /// - Parameters:
    ///   - descriptor: a regular file, with or without a name; it must stay open, and its position is not moved.
    ///   - password: as typed; empty for none. Revisions before 5 use the encoding of PDF documents, later ones UTF-8, and some
    ///     writers confuse them: both are tried.
    /// - Throws: `pdf.password` for a wrong password, `pdf.unsupported`, `pdf.damaged`.
    package init(descriptor: Int32, password: String = "") throws(PDFError) {
        // opened again by its number: a file without a name can be opened in no other way
        let path = "/proc/self/fd/\(descriptor)"
        var failure = PDFError(.password, "the password is wrong")
        for bytes in Self.encodings(of: password) {
            do throws(PDFError) {
                handle = try PDFHandle(path: path, password: bytes)
                self.password = bytes
                return
            } catch  where error.code == .password {
                failure = error
            }
        }
        throw failure
    }

    /// How the document is encrypted; nil if it is not.
    package var encryption: PDFEncryption? {
        let dictionary = handle.trailer["/Encrypt"]
        guard dictionary.isDictionary else { return nil }
        let revision = dictionary["/R"].integer ?? 0
        return PDFEncryption(
            revision: revision,
            version: dictionary["/V"].integer ?? 0,
            // written as a signed number or, by mistake, as an unsigned one
            permissions: Int32(truncatingIfNeeded: dictionary["/P"].integer ?? 0),
            isOwner: Self.effective(handle.userPassword(), revision) != Self.effective(password, revision)
        )
    }

    /// The significant part of a password: 127 bytes of UTF-8, and before revision 5 the first 32 bytes of it and of the padding
    /// (ISO 32000-2 §7.6.4.3.2, algorithm 2).
    private static func effective(_ password: [UInt8], _ revision: Int) -> [UInt8] {
        revision < 5 ? Array((password + padding).prefix(32)) : Array(password.prefix(127))
    }

    private static let padding: [UInt8] = [
        0x28, 0xbf, 0x4e, 0x5e, 0x4e, 0x75, 0x8a, 0x41, 0x64, 0x00, 0x4e, 0x56, 0xff, 0xfa, 0x01, 0x08,
        0x2e, 0x2e, 0x00, 0xb6, 0xd0, 0x68, 0x3e, 0x80, 0x2f, 0x0c, 0xa9, 0xfe, 0x64, 0x53, 0x69, 0x7a,
    ]

    /// Reads the document's description. Damaged parts are left out with a warning.
    ///
    /// - Returns: the description.
    /// - Throws: `pdf.damaged` for a document without a page, `pdf.too-large` for one that keeps its reader busy.
    package func describe() throws(PDFError) -> PDFDescription {
        let trailer = handle.trailer
        let root = trailer["/Root"]
        let pages = try PDFPages(root, handle)
        guard pages.count > 0 else { throw PDFError(.damaged, "the document has no page") }
        var outline = PDFOutline(handle, pages)
        let items = try outline.items(root)
        var warnings: [String] = []
        if pages.isIncomplete { warnings.append("some pages of the document cannot be found") }
        if outline.isIncomplete { warnings.append("a part of the outline is left out") }
        // one page named over and over would be a long list out of a short file
        let isList = pages.places.count == pages.count
        let labels = isList ? try PDFPageLabels.read(root, pageCount: pages.count, handle) : []
        let metadata = PDFMetadata(trailer, root)
        return PDFDescription(
            metadata: metadata,
            pageCount: pages.count,
            isRightToLeft: root["/ViewerPreferences"]["/Direction"].name == "/R2L",
            outline: items,
            pageLabels: labels,
            encryption: encryption,
            warnings: warnings + handle.takeWarnings(limit: Self.warningLimit)
        )
    }

    /// Writes the document without its encryption. The bytes of pictures, fonts and pages are unchanged.
    ///
    /// - Parameter descriptor: an empty regular file, open for writing.
    /// - Throws: `pdf.damaged`, `pdf.too-large`, `pdf.unavailable`; the file may then be incomplete.
    package func writeDecrypted(to descriptor: Int32) throws(PDFError) {
        // libqpdf walks the page tree by calling itself: this shows that it is not too deep for that
        let pages = try PDFPages(handle.trailer["/Root"], handle)
        guard !pages.isIncomplete, pages.count > 0 else { throw PDFError(.damaged, "the pages of the document cannot be found") }
        try handle.writeDecrypted(to: "/proc/self/fd/\(descriptor)")
    }

    /// The possible encodings of a password: UTF-8, and PDFDocEncoding if it can represent it (ISO 32000-2 Annex D.3).
    static func encodings(of password: String) -> [[UInt8]] {
        let utf8 = Array(password.utf8)
        let high = Array("•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž".unicodeScalars)
        var bytes: [UInt8] = []
        for scalar in password.unicodeScalars {
            if scalar.isASCII || 0xa1...0xff ~= scalar.value && scalar.value != 0xad {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else if scalar == "€" {
                bytes.append(0xa0)
            } else if let index = high.firstIndex(of: scalar) {
                bytes.append(0x80 + UInt8(index))
            } else {
                return [utf8]
            }
        }
        return bytes == utf8 ? [utf8] : [utf8, bytes]
    }
}
