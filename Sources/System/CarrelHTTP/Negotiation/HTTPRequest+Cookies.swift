// SPDX-License-Identifier: Apache-2.0

extension HTTPRequest {
    /// The values of every cookie of that name, in the order sent (RFC 6265bis §5.7.3): a neighbour on the same host can plant
    /// one, so what matters must be checked for each.
    ///
    /// - Parameter name: the cookie's name.
    /// - Returns: the values.
    public func cookies(_ name: String) -> [String] {
        var out: [String] = []
        for field in headers.values("Cookie") {
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
                guard String(Substring(pair[..<equals])).trimmingASCIISpace() == name else { continue }
                var value = Substring(String(Substring(pair[pair.index(after: equals)...])).trimmingASCIISpace())
                if value.utf8.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") { value = value.dropFirst().dropLast() }
                out.append(String(value))
            }
        }
        return out
    }

    /// The value of the first cookie of that name.
    ///
    /// - Parameter name: the cookie's name.
    /// - Returns: the value, or nil.
    public func cookie(_ name: String) -> String? {
        cookies(name).first
    }
}
