// SPDX-License-Identifier: Apache-2.0

/// A command about the program it belongs to.
protocol ProgramCommand: Command {
    /// Runs the command.
    ///
    /// - Parameters:
    ///   - console: gets the results.
    ///   - program: the program's whole command tree.
    ///   - version: the version of the program.
    /// - Throws: the errors of the command.
    func run(_ console: Console, of program: CommandDescription, version: String) throws
}
