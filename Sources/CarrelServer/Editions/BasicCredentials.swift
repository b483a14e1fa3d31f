import CarrelBytes
import CarrelHTTP

extension HTTPRequest {
    /// The user name and password of `Authorization: Basic …` (RFC 7617 §2); nil where there are none.
    var basicCredentials: EditionCredentials.Pair? {
        guard let value = headers["Authorization"], value.utf8.count <= 4096, value.prefix(6).lowercased() == "basic " else {
            return nil
        }
        // The alphabets of base 64 differ in two characters, and this one is padded (RFC 4648 §4).
        var digits = value.dropFirst(6).utf8.map { byte -> UInt8 in
            byte == UInt8(ascii: "+") ? UInt8(ascii: "-") : byte == UInt8(ascii: "/") ? UInt8(ascii: "_") : byte
        }
        while digits.last == UInt8(ascii: " ") { digits.removeLast() }
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        guard let bytes = Base64URL.decode(String(decoding: digits, as: UTF8.self)),
            let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        return EditionCredentials.Pair(userID: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }
}
