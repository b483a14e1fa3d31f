// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelThreads
import Glibc

/// A small shell that outlives this process by a moment: when the pipe to it closes, however that came about, it kills every
/// process group that is still on its list. So a killed test run leaves no browser and no server running.
final class ProcessWatchdog: Sendable {
    static let shared = ProcessWatchdog()

    private static let script = """
        trap '' HUP INT TERM
        groups=' '
        while read -r word group; do
            case $word in
            add) groups="$groups$group " ;;
            remove) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
            esac
        done
        for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
        """

    private let pipe: Int32

    private init() {
        var ends: [Int32] = [-1, -1]
        unsafe clinux_pipe(&ends)
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        let arguments = ["/bin/sh", "-c", Self.script]
        let started = try? spawn(arguments, environment: [:], directory: "/", standard: [ends[0], null, null])
        precondition(started != nil, "the system refused a shell")
        close(ends[0])
        close(null)
        pipe = ends[1]
    }

    func add(group: Int32) { tell("add \(group)\n") }

    func remove(group: Int32) { tell("remove \(group)\n") }

    /// A line is shorter than PIPE_BUF, so that lines of several threads do not mix.
    private func tell(_ line: String) {
        let bytes = Array(line.utf8)
        unsafe bytes.withUnsafeBytes { _ = unsafe write(pipe, $0.baseAddress, $0.count) }
    }
}
