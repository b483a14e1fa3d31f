// SPDX-License-Identifier: Apache-2.0

/// Describes the license without its user.
extension LicenseDocument: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "license \(id) of \(provider)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "provider": provider]) }
}

/// Describes nothing: names and addresses of users must not be logged.
extension LicenseUser: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a user" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
