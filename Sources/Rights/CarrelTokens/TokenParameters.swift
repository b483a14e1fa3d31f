// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
import CarrelRights

/// The parameters of a request for a token, each name once, before anything but the authenticator is read.
///
/// The authenticator comes first, so that a client without one learns nothing about the other parameters.
package struct TokenParameters: Sendable {
    /// The account of a portal and its key.
    package struct Authenticator: Sendable, Equatable {
        /// The account's id: 1 to 64 visible ASCII characters without a comma.
        package let accountID: String
        /// The text of the API key, 1 to 256 bytes.
        package let key: Secret
    }

    /// The form of an error's body.
    package enum ErrorFormat: String, Sendable, CaseIterable {
        case html, json
    }

    /// Maximum number of parameters of a request, indexed ones included.
    package static let maxCount = 256
    /// Bytes of all names and values, at most: 64 KiB.
    package static let maxByteCount = 65_536

    /// The authenticated client.
    package let authenticator: Authenticator
    /// The requested error format.
    package let errorFormat: ErrorFormat
    private let values: [String: String]

    /// - Parameter pairs: the fields of a query or a form, decoded once. Names are case-sensitive; unknown ones are ignored.
    /// - Throws: a refusal, to be sent in the format of ``errorFormat(of:)``.
    package init(_ pairs: [(name: String, value: String)]) throws(TokenRefusal) {
        guard pairs.count <= Self.maxCount,
            pairs.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count }) <= Self.maxByteCount
        else {
            throw TokenRefusal(.value, "the request has too many parameters")
        }
        var values: [String: String] = [:]
        for (name, value) in pairs where name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) {
            guard values.updateValue(value, forKey: name) == nil else {
                throw TokenRefusal(.value, "a parameter is given twice")
            }
        }
        switch values["errorFormat"] {
        case nil: errorFormat = .html
        case let name?:
            guard let format = ErrorFormat(rawValue: name) else { throw TokenRefusal(.errorFormat) }
            errorFormat = format
        }
        authenticator = try Self.authenticator(values.removeValue(forKey: "customerAuthenticator"))
        self.values = values
    }

    /// The error format of a request, determined before anything else is checked: `html`, unless `json` is requested exactly
    /// once.
    package static func errorFormat(of pairs: [(name: String, value: String)]) -> ErrorFormat {
        let formats = pairs.filter { $0.name == "errorFormat" }
        return formats.count == 1 && formats[0].value == "json" ? .json : .html
    }

    private static func authenticator(_ text: String?) throws(TokenRefusal) -> Authenticator {
        guard let text, !text.isEmpty else { throw TokenRefusal(.authenticatorMissing) }
        let parts = text.utf8.split(separator: UInt8(ascii: ","), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, 1...64 ~= parts[0].count, parts[0].allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            1...256 ~= parts[1].count
        else { throw TokenRefusal(.authenticatorWrong) }
        return Authenticator(accountID: String(decoding: parts[0], as: UTF8.self), key: Secret(Array(parts[1])))
    }

    /// The value of a parameter; nil if absent.
    ///
    /// - Throws: −2035 if it is empty.
    package func text(_ name: String) throws(TokenRefusal) -> String? {
        guard let value = values[name] else { return nil }
        guard !value.isEmpty else { throw TokenRefusal(.value, "\(name) is empty") }
        return value
    }

    /// The value of a `true` or `false` parameter; nil if absent.
    func flag(_ name: String) throws(TokenRefusal) -> Bool? {
        switch try text(name) {
        case nil: nil
        case "true": true
        case "false": false
        default: throw TokenRefusal(.value, "\(name) is not true or false")
        }
    }

    /// The indices of the parameters with one of these names and a numeric suffix: from 0, without gaps; nil if none has a
    /// suffix.
    func indices(of names: [String], limit: Int) throws(TokenRefusal) -> Range<Int>? {
        var indices: Set<Int> = []
        for key in values.keys {
            guard let mark = key.utf8.firstIndex(of: UInt8(ascii: ".")), names.contains(String(key[..<mark])) else { continue }
            let digits = String(key[mark...].dropFirst())
            guard let index = Int(digits), String(index) == digits, 0..<limit ~= index else {
                throw TokenRefusal(.value, "the number of a parameter is not 0 to \(limit - 1)")
            }
            indices.insert(index)
        }
        guard let last = indices.max() else { return nil }
        guard indices.count == last + 1 else { throw TokenRefusal(.value, "the numbers of parameters have a gap") }
        return 0..<last + 1
    }
}

extension TokenParameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of parameters: keys are among them, so it does not print them.
    package var description: String { "TokenParameters(\(values.count) of \(authenticator.accountID))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
