// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct UpstreamShow: HomeCommand {
    var options = HomeOptions()
    var reader = ""

    static let name = "show"
    static let abstract = "Export the data cached about an upstream reader, as JSON."
    static let discussion = """
        For readers without an account here; 'account export' covers those with one. The audit log records the export.
        """
    static let parameters: [Parameter<Self>] =
        [.positional(\.reader, "name", help: "The name that the reader signs in with.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let answer = try await call(.get, "/admin/v1/upstream-readers?name=\(PercentEncoding.encode(reader))")
        console.print(answer)
    }
}

struct UpstreamForget: HomeCommand {
    var options = HomeOptions()
    var reader = ""

    static let name = "forget"
    static let abstract = "Delete the data cached about an upstream reader."
    static let discussion = """
        For readers without an account here; 'account erase' covers those with one. The upstream systems are not changed: a reader \
        who signs in again is cached again.
        """
    static let parameters: [Parameter<Self>] =
        [.positional(\.reader, "name", help: "The name that the reader signs in with.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let path = "/admin/v1/upstream-readers?name=\(PercentEncoding.encode(reader))"
        let answer = try await call(.delete, path)
        if options.json { return console.print(answer) }
        console.note("deleted the data of \(answer["forgotten"]?.int ?? 0) systems")
    }
}
