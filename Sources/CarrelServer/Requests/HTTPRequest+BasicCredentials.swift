import CarrelBytes
import CarrelHTTP

extension HTTPRequest {
    /// User and password of `Authorization: Basic …` (RFC 7617 §2), in UTF-8; nil when there is no such field or it is broken.
    ///
    /// The last colon divides them: account names may hold one, app passwords and edition credentials do not.
    var basicCredentials: (user: String, password: String)? {
        guard let pair = basicPair, let colon = pair.lastIndex(of: ":") else { return nil }
        return (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
    }

    /// The same, divided by the first colon, as the specification has it: for passwords that their owners chose.
    var basicCredentialsAtFirstColon: (user: String, password: String)? {
        guard let pair = basicPair, let colon = pair.firstIndex(of: ":") else { return nil }
        return (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
    }

    private var basicPair: String? {
        guard let value = headers["Authorization"], value.utf8.count > 6, value.prefix(6).lowercased() == "basic " else {
            return nil
        }
        let text = value.dropFirst(6).replacing("+", with: "-").replacing("/", with: "_")
        return Base64URL.decode(text.prefix { $0 != "=" }).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
