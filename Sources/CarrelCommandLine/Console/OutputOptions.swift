/// How much a command says, and to whom.
public struct OutputOptions: ParameterGroup, Sendable, Equatable {
    /// Results as JSON, for machines; no progress.
    public var json = false
    /// Errors and results only.
    public var quiet = false

    public init() {}

    public static var parameters: [Parameter<OutputOptions>] {
        [
            .flag(\.json, "--json", help: "Print results as JSON."),
            .flag(\.quiet, "--quiet", "-q", help: "Print only results and errors."),
        ]
    }
}
