import CQPDF
import Glibc

/// An object of an open document, let go with this value. What is asked of an object of another type is answered with nil.
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
        document.with { unsafe qpdf_oh_release($0, object) }
    }

    /// What names an indirect object; nil for one that stands where it is used.
    struct Number: Hashable {
        let id: Int32
        let generation: Int32
    }

    var number: Number? {
        let id = document.with { unsafe qpdf_oh_get_object_id($0, object) }
        return id > 0 ? Number(id: id, generation: document.with { unsafe qpdf_oh_get_generation($0, object) }) : nil
    }

    var isDictionary: Bool { document.with { unsafe qpdf_oh_is_dictionary($0, object) != 0 } }
    var isStream: Bool { document.with { unsafe qpdf_oh_is_stream($0, object) != 0 } }
    var isArray: Bool { document.with { unsafe qpdf_oh_is_array($0, object) != 0 } }
    var isString: Bool { document.with { unsafe qpdf_oh_is_string($0, object) != 0 } }
    var isNull: Bool { document.with { unsafe qpdf_oh_is_null($0, object) != 0 || qpdf_oh_is_initialized($0, object) == 0 } }

    /// The value of a key of a dictionary, such as `/Title`; null when there is none.
    subscript(key: String) -> PDFObject {
        PDFObject(document, document.with { unsafe qpdf_oh_get_key_if_dict($0, object, key) })
    }

    /// The elements of an array; 0 for anything else.
    var count: Int {
        guard isArray else { return 0 }
        return min(Self.arrayLimit, Int(document.with { unsafe qpdf_oh_get_array_n_items($0, object) }))
    }

    /// An element of an array, counted from 0.
    subscript(index: Int) -> PDFObject {
        PDFObject(document, document.with { unsafe qpdf_oh_get_array_item($0, object, Int32(clamping: index)) })
    }

    var integer: Int? {
        var value: CLongLong = 0
        let isInteger = document.with { unsafe qpdf_oh_get_value_as_longlong($0, object, &value) != 0 }
        return isInteger ? Int(value) : nil
    }

    /// A name with its slash, such as `/Page`.
    var name: String? {
        document.with { data in
            guard unsafe qpdf_oh_is_name(data, object) != 0, let text = unsafe qpdf_oh_get_name(data, object) else { return nil }
            return unsafe String(cString: text)
        }
    }

    /// The bytes of a string.
    var bytes: [UInt8]? {
        document.with { data in
            var (start, count): (UnsafePointer<CChar>?, Int) = unsafe (nil, 0)
            guard unsafe qpdf_oh_get_value_as_string(data, object, &start, &count) != 0 else { return nil }
            return unsafe UnsafeRawBufferPointer(start: start, count: min(count, Self.textLimit)).map(\.self)
        }
    }

    /// The words of a text string (ISO 32000-2 §7.9.2.2); nil for an empty one too.
    var text: String? {
        let text: String? = document.with { data in
            var (start, count): (UnsafePointer<CChar>?, Int) = unsafe (nil, 0)
            guard unsafe qpdf_oh_get_value_as_utf8(data, object, &start, &count) != 0 else { return nil }
            return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: min(count, Self.textLimit)), as: UTF8.self)
        }
        return text.map(PDFText.printable).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The dictionary of a stream.
    var dictionary: PDFObject { PDFObject(document, document.with { unsafe qpdf_oh_get_dict($0, object) }) }

    /// The bytes of a stream as they are stored, decrypted; nil when they cannot be had.
    ///
    /// - Parameter limit: of how many at most.
    func storedBytes(upTo limit: Int) -> [UInt8]? {
        guard isStream, let length = dictionary["/Length"].integer, 0...limit ~= length else { return nil }
        return document.with { data in
            var (start, count): (UnsafeMutablePointer<UInt8>?, Int) = unsafe (nil, 0)
            let status = unsafe qpdf_oh_get_stream_data(data, object, qpdf_dl_none, nil, &start, &count)
            defer { unsafe free(start) }
            guard status & QPDF_ERROR_CODE(QPDF_ERRORS) == 0, count <= limit else { return nil }
            return unsafe UnsafeRawBufferPointer(start: start, count: count).map(\.self)
        }
    }
}
