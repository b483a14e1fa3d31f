public import CarrelBytes
public import CarrelCommandLine

/// Settings that cannot be used: everything that is wrong with them, in the order it was written.
public struct SettingsError: ReportableError {
    /// One thing that is wrong.
    public struct Problem: Sendable, Equatable {
        /// What kind of mistake it is.
        public let code: ErrorCode<SettingsError>
        /// Where it was written.
        public let origin: SettingOrigin
        /// A lower-case sentence without a period; never a secret.
        public let message: String
        /// What to write instead, where that is known.
        public let hint: String?
    }

    /// At least one.
    public let problems: [Problem]

    public var message: String {
        guard let first = problems.first else { return "the settings cannot be used" }
        return first.origin == .builtIn ? first.message : "\(first.origin): \(first.message)"
    }

    public var hint: String? {
        let more = problems.count > 1 ? "\(problems.count - 1) more: 'carrel config check' tells them all" : nil
        let parts = [problems.first?.hint, more].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    public var exitStatus: ExitStatus { .badSettings }
}

extension ErrorCode where Failure == SettingsError {
    /// A line of the file is not `key = value`.
    public static var syntax: Self { Self("settings.syntax") }
    /// No setting has this name.
    public static var unknown: Self { Self("settings.unknown") }
    /// A setting is written twice in the file.
    public static var repeated: Self { Self("settings.repeated") }
    /// A value is not one of its type, or not allowed.
    public static var badValue: Self { Self("settings.bad-value") }
    /// Values that are right alone are wrong together.
    public static var contradiction: Self { Self("settings.contradiction") }
    /// The file is there and cannot be read.
    public static var unreadable: Self { Self("settings.unreadable") }
}
