// SPDX-License-Identifier: Apache-2.0

import CQPDF
import Glibc

/// An object of an open document, released with this value. Accessors return nil if the object is of another type.
@safe
struct PDFObject: ~Copyable {
    private let document: PDFHandle
    private let object: qpdf_oh

    /// Elements of an array that are looked at.
    private static let arrayLimit = 1_000_000
    /// Bytes of a text.
    private static let textLimit = 8192

    init(_ document: PDFHandle, _ object: qpdf_oh) {
        self.document = document
        self.object = object
    }

    deinit {
        unsafe qpdf_oh_release(document.data, object)
    }

    /// The name of an indirect object; nil for a direct one.
    struct Number: Hashable {
        let id: Int32
        let generation: Int32
    }

    var number: Number? {
        let id = unsafe qpdf_oh_get_object_id(document.data, object)
        return id > 0 ? Number(id: id, generation: unsafe qpdf_oh_get_generation(document.data, object)) : nil
    }

    var isDictionary: Bool { unsafe qpdf_oh_is_dictionary(document.data, object) != 0 }
    var isStream: Bool { unsafe qpdf_oh_is_stream(document.data, object) != 0 }
    var isArray: Bool { unsafe qpdf_oh_is_array(document.data, object) != 0 }
    var isString: Bool { unsafe qpdf_oh_is_string(document.data, object) != 0 }
    var isNull: Bool { unsafe qpdf_oh_is_null(document.data, object) != 0 || qpdf_oh_is_initialized(document.data, object) == 0 }

    /// The value of a key of a dictionary, such as `/Title`; null when there is none.
    subscript(key: String) -> PDFObject {
        PDFObject(document, unsafe qpdf_oh_get_key_if_dict(document.data, object, key))
    }

    /// The elements of an array; 0 for anything else.
    var count: Int {
        guard isArray else { return 0 }
        return min(Self.arrayLimit, Int(unsafe qpdf_oh_get_array_n_items(document.data, object)))
    }

    /// An element of an array, counted from 0; null when there is none.
    subscript(index: Int) -> PDFObject {
        guard 0..<count ~= index else { return PDFObject(document, unsafe qpdf_oh_new_null(document.data)) }
        return PDFObject(document, unsafe qpdf_oh_get_array_item(document.data, object, Int32(clamping: index)))
    }

    var integer: Int? {
        var value: CLongLong = 0
        let isInteger = unsafe qpdf_oh_get_value_as_longlong(document.data, object, &value) != 0
        return isInteger ? Int(value) : nil
    }

    /// A name with its slash, such as `/Page`.
    var name: String? {
        guard unsafe qpdf_oh_is_name(document.data, object) != 0, let text = unsafe qpdf_oh_get_name(document.data, object) else {
            return nil
        }
        return unsafe String(cString: text)
    }

    /// The bytes of a string.
    var bytes: [UInt8]? {
        var start: UnsafePointer<CChar>?
        var count = 0
        guard unsafe qpdf_oh_get_value_as_string(document.data, object, &start, &count) != 0 else { return nil }
        return unsafe UnsafeRawBufferPointer(start: start, count: min(count, Self.textLimit)).map(\.self)
    }

    /// The words of a text string (ISO 32000-2 §7.9.2.2); nil for an empty one too.
    var text: String? {
        var start: UnsafePointer<CChar>?
        var count = 0
        guard unsafe qpdf_oh_get_value_as_utf8(document.data, object, &start, &count) != 0 else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: min(count, Self.textLimit))
        let text = unsafe PDFText.printable(String(decoding: bytes, as: UTF8.self))
        return text.isEmpty ? nil : text
    }

    /// The dictionary of a stream.
    var dictionary: PDFObject { PDFObject(document, unsafe qpdf_oh_get_dict(document.data, object)) }

    /// The bytes of a stream as stored, decrypted.
    ///
    /// - Parameter limit: maximum size in bytes.
    /// - Returns: nil if they cannot be read, or are longer.
    func storedBytes(upTo limit: Int) -> [UInt8]? {
        guard isStream, let length = dictionary["/Length"].integer, 0...limit ~= length else { return nil }
        var start: UnsafeMutablePointer<UInt8>?
        var count = 0
        let status = unsafe qpdf_oh_get_stream_data(document.data, object, qpdf_dl_none, nil, &start, &count)
        defer { unsafe free(start) }
        guard status & QPDF_ERROR_CODE(QPDF_ERRORS) == 0, count <= limit else { return nil }
        return unsafe UnsafeRawBufferPointer(start: start, count: count).map(\.self)
    }
}

extension PDFHandle {
    /// The trailer dictionary.
    var trailer: PDFObject { unsafe PDFObject(self, qpdf_get_trailer(data)) }
}
