// SPDX-License-Identifier: Apache-2.0

/// The decoded values that the `{name}` parts of a route's pattern matched.
public struct PathParameters: Sendable {
    private var pairs: [(name: String, value: String)] = []

    init() {}

    mutating func append(_ name: String, _ value: String) {
        pairs.append((name, value))
    }

    /// The text that `{name}` matched. Traps when the pattern has no such part.
    ///
    /// - Parameter name: the part's name.
    public subscript(name: String) -> String {
        for pair in pairs where pair.name == name { return pair.value }
        preconditionFailure("the route's pattern has no {\(name)}")
    }
}
