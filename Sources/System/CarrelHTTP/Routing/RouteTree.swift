// SPDX-License-Identifier: Apache-2.0

/// The routes as a tree over segments: a literal wins over a part with a prefix or suffix, that over a bare parameter,
/// that over a rest; the first that leads to an end is taken.
struct RouteTree: Sendable {
    private struct Node: Sendable {
        var literals: [(text: String, node: Int)] = []
        var parameters: [(prefix: String, suffix: String, node: Int)] = []
        var ends: [(method: HTTPMethod, route: Int)] = []
        var slashEnds: [(method: HTTPMethod, route: Int)] = []
        var restEnds: [(method: HTTPMethod, route: Int)] = []
    }

    private var nodes = [Node()]
    /// For every route, the names of its parameters in order.
    private var names: [[String]] = []

    mutating func add(_ method: HTTPMethod, _ pattern: RoutePattern) {
        let route = names.count
        var at = 0
        var names: [String] = []
        var endsInRest = false
        for part in pattern.parts {
            switch part {
            case .literal(let text): at = child(of: at, literal: text)
            case .parameter(let name, let prefix, let suffix):
                names.append(name)
                at = child(of: at, prefix: prefix, suffix: suffix)
            case .rest(let name):
                names.append(name)
                endsInRest = true
            }
        }
        self.names.append(names)
        func insert(_ ends: inout [(method: HTTPMethod, route: Int)]) {
            precondition(!ends.contains { $0.method == method }, "two routes for \(method) \(pattern.parts)")
            ends.append((method, route))
        }
        if endsInRest { insert(&nodes[at].restEnds) } else { insert(&nodes[at].ends) }
        if pattern.allowsTrailingSlash { insert(&nodes[at].slashEnds) }
    }

    private mutating func child(of parent: Int, literal text: String) -> Int {
        if let literal = nodes[parent].literals.first(where: { $0.text == text }) { return literal.node }
        nodes.append(Node())
        nodes[parent].literals.append((text, nodes.count - 1))
        return nodes.count - 1
    }

    private mutating func child(of parent: Int, prefix: String, suffix: String) -> Int {
        if let parameter = nodes[parent].parameters.first(where: { $0.prefix == prefix && $0.suffix == suffix }) {
            return parameter.node
        }
        nodes.append(Node())
        nodes[parent].parameters.append((prefix, suffix, nodes.count - 1))
        // The longest text around a name first: `{n}.ts` before `{n}`.
        nodes[parent].parameters.sort {
            $0.prefix.utf8.count + $0.suffix.utf8.count > $1.prefix.utf8.count + $1.suffix.utf8.count
        }
        return nodes.count - 1
    }

    /// The ends that the path leads to; nil if it leads nowhere.
    func match(_ segments: [String]) -> (ends: [(method: HTTPMethod, route: Int)], values: [String])? {
        var values: [String] = []
        guard let ends = walk(segments[...], from: 0, &values) else { return nil }
        return (ends, values)
    }

    /// Names the values of a match, for one of its routes.
    func parameters(of route: Int, _ values: [String]) -> PathParameters {
        var parameters = PathParameters()
        for (name, value) in zip(names[route], values) { parameters.append(name, value) }
        return parameters
    }

    private func walk(
        _ segments: ArraySlice<String>,
        from at: Int,
        _ values: inout [String]
    ) -> [(method: HTTPMethod, route: Int)]? {
        guard let segment = segments.first else { return nodes[at].ends.isEmpty ? nil : nodes[at].ends }
        let others = segments.dropFirst()
        let length = segment.utf8.count
        for literal in nodes[at].literals where literal.text.utf8.count == length && literal.text == segment {
            if let ends = walk(others, from: literal.node, &values) { return ends }
        }
        if segment.isEmpty, others.isEmpty, !nodes[at].slashEnds.isEmpty { return nodes[at].slashEnds }
        for parameter in nodes[at].parameters {
            guard segment.utf8.count > parameter.prefix.utf8.count + parameter.suffix.utf8.count,
                segment.hasPrefix(parameter.prefix), segment.hasSuffix(parameter.suffix)
            else { continue }
            let inner = segment.utf8.dropFirst(parameter.prefix.utf8.count).dropLast(parameter.suffix.utf8.count)
            values.append(String(Substring(inner)))
            if let ends = walk(others, from: parameter.node, &values) { return ends }
            values.removeLast()
        }
        guard !nodes[at].restEnds.isEmpty else { return nil }
        values.append(segments.joined(separator: "/"))
        return nodes[at].restEnds
    }
}
