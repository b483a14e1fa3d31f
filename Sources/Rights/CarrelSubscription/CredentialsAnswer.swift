// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
internal import CarrelXML

/// The response to a request for an edition's credentials (Pugpig security interface, "Edition credentials").
public enum CredentialsAnswer: Sendable, Equatable {
    /// - headers: additional header fields that the download has to carry.
    case granted(userID: String, password: String, headers: [Header] = [])
    /// The status may be missing: clients must cope.
    case refused(status: String?, message: String?)

    /// A header field that the download of the edition has to carry.
    public struct Header: Sendable, Equatable {
        /// The name of the field.
        public var name: String
        /// The value of the field.
        public var value: String

        /// Creates a header field.
        ///
        /// - Parameters:
        ///   - name: the field's name.
        ///   - value: its value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The document, in UTF-8.
    public func write() -> [UInt8] {
        var writer = XMLWriter()
        writer.start("credentials")
        switch self {
        case .granted(let userID, let password, let headers):
            writer.element("userid", text: userID)
            writer.element("password", text: password)
            for header in headers { writer.element("header", ["name": header.name], text: header.value) }
        case .refused(let status, let message):
            writer.element("error", ["status": status, "message": message])
        }
        return writer.finish()
    }

    /// Reads a server's response. An `error` is recognized in the credentials or as the root; other children are ignored.
    ///
    /// - Parameter bytes: the document.
    /// - Returns: the credentials or the refusal.
    /// - Throws: when it is no XML, or another document, or neither grants nor refuses.
    public static func parse(_ bytes: [UInt8]) throws(Malformed) -> CredentialsAnswer {
        let root = try AnswerDocument(bytes).root()
        let error = root.name.local == "error" ? root : root.child("error")
        guard root.name.local == "credentials" || error == root else {
            throw Malformed("the document is not an answer to a request for credentials", at: 0)
        }
        if let error {
            let refusal = AnswerDocument.refusal(error)
            return .refused(status: refusal.status, message: refusal.message)
        }
        guard let userID = root.child("userid").map({ AnswerDocument.trimmed($0.text) }), !userID.isEmpty,
            let password = root.child("password").map({ AnswerDocument.trimmed($0.text) })
        else { throw Malformed("the answer neither grants nor refuses", at: 0) }
        let headers = root.children.filter { $0.name.local == "header" }.compactMap { header in
            header["name"].map { Header(name: $0, value: AnswerDocument.trimmed(header.text)) }
        }
        return .granted(userID: userID, password: password, headers: headers)
    }
}
