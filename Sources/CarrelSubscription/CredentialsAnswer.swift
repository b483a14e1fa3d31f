internal import CarrelXML

/// The answer to a request for an edition's credentials (Pugpig security interface, "Edition credentials").
public enum CredentialsAnswer: Sendable, Equatable {
    /// - headers: further header fields that the download has to carry.
    case granted(userID: String, password: String, headers: [Header] = [])
    /// The status may be missing: clients must cope.
    case refused(status: String?, message: String?)

    public struct Header: Sendable, Equatable {
        public var name: String
        public var value: String

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
}
