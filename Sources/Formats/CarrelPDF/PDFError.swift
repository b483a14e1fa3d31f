// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``PDFError``.
package enum PDFErrorDomain: ErrorDomain {}

/// Why a PDF document cannot be read: a stable code, and words for a person.
package typealias PDFError = CodedFailure<PDFErrorDomain>

extension PDFError {
    static var cancelled: PDFError { PDFError(.cancelled, "reading the document was cancelled") }
}

extension ErrorCode where Failure == PDFError {
    /// It is not a PDF document by ISO 32000, and could not be repaired.
    package static var damaged: Self { Self("pdf.damaged") }
    /// It needs a password, and the given one is wrong.
    package static var password: Self { Self("pdf.password") }
    /// It is encrypted in a way that is not supported.
    package static var unsupported: Self { Self("pdf.unsupported") }
    /// It needs more work than is allowed.
    package static var tooLarge: Self { Self("pdf.too-large") }
    /// The disk or the memory failed.
    package static var unavailable: Self { Self("pdf.unavailable") }
    /// The caller cancelled.
    package static var cancelled: Self { Self("pdf.cancelled") }
}
