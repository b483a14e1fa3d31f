// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine

/// Runs command lines of `Shelf` and records the output for a user: the line after `$`, results verbatim, notes and errors after
/// `2>`, a status other than 0 in brackets.
struct Transcript {
    var environment: [String: String] = [:]
    var columns = 80
    private(set) var text = ""

    mutating func run(_ words: String...) async {
        let (status, results, notes) = await shelf(words, environment: environment, columns: columns)
        text += "$ shelf \(words.joined(separator: " "))\n"
        text += results
        for line in notes.split(separator: "\n", omittingEmptySubsequences: true) { text += "2> \(line)\n" }
        if status != .success { text += "[\(status.rawValue)]\n" }
        text += "\n"
    }
}

func shelf(
    _ words: [String],
    environment: [String: String] = [:],
    columns: Int = 80
) async -> (status: CarrelCommandLine::ExitStatus, results: String, notes: String) {
    let results = MemorySink()
    let notes = MemorySink()
    let console = Console(
        name: "shelf",
        output: Terminal(columns: columns),
        diagnostics: Terminal(columns: columns),
        environment: environment,
        results: results,
        notes: notes
    )
    let status = await Shelf.program.run(words, on: console)
    return (status, results.text, notes.text)
}
