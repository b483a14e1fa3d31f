public import CarrelCommandLine

/// Settings that cannot be used: everything that is wrong with them, in the order it was written.
public struct SettingsError: ReportableError {
    /// One thing that is wrong.
    public struct Problem: Sendable, Equatable {
        /// What kind of mistake it is.
        public let code: Code
        /// Where it was written.
        public let origin: SettingOrigin
        /// A lower-case sentence without a period; never a secret.
        public let message: String
        /// What to write instead, where that is known.
        public let hint: String?
    }

    /// What kind of mistake it is.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The stable dotted identifier, such as `settings.unknown`.
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A line of the file is not `key = value`.
        public static let syntax = Code(rawValue: "settings.syntax")
        /// No setting has this name.
        public static let unknown = Code(rawValue: "settings.unknown")
        /// A setting is written twice in the file.
        public static let repeated = Code(rawValue: "settings.repeated")
        /// A value is not one of its type, or not allowed.
        public static let badValue = Code(rawValue: "settings.bad-value")
        /// Values that are right alone are wrong together.
        public static let contradiction = Code(rawValue: "settings.contradiction")
        /// The file is there and cannot be read.
        public static let unreadable = Code(rawValue: "settings.unreadable")
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
