// SPDX-License-Identifier: Apache-2.0

import CXML

/// Names and namespace URIs by their addresses in the parser, which stay valid during its lifetime: a document's many elements
/// have few different names, and a repeated name costs no copy.
@safe
final class XMLNames {
    private var names: [UInt: String] = [:]
    /// The last of them by a few bits of their address.
    private var recent = [(address: UInt, name: String)](repeating: (0, ""), count: 64)

    /// The maximum number of stored names; our documents have some dozens.
    private static let limit = 1000

    /// The string at an address of libxml2's dictionary; nil for no address.
    subscript(_ text: UnsafePointer<xmlChar>?) -> String? {
        guard let text = unsafe text else { return nil }
        let address = UInt(bitPattern: text)
        let slot = Int(address >> 3 & 63)
        if recent[slot].address == address { return recent[slot].name }
        let name = names[address] ?? (unsafe String(decodingCString: text, as: UTF8.self))
        if names.count < Self.limit { names[address] = name }
        recent[slot] = (address, name)
        return name
    }
}
