// SPDX-License-Identifier: Apache-2.0

import CQPDF
import CarrelBytes

/// An open document of libqpdf. One thread at a time.
///
/// Only functions of the C interface that catch C++ exceptions are called.
@safe
final class PDFHandle {
    private(set) var data: qpdf_data?

    /// Work budget of a document: the number of objects visited.
    private var budget = 4_000_000

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: the path of the file, readable for as long as this lives.
    ///   - password: its bytes; empty for none.
    /// - Throws: ``PDFError``.
    init(path: String, password: [UInt8]) throws(PDFError) {
        unsafe data = qpdf_init()
        guard unsafe data != nil else { throw PDFError(.unavailable, "there is no memory to read a document") }
        unsafe qpdf_silence_errors(data)
        unsafe qpdf_set_suppress_warnings(data, QPDF_BOOL(1))
        let word = password.map { CChar(bitPattern: $0) } + [0]
        guard unsafe qpdf_read(data, path, word) & QPDF_ERROR_CODE(QPDF_ERRORS) == 0 else {
            throw failure()
        }
    }

    deinit {
        if unsafe data != nil { unsafe qpdf_cleanup(&data) }
    }

    /// The user's password as libqpdf knows it: that which was given if it is the user's.
    func userPassword() -> [UInt8] {
        guard let text = unsafe qpdf_get_user_password(data) else { return [] }
        let count = unsafe qpdf_get_last_string_length(data)
        return unsafe UnsafeRawBufferPointer(start: text, count: max(count, Self.length(text))).map(\.self)
    }

    /// Takes libqpdf's complaints so far.
    ///
    /// - Parameter limit: how many at most; the rest is dropped.
    /// - Returns: lower-case sentences.
    func takeWarnings(limit: Int) -> [String] {
        var warnings: [String] = []
        while unsafe qpdf_more_warnings(data) != 0 {
            guard let warning = unsafe qpdf_next_warning(data) else { break }
            if warnings.count < limit, let text = unsafe qpdf_get_error_message_detail(data, warning) {
                warnings.append(PDFText.printable(unsafe String(cString: text)))
            }
        }
        return warnings
    }

    /// Notes that work is done; throws when there has been too much.
    func spend(_ amount: Int = 1) throws(PDFError) {
        budget -= amount
        guard budget >= 0 else { throw PDFError(.tooLarge, "the document asks for too much work") }
    }

    /// Writes the document without encryption; the contents of its streams are unchanged.
    ///
    /// - Parameter path: an existing empty file.
    /// - Throws: ``PDFError``.
    func writeDecrypted(to path: String) throws(PDFError) {
        // libqpdf keeps the address of the name until it has written
        let status = unsafe path.withCString { name in
            let status = unsafe qpdf_init_write(data, name)
            guard status & QPDF_ERROR_CODE(QPDF_ERRORS) == 0 else { return status }
            unsafe qpdf_set_preserve_encryption(data, QPDF_BOOL(0))
            unsafe qpdf_set_stream_data_mode(data, qpdf_s_preserve)
            unsafe qpdf_set_object_stream_mode(data, qpdf_o_preserve)
            return unsafe qpdf_write(data)
        }
        if status & QPDF_ERROR_CODE(QPDF_ERRORS) != 0 { throw failure() }
    }

    /// The error of the last call.
    private func failure() -> PDFError {
        guard unsafe qpdf_has_error(data) != 0, let error = unsafe qpdf_get_error(data) else {
            return PDFError(.damaged, "the document cannot be read")
        }
        switch unsafe qpdf_get_error_code(data, error) {
        case qpdf_e_password: return PDFError(.password, "the password is wrong")
        case qpdf_e_unsupported: return PDFError(.unsupported, "the document is encrypted in a way that is not supported")
        // an exception that is not libqpdf's own: mostly that there is no more memory
        case qpdf_e_internal: return PDFError(.tooLarge, "the document asks for too much memory")
        case qpdf_e_system: return PDFError(.unavailable, "the document cannot be read from the disk, or written to it")
        default:
            let detail = unsafe qpdf_get_error_message_detail(data, error).map { unsafe PDFText.printable(String(cString: $0)) }
            return PDFError(.damaged, "the document is damaged: \(detail ?? "nobody knows how")")
        }
    }

    private static func length(_ text: UnsafePointer<CChar>) -> Int {
        var count = 0
        while unsafe text[count] != 0 { count += 1 }
        return count
    }
}
