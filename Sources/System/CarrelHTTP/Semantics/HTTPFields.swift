// SPDX-License-Identifier: Apache-2.0

/// Header fields in the order they were given; names compare without regard to case (RFC 9110 §5).
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    /// One field line.
    public struct Field: Sendable, Hashable {
        /// The name as given.
        public let name: String
        /// The value without surrounding white space.
        public let value: String
    }

    private var fields: [Field] = []

    /// Creates an empty list of fields.
    public init() {}

    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { fields.count }
    /// The field at a position, in the order in which they are sent.
    ///
    /// - Parameter position: an index below ``endIndex``.
    public subscript(position: Int) -> Field { fields[position] }

    /// Room for `count` fields.
    ///
    /// - Parameter count: the number of fields.
    public mutating func reserveCapacity(_ count: Int) {
        fields.reserveCapacity(count)
    }

    /// Whether the fields are the same in the same order.
    public static func == (left: HTTPFields, right: HTTPFields) -> Bool {
        // most often they are one and the same
        left.fields == right.fields
            || left.elementsEqual(right) { same($0.name, $1.name) && $0.value == $1.value }
    }

    /// The value of the first field of that name. Setting replaces every field of that name by one, or by none if nil.
    ///
    /// - Parameter name: the field's name, in any case.
    public subscript(name: String) -> String? {
        get {
            for field in fields where Self.same(field.name, name) { return field.value }
            return nil
        }
        set {
            if let newValue, let first = fields.firstIndex(where: { Self.same($0.name, name) }) {
                fields[first] = Field(name: name, value: newValue)
                var i = fields.count - 1
                while i > first {
                    if Self.same(fields[i].name, name) { fields.remove(at: i) }
                    i -= 1
                }
            } else if let newValue {
                fields.append(Field(name: name, value: newValue))
            } else {
                fields.removeAll { Self.same($0.name, name) }
            }
        }
    }

    /// The values of every field of that name, in order.
    ///
    /// - Parameter name: the field's name, in any case.
    /// - Returns: the values.
    public func values(_ name: String) -> [String] {
        var out: [String] = []
        for field in fields where Self.same(field.name, name) { out.append(field.value) }
        return out
    }

    /// Every value of that name joined by commas, as RFC 9110 §5.3 allows for list fields; nil if there is none.
    ///
    /// - Parameter name: the field's name, in any case.
    /// - Returns: the joined values, or nil.
    public func list(_ name: String) -> String? {
        let all = values(name)
        return all.isEmpty ? nil : all.count == 1 ? all[0] : all.joined(separator: ", ")
    }

    /// How many fields have that name.
    ///
    /// - Parameter name: the field's name, in any case.
    /// - Returns: the number of fields.
    public func count(_ name: String) -> Int {
        var count = 0
        for field in fields where Self.same(field.name, name) { count += 1 }
        return count
    }

    /// Adds a field after the others, whether or not the name is there.
    ///
    /// - Parameters:
    ///   - name: the field's name.
    ///   - value: its value.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Sets the field unless there is one of that name.
    ///
    /// - Parameters:
    ///   - name: the field's name, in any case.
    ///   - value: its value.
    public mutating func setDefault(_ name: String, _ value: String) {
        if self[name] == nil { append(name, value) }
    }

    /// Whether two ASCII names differ at most in case.
    package static func same(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        if a == b { return true }
        var left = a.utf8.makeIterator()
        var right = b.utf8.makeIterator()
        while let x = left.next(), let y = right.next() {
            if x != y, lowered(x) != lowered(y) { return false }
        }
        return true
    }

    private static func lowered(_ c: UInt8) -> UInt8 {
        c >= UInt8(ascii: "A") && c <= UInt8(ascii: "Z") ? c | 0x20 : c
    }
}
