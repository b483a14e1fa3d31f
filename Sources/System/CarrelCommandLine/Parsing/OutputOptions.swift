// SPDX-License-Identifier: Apache-2.0

/// The amount and format of a command's output.
package struct OutputOptions: ParameterGroup, Sendable, Equatable {
    /// Results as JSON, for machines; no progress.
    package var json = false
    /// Errors and results only.
    package var quiet = false

    package init() {}

    package static var parameters: [Parameter<OutputOptions>] {
        [
            .flag(\.json, "--json", help: "Print results as JSON."),
            .flag(\.quiet, "--quiet", "-q", help: "Print only results and errors."),
        ]
    }
}
