import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct UpstreamShow: Command {
    var options = HomeOptions()
    var reader = ""

    static let name = "show"
    static let abstract = "Export the data cached about an upstream reader, as JSON."
    static let discussion = """
        They need have no account here: 'account export' has the same of those who do. That it was written is in the audit log.
        """
    static let parameters: [Parameter<Self>] =
        [.positional(\.reader, "name", help: "What they sign in with.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.get, "/admin/v1/upstream-readers?name=\(PercentEncoding.encode(reader))")
        console.print(answer)
    }
}

struct UpstreamForget: Command {
    var options = HomeOptions()
    var reader = ""

    static let name = "forget"
    static let abstract = "Forget what systems upstream said of a reader."
    static let discussion = """
        They need have no account here: 'account erase' does the same for those who do. The systems know them still: whoever signs in \
        there again is remembered again.
        """
    static let parameters: [Parameter<Self>] =
        [.positional(\.reader, "name", help: "What they sign in with.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let path = "/admin/v1/upstream-readers?name=\(PercentEncoding.encode(reader))"
        let answer = try await HomeClient(options).call(.delete, path)
        if options.json { return console.print(answer) }
        console.note("forgotten: what \(answer["forgotten"]?.int ?? 0) systems said")
    }
}
