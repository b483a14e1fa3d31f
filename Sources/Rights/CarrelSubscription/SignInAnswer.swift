// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
internal import CarrelXML

/// The response to signing in and to renewing a token (Pugpig security interface, "Sign In").
public enum SignInAnswer: Sendable, Equatable {
    /// - globalAuthPassword: a second credential, for feeds.
    case token(String, globalAuthPassword: String? = nil)
    /// - status: a machine-readable reason, such as `notrecognised`.
    case refused(status: String?, message: String?)

    /// The document, in UTF-8.
    public func write() -> [UInt8] {
        var writer = XMLWriter()
        switch self {
        case .token(let token, let password):
            writer.element("token", ["global_auth_password": password], text: token)
        case .refused(let status, let message):
            writer.element("error", ["status": status, "message": message])
        }
        return writer.finish()
    }

    /// Reads a server's response, in the field's form or as `result_response` with an `authToken` in it, as one bureau writes it.
    ///
    /// Unknown elements are skipped. A status is read in any spelling (`NOT_RECOGNISED`) and may be missing.
    ///
    /// - Parameter bytes: the document.
    /// - Returns: the token or the refusal.
    /// - Throws: when it is no XML, or another document, or the token is empty.
    public static func parse(_ bytes: [UInt8]) throws(Malformed) -> SignInAnswer {
        let root = try AnswerDocument(bytes).root()
        switch root.name.local {
        case "error":
            let refusal = AnswerDocument.refusal(root)
            return .refused(status: refusal.status, message: refusal.message)
        case "token": return try token(root, root["global_auth_password"])
        case "result_response":
            if let found = root.child("authToken") { return try token(found, nil) }
            guard let refusal = root.child("error").map(AnswerDocument.refusal) else {
                throw Malformed("the answer has no token", at: 0)
            }
            return .refused(status: refusal.status, message: refusal.message)
        default: throw Malformed("the document is not an answer to signing in", at: 0)
        }
    }

    private static func token(_ element: XMLElement, _ password: String?) throws(Malformed) -> SignInAnswer {
        let text = AnswerDocument.trimmed(element.text)
        guard !text.isEmpty else { throw Malformed("the answer's token is empty", at: 0) }
        return .token(text, globalAuthPassword: password)
    }
}
