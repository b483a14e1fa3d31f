// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCommandLine

/// Settings that cannot be used: everything that is wrong with them, in the order it was written.
package struct SettingsError: ReportableError {
    /// A single problem.
    package struct Problem: Sendable, Equatable {
        /// The kind of mistake.
        package let code: ErrorCode<SettingsError>
        /// The place of the mistake.
        package let origin: SettingOrigin
        /// A lower-case sentence without a period; never a secret.
        package let message: String
        /// The text to write instead, if known.
        package let hint: String?
    }

    /// The problems, at least one.
    package let problems: [Problem]

    package var message: String {
        guard let first = problems.first else { return "the settings cannot be used" }
        return first.origin == .builtIn ? first.message : "\(first.origin): \(first.message)"
    }

    package var hint: String? {
        let more = problems.count > 1 ? "\(problems.count - 1) more: 'carrel config check' tells them all" : nil
        let parts = [problems.first?.hint, more].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    package var exitStatus: ExitStatus { .badSettings }
}

extension ErrorCode where Failure == SettingsError {
    /// A line of the file is not `key = value`.
    package static var syntax: Self { Self("settings.syntax") }
    /// No setting has this name.
    package static var unknown: Self { Self("settings.unknown") }
    /// A setting is written twice in the file.
    package static var repeated: Self { Self("settings.repeated") }
    /// A value is not one of its type, or not allowed.
    package static var badValue: Self { Self("settings.bad-value") }
    /// Values that are right alone are wrong together.
    package static var contradiction: Self { Self("settings.contradiction") }
    /// The file is there and cannot be read.
    package static var unreadable: Self { Self("settings.unreadable") }
}
