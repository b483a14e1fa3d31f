// SPDX-License-Identifier: Apache-2.0

/// Says which license it is, and nothing of its user.
extension LicenseDocument: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "license \(id) of \(provider)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "provider": provider]) }
}

/// Says nothing: names and addresses of users are not to be in logs.
extension LicenseUser: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a user" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
