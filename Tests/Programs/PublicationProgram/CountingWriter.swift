// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelThreads
import Glibc

/// Uses a right again and again until it is killed: by itself, with SIGKILL.
enum CountingWriter {
    /// Each writer's; together fewer than requests are known by a store.
    private static let requests = 200

    static func run(_ arguments: [String]) async {
        let delay = UInt32(arguments[2]) ?? 0
        guard let store = try? DatabaseUserRightsStore(path: arguments[0]) else { exit(1) }
        startThread(name: "killer") {
            usleep(delay)
            kill(getpid(), SIGKILL)
        }
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask { await count(writer, arguments[1], store) }
            }
        }
        while true { sleep(1) }
    }

    private static func count(_ writer: Int, _ publication: String, _ store: DatabaseUserRightsStore) async {
        for number in 0..<requests {
            say("+ \(writer)-\(number) \(number % 7 + 1)")
            let isGranted = try? await store.use(
                number % 7 + 1,
                of: .copy,
                publication: publication,
                limit: .max,
                requestID: "\(writer)-\(number)"
            )
            if isGranted == true { say("= \(writer)-\(number) \(number % 7 + 1)") }
        }
    }

    /// Writes a line with one system call, so that it is whole or not there.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe write(1, bytes, bytes.count)
    }
}
