// SPDX-License-Identifier: Apache-2.0

/// The origin of a setting's value.
package enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    /// Nowhere: it is the default.
    case builtIn
    /// In a settings file.
    case file(path: String, line: Int)
    /// In an environment variable of this name.
    case environment(String)
    /// On the command line, as this flag.
    case flag(String)

    package var description: String {
        switch self {
        case .builtIn: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let name): name
        case .flag(let name): name
        }
    }
}
