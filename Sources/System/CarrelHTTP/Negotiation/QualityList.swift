// SPDX-License-Identifier: Apache-2.0

/// A list of choices with weights: `Accept`, `Accept-Encoding`, `Accept-Language` (RFC 9110 §12.4).
public struct QualityList: Sendable, Hashable {
    /// One choice.
    public struct Choice: Sendable, Hashable {
        /// In lower case, without parameters.
        public let value: String
        /// The weight in thousandths, 0 (never) to 1000.
        public let weight: Int
    }

    /// The choices in the order given.
    public let choices: [Choice]

    /// Parses a list of choices with weights.
    ///
    /// Malformed choices are skipped; more than 64 choices are not read.
    ///
    /// - Parameter field: the value of a field such as `Accept`.
    public init(parsing field: String) {
        var choices: [Choice] = []
        for part in field.split(separator: ",").prefix(64) {
            let pieces = part.split(separator: ";", omittingEmptySubsequences: false)
            let value = String(pieces[0]).trimmingASCIISpace().lowercased()
            guard !value.isEmpty else { continue }
            var weight: Int? = 1000
            for piece in pieces.dropFirst() {
                let parameter = String(piece).trimmingASCIISpace()
                guard parameter.lowercased().hasPrefix("q=") else { continue }
                weight = Self.thousandths(parameter.dropFirst(2))
            }
            if let weight { choices.append(Choice(value: value, weight: weight)) }
        }
        self.choices = choices
    }

    /// The weight of a choice, nil if it is not listed.
    ///
    /// - Parameter value: the choice.
    /// - Returns: the weight in thousandths, or nil.
    public func weight(_ value: String) -> Int? {
        choices.first { $0.value == value }?.weight
    }

    /// Whether the client of an `Accept-Encoding` field takes gzip and does not like the plain form better (RFC 9110 §12.5.3).
    ///
    /// - Parameter field: the value of `Accept-Encoding`; nil if the request has none.
    /// - Returns: true if the response may be compressed.
    public static func takesGzip(_ field: String?) -> Bool {
        guard let field else { return false }
        let list = QualityList(parsing: field)
        guard let gzip = list.weight("gzip") ?? list.weight("x-gzip") ?? list.weight("*"), gzip > 0 else { return false }
        return gzip >= list.weight("identity") ?? 0
    }

    /// Selects the offered media type that an `Accept` field prefers (RFC 9110 §12.5.1): the first of equals, the first of all
    /// without a field, nil if none is acceptable.
    ///
    /// - Parameters:
    ///   - offers: media types in lower case, our preferred one first.
    ///   - field: the field's value, nil if it is missing.
    /// - Returns: one of the offers, or nil.
    public static func best(of offers: [String], for field: String?) -> String? {
        guard let field else { return offers.first }
        let list = QualityList(parsing: field)
        var best: (offer: String, weight: Int)?
        for offer in offers {
            let family = offer.prefix { $0 != "/" } + "/*"
            let weight = list.weight(offer) ?? list.weight(String(family)) ?? list.weight("*/*") ?? 0
            if weight > best?.weight ?? 0 { best = (offer, weight) }
        }
        return best?.offer
    }

    /// `0`, `0.5`, `1.000`: at most three decimals, at most one.
    private static func thousandths(_ text: some StringProtocol) -> Int? {
        var value = 0
        var digits = 0
        for (i, c) in text.utf8.enumerated() {
            if i == 1 {
                guard c == UInt8(ascii: ".") else { return nil }
                continue
            }
            guard i < 5, c >= UInt8(ascii: "0"), c <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int(c - UInt8(ascii: "0"))
            digits += 1
        }
        guard digits > 0 else { return nil }
        for _ in digits..<4 { value *= 10 }
        return value <= 1000 ? value : nil
    }
}
