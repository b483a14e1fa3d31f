// SPDX-License-Identifier: Apache-2.0

/// Parameters that several commands share, with the properties they fill.
package protocol ParameterGroup {
    init()
    static var parameters: [Parameter<Self>] { get }
}

extension Parameter {
    /// The parameters of a group that `path` holds; add them to a command's own with `+`.
    package static func group<Group: ParameterGroup>(_ path: any WritableKeyPath<Root, Group> & Sendable) -> [Parameter] {
        Group.parameters.map { $0.lifted(to: path) }
    }
}
