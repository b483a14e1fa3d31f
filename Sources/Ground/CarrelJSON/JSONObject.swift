// SPDX-License-Identifier: Apache-2.0

/// The members of a JSON object in the order in which they were read or added, each name once.
public struct JSONObject: Sendable {
    /// A name and its value.
    public typealias Member = (name: String, value: JSON)

    private(set) var members: [Member] = []
    /// The position of each name; kept only when there are too many to scan.
    private var indices: [ExactText: Int]?
    private static let fewMembers = 12

    /// An object without members.
    public init() {}

    /// An object with `members` in this order; a name that comes twice is a mistake in the program.
    ///
    /// - Parameter members: names and values.
    public init(_ members: some Sequence<(String, JSON)>) {
        for (name, value) in members {
            precondition(insert(name, value), "a JSON object names a member twice")
        }
    }

    /// Members.
    public var count: Int { members.count }
    /// Whether there is no member.
    public var isEmpty: Bool { members.isEmpty }

    /// The names in order.
    public var names: [String] { members.map(\.name) }

    /// The value of the member `name`. Setting nil removes the member; a new one comes last.
    ///
    /// - Parameter name: the member's name.
    public subscript(name: String) -> JSON? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?):
                members[index].value = value
            case (let index?, nil):
                members.remove(at: index)
                if indices != nil { indexNames() }
            case (nil, let value?):
                append(name, value)
            case (nil, nil):
                break
            }
        }
    }

    /// Adds a member unless one has that name; returns whether it was added.
    mutating func insert(_ name: String, _ value: JSON) -> Bool {
        guard index(of: name) == nil else { return false }
        append(name, value)
        return true
    }

    private mutating func append(_ name: String, _ value: JSON) {
        members.append((name, value))
        if indices != nil {
            indices?[ExactText(name)] = members.count - 1
        } else if members.count > Self.fewMembers {
            indexNames()
        }
    }

    private mutating func indexNames() {
        var indices = [ExactText: Int](minimumCapacity: members.count)
        for (index, member) in members.enumerated() { indices[ExactText(member.name)] = index }
        self.indices = indices
    }

    private func index(of name: String) -> Int? {
        if let indices { return indices[ExactText(name)] }
        let name = ExactText(name)
        return members.firstIndex { ExactText($0.name) == name }
    }
}

extension JSONObject: Sequence {
    /// The members in order.
    public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }

    public var underestimatedCount: Int { members.count }
}

extension JSONObject: Equatable, ExpressibleByDictionaryLiteral {
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.count == b.count && a.members.allSatisfy { b[$0.name] == $0.value }
    }

    /// An object with its members in this order; a name that comes twice is a mistake in the program.
    public init(dictionaryLiteral members: (String, JSON)...) { self.init(members) }
}
