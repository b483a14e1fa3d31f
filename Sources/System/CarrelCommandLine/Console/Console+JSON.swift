// SPDX-License-Identifier: Apache-2.0

package import CarrelJSON

extension Console {
    /// An error for programs, on one line: `{"error":{"code":…,"hint":…,"message":…,"status":…}}`. Code and hint may be null.
    static func json(_ message: String, _ hint: String?, _ code: String?, _ status: ExitStatus) -> String {
        let error: JSON = [
            "error": [
                "message": .string(message), "hint": hint.map { .string($0) } ?? .null, "code": code.map { .string($0) } ?? .null,
                "status": .integer(Int(status.rawValue)),
            ]
        ]
        return String(decoding: error.write(), as: UTF8.self)
    }

    /// Prints a value as JSON: laid out for a person at a terminal, on one line elsewhere.
    package func print(_ value: JSON) {
        print(String(decoding: output.isInteractive ? value.writePretty() : value.write(), as: UTF8.self))
    }
}
