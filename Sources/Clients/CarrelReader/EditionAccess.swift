// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelHTTP

/// The credentials for the download of one edition (Pugpig security interface, "Edition credentials"). It does not print its secrets.
public struct EditionAccess: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The product that it opens.
    public let product: String
    /// Header fields that a download must send: `Authorization` with Basic credentials, and others that the provider requires.
    public let headers: HTTPFields

    package init(product: String, headers: HTTPFields) {
        self.product = product
        self.headers = headers
    }

    init(product: String, userID: String, password: String, extra: [(name: String, value: String)]) {
        self.product = product
        var headers: HTTPFields = ["Authorization": Self.basic(userID, password)]
        // Names and values that cannot be header fields are not sent; the provider may not replace the credentials.
        for (name, value) in extra
        where Token.isValid(name) && Token.isValidFieldValue(value) && headers[name] == nil {
            headers.append(name, value)
        }
        self.headers = headers
    }

    /// Basic authentication (RFC 7617).
    static func basic(_ user: String, _ password: String) -> String {
        "Basic " + Base64.encode(Array("\(user):\(password)".utf8))
    }

    public static func == (a: EditionAccess, b: EditionAccess) -> Bool {
        a.product == b.product && a.headers.map(\.name) == b.headers.map(\.name)
            && a.headers.map(\.value) == b.headers.map(\.value)
    }

    public var description: String { "access to \(product)" }
    public var debugDescription: String { description }
}
