// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelCommandLine
import CarrelJSON
import CarrelHTTPServer
import CarrelPublication
import CarrelReader
import CarrelWebReader
import Glibc

struct ReadCommand: Command {
    var options = PublicationOptions()
    var port = 0
    var opensBrowser = false

    static let name = "read"
    static let abstract = "Read a publication in a web browser on this machine."
    static let discussion = """
        Prints an address and serves it until interrupted, only to the current user: keep the address secret. \
        Positions, highlights and notes are stored in carrel/reader below $XDG_DATA_HOME, or below ~/.local/share.
        """
    static let examples = [
        Example("carrel read book.epub --open", "Opens the publication in the browser.")
    ]
    static let parameters: [Parameter<Self>] =
        Parameter.group(\.options) + [
            .option(
                \.port,
                "--port",
                value: "port",
                help: "The port on 127.0.0.1; default: a free one.",
                allowed: .range(0...65_535)
            ),
            .flag(\.opensBrowser, "--open", help: "Open the address in the browser (xdg-open)."),
        ]

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let warnings = WarningList()
        let publication = try await options.open(warnings, console)
        defer { publication.close() }
        for warning in warnings.warnings { console.warning(warning.message) }
        let reader: WebReader
        let address: String
        let stop = StopSignals()
        do {
            reader = try await WebReader(publication, folder: Self.folder, port: UInt16(clamping: port))
            address = try reader.start()
        } catch let error as ReaderError {
            throw UnreadablePublication(error: error, advice: options.advice(on: publication))
        }
        if output.json { console.print(["address": .string(address)]) } else { console.print(address) }
        if opensBrowser, !Self.open(address) {
            console.warning("the browser cannot be opened", hint: "open the address yourself")
        }
        await stop.wait()
        await reader.stop()
        await options.finish()
    }

    /// The folder of positions, highlights and notes (XDG Base Directory Specification 0.8).
    private static var folder: String {
        func variable(_ name: String) -> String? {
            unsafe getenv(name).map { unsafe String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return (variable("XDG_DATA_HOME") ?? "\(variable("HOME") ?? "")/.local/share") + "/carrel/reader"
    }

    /// Starts the browser. Other users can see the address in the process list, but are refused.
    private static func open(_ address: String) -> Bool {
        let null = unsafe Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return false }
        defer { close(null) }
        var words: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("xdg-open"), strdup(address), nil]
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        var pid: Int32 = 0
        return unsafe clinux_spawn(&pid, &words, environ, nil, [null, null, null]) == 0
    }
}

/// Why the reader does not begin, as the program ends with it.
private struct UnreadablePublication: ReportableError {
    let error: ReaderError
    /// The way to open a publication that is restricted.
    let advice: String?

    var message: String { error.message }
    var hint: String? {
        error.code == .server ? HTTPServerErrorDomain.adviceOnPorts : advice
    }
    var exitStatus: ExitStatus {
        switch error.code {
        case .restricted: .noPermission
        case .store: .cannotCreate
        default: .unavailable
        }
    }
}
