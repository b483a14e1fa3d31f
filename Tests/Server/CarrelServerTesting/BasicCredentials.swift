// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The field of HTTP Basic (RFC 7617).
package func basic(_ name: String, _ password: String) -> String {
    let text = Base64URL.encode(Array("\(name):\(password)".utf8)).replacing("-", with: "+").replacing("_", with: "/")
    return "Basic " + text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
}

/// Base 64 as `Authorization: Basic` has it (RFC 4648 §4).
package enum Base64 {
    package static func encode(_ text: String) -> String {
        let digits = Base64URL.encode(Array(text.utf8)).replacing("-", with: "+").replacing("_", with: "/")
        return digits + String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
    }
}
