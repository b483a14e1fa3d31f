// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelThreads
import Glibc

/// A player of this machine that shows an address.
struct LocalPlayer: Sendable {
    private let programs: [String]

    /// - Parameter name: a program; nil for the first known program that is installed.
    init(named name: String?) {
        programs = name.map { [$0] } ?? ["mpv", "ffplay", "vlc", "chromium"]
    }

    /// Whether one of the programs is installed.
    var isInstalled: Bool {
        let folders = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        return programs.contains { program in
            if program.contains("/") { return unsafe access(program, X_OK) == 0 }
            return folders.split(separator: ":").contains { unsafe access("\($0)/\(program)", X_OK) == 0 }
        }
    }

    /// Plays until the player ends; cancelling the task ends the player.
    ///
    /// - Parameters:
    ///   - url: the address of the media.
    ///   - page: the address of a page that shows them, for browsers.
    /// - Returns: the player's exit status; 127 when there is none.
    func play(_ url: String, page: String) async -> Int32 {
        for program in programs {
            let profile = Self.isChromium(program) ? Self.newProfile() : nil
            defer { if let profile { Self.remove(profile) } }
            guard let pid = Self.start(program, url, page: page, profile) else { continue }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    startThread(name: "player") {
                        _ = clinux_wait_unreaped(pid)
                        continuation.resume(returning: clinux_reap(pid))
                    }
                }
            } onCancel: {
                kill(pid, SIGTERM)
            }
        }
        return 127
    }

    /// The name of a program without its folder.
    private static func name(_ program: String) -> String { program.split(separator: "/").last.map(String.init) ?? program }

    private static func isChromium(_ program: String) -> Bool {
        ["chromium", "chromium-browser", "google-chrome"].contains(name(program))
    }

    /// A new profile folder for a browser: otherwise a running browser would open the page, and the new process would exit.
    private static func newProfile() -> String? {
        let folder = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        let path = unsafe strdup("\(folder)/carrel-player-XXXXXX")
        defer { unsafe free(path) }
        guard let path = unsafe path, unsafe mkdtemp(path) != nil else { return nil }
        return unsafe String(cString: path)
    }

    /// Removes a folder that processes of the browser may still write to.
    private static func remove(_ folder: String) {
        for _ in 0..<100 {
            unsafe clinux_remove_tree(folder)
            guard unsafe access(folder, F_OK) == 0 else { return }
            usleep(10_000)
        }
    }

    /// Starts a player; nil if there is none of that name.
    private static func start(_ program: String, _ url: String, page: String, _ profile: String?) -> Int32? {
        var input: String?
        let arguments: [String]
        switch name(program) {
        // the address is passed on standard input, so that no command line shows it
        case "mpv": (arguments, input) = (["--playlist=-", "--really-quiet"], url + "\n")
        case "ffplay": arguments = ["-autoexit", "-loglevel", "warning", url]
        case "vlc", "cvlc": arguments = ["--play-and-exit", "--quiet", url]
        case _ where isChromium(program):
            let own = profile.map { ["--user-data-dir=\($0)", "--no-first-run", "--no-default-browser-check"] } ?? []
            arguments = own + ["--new-window", page]
        default: arguments = [url]
        }
        var ends: [Int32] = [-1, -1]
        guard unsafe clinux_pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        if let input {
            let bytes = Array(input.utf8)
            // an address fits into the pipe
            _ = unsafe bytes.withUnsafeBytes { unsafe write(ends[1], $0.baseAddress, $0.count) }
        }
        close(ends[1])
        var words: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        var pid: Int32 = 0
        return unsafe clinux_spawn(&pid, &words, environ, nil, [ends[0], STDERR_FILENO, STDERR_FILENO]) == 0 ? pid : nil
    }

    /// Whether standard input is a pipe, which ends the command when it is closed.
    static var inputIsPipe: Bool {
        var status = stat()
        return unsafe fstat(STDIN_FILENO, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    /// Returns when standard input has ended.
    static func waitForEndOfInput() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            startThread(name: "input") {
                var bytes = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
                    if count > 0 || count < 0 && errno == EINTR { continue }
                    break
                }
                continuation.resume()
            }
        }
    }
}
