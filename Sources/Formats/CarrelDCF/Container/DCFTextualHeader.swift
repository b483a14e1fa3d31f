// SPDX-License-Identifier: Apache-2.0

/// A header in words (`Name:value`, OMA DRM Content Format 2.0).
package struct DCFTextualHeader: Sendable, Hashable {
    /// The header verbatim.
    package let text: String

    /// - Parameter text: the whole header; must not hold a NUL.
    package init(_ text: String) {
        self.text = text
    }

    /// - Parameters:
    ///   - name: its name, without a colon.
    ///   - value: its value.
    package init(_ name: String, _ value: String) {
        text = "\(name):\(value)"
    }

    /// The part before the first colon; the whole header if there is none.
    package var name: Substring { text.prefix { $0 != ":" } }

    /// The part after the first colon, without surrounding spaces.
    package var value: Substring {
        var value = text.dropFirst(name.count).dropFirst()
        while value.first == " " { value.removeFirst() }
        while value.last == " " { value.removeLast() }
        return value
    }

    /// Whether it has this name, whatever its case.
    package func isNamed(_ name: String) -> Bool { self.name.lowercased() == name.lowercased() }
}

/// How rights are acquired without the user (the `Silent` and `Preview` headers, OMA DRM Content Format 2.0).
package struct DCFAcquisition: Sendable, Hashable {
    /// `on-demand` or `in-advance` of a silent header, `instant` or `preview-rights` of a preview header.
    package let method: String
    /// The URL to call; for an instant preview, the URL of its content.
    package let address: String

    /// Reads `method;address`; nil if there is no address.
    init?(_ value: Substring) {
        guard let end = value.firstIndex(of: ";") else { return nil }
        let address = value[value.index(after: end)...].drop { $0 == " " }
        guard !address.isEmpty else { return nil }
        method = value[..<end].lowercased()
        self.address = String(address)
    }
}
