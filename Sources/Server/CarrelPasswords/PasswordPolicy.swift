// SPDX-License-Identifier: Apache-2.0

/// The rules for new passwords (OWASP ASVS 5.0 §6.2): taken as typed, 8 to 256 characters, and not among the most common, with or
/// without digits appended.
package enum PasswordPolicy {
    /// The problem with a password, as a sentence without a period; nil if there is none.
    package static func problem(with password: String) -> String? {
        let count = password.unicodeScalars.count
        guard 8...256 ~= count else { return "a password has 8 to 256 characters; this one has \(count)" }
        if CommonPasswords.contains(password) { return "this password is among the most common ones: choose another" }
        return nil
    }
}
