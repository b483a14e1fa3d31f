internal import CarrelXML

/// The answer to signing in and to renewing a token (Pugpig security interface, "Sign In").
public enum SignInAnswer: Sendable, Equatable {
    /// - globalAuthPassword: a second credential, for feeds.
    case token(String, globalAuthPassword: String? = nil)
    /// - status: a machine's word, such as `notrecognised`.
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
}
