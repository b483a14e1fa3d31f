// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The address of a key in a playlist or an MPD. A `data:` address is the key itself (RFC 2397).
package enum KeyAddress {
    private static let dataScheme = "data:"

    /// The bytes of a `data:` address in base64; nil for every other address.
    static func data(_ address: String) -> [UInt8]? {
        guard address.hasPrefix(dataScheme), let comma = address.firstIndex(of: ","), address[..<comma].hasSuffix(";base64")
        else {
            return nil
        }
        return Base64.decode(String(address[address.index(after: comma)...]))
    }

    /// Whether an address is a `data:` address, or was meant to be one: spaces before it do not make its bytes public.
    private static func isData(_ address: String) -> Bool {
        let bare = address.unicodeScalars.drop { $0.value <= 0x20 || $0.properties.isWhitespace || $0 == "\u{feff}" }
        return String(bare.prefix(dataScheme.count)).lowercased() == dataScheme
    }

    /// An address as errors and listings show it: without the bytes of a `data:` address.
    package static func shown(_ address: String) -> String {
        guard isData(address) else { return address }
        return (address.firstIndex(of: ",").map { String(address[...$0]) } ?? "data:,") + "…"
    }

    /// An address as errors show it: without user information, query and fragment, which may hold secrets, and without the bytes of a
    /// `data:` address.
    package static func withoutSecrets(_ address: String) -> String {
        guard !isData(address) else { return shown(address) }
        var reference = URIReference(address)
        if let at = reference.authority?.lastIndex(of: "@"), let authority = reference.authority {
            reference.authority = authority[authority.index(after: at)...]
        }
        let isCut = reference.query != nil || reference.fragment != nil
        reference.query = nil
        reference.fragment = nil
        return reference.description + (isCut ? "?…" : "")
    }
}
