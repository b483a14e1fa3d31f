// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

/// A command that calls the service of a home.
protocol HomeCommand: Command {
    var options: HomeOptions { get set }
}

extension HomeCommand {
    static var parameters: [Parameter<Self>] { Parameter.group(\.options) }

    var output: OutputOptions { options.output }

    /// Calls the API.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - target: the path and query; with an account, the part after the account's path.
    ///   - account: the name of an account.
    ///   - body: the JSON to send.
    /// - Returns: the JSON of the response.
    /// - Throws: ``ServiceProblem`` with the problem of the service.
    func call(_ method: HTTPMethod, _ target: String, account: String? = nil, _ body: JSON? = nil) async throws -> JSON {
        let client = try await HomeClient(options)
        guard let account else { return try await client.call(method, target, body) }
        return try await client.call(method, try await client.accountPath(account) + target, body)
    }

    /// Prints a response: the JSON with `--json`, a line of text otherwise.
    func show(_ answer: JSON, as line: String, _ console: Console) {
        options.json ? console.print(answer) : console.print(line)
    }
}

/// A command on one account, whose name is the only parameter next to the options.
protocol OneAccountCommand: HomeCommand {
    var account: String { get set }
}

extension OneAccountCommand {
    static var parameters: [Parameter<Self>] {
        [.positional(\.account, "name", help: "The account's name.")] + Parameter.group(\.options)
    }
}

/// A command that prints a list of the service: the JSON of the response with `--json`, a table otherwise.
protocol ListCommand: HomeCommand {
    /// The member of the response that has the rows.
    static var rows: String { get }
    static var columns: ListColumns { get }
    /// The columns for these parameters: the ones of the type, unless a parameter changes them.
    var columns: ListColumns { get }

    /// Requests the list.
    func list() async throws -> JSON
    /// A note below the table; nil for none, as by default.
    func hint(after answer: JSON) -> String?
}

extension ListCommand {
    var columns: ListColumns { Self.columns }

    func hint(after answer: JSON) -> String? { nil }

    func run(_ console: Console) async throws {
        let answer = try await list()
        if options.json { return console.print(answer) }
        console.print(columns.table(answer[Self.rows]))
        if let hint = hint(after: answer) { console.note(hint) }
    }
}

/// The columns of a table of JSON objects: a title, and the member of the object that it shows.
struct ListColumns: ExpressibleByDictionaryLiteral, Sendable {
    /// The content of a column.
    struct Cell: ExpressibleByStringLiteral, Sendable {
        let text: @Sendable (JSON) -> String
        var isNumeric = false
        var canShrink = false

        init(stringLiteral member: String) { text = { $0[member]?.string ?? "" } }

        private init(text: @escaping @Sendable (JSON) -> String, isNumeric: Bool) {
            self.text = text
            self.isNumeric = isNumeric
        }

        /// A text that a function makes of the object.
        static func text(isNumeric: Bool = false, _ text: @escaping @Sendable (JSON) -> String) -> Cell {
            Cell(text: text, isNumeric: isNumeric)
        }

        /// A member that is cut if the terminal is too narrow.
        static func shrinking(_ member: String) -> Cell {
            var cell = Cell(stringLiteral: member)
            cell.canShrink = true
            return cell
        }

        /// Whether an account is suspended.
        static let accountState = text { $0["suspended"]?.bool == true ? "suspended" : "open" }

        /// A duration in seconds as hours, minutes and seconds: `11:02:07`.
        static func clock(_ member: String, isNumeric: Bool = false) -> Cell {
            text(isNumeric: isNumeric) { object in
                let seconds = Int(object[member]?.double ?? 0)
                let parts = [seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
                return "\(seconds / 3600):\(parts.joined(separator: ":"))"
            }
        }

        /// The texts of an array, with spaces between them.
        static func texts(_ member: String) -> Cell {
            text { ($0[member]?.array ?? []).compactMap(\.string).joined(separator: " ") }
        }
    }

    private let cells: [(title: String, cell: Cell)]

    init(dictionaryLiteral cells: (String, Cell)...) {
        self.cells = cells.map { (title: $0, cell: $1) }
    }

    /// A table with a row for each object of an array.
    func table(_ rows: JSON?) -> TextTable {
        var table = TextTable(cells.map { .init($0.title, isNumeric: $0.cell.isNumeric, canShrink: $0.cell.canShrink) })
        for row in rows?.array ?? [] { table.add(cells.map { $0.cell.text(row) }) }
        return table
    }
}
