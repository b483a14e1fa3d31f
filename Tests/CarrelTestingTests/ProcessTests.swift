// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

struct `Running a program` {
    @Test func `returns its status and both outputs`() async throws {
        let result = try await runProcess(["/bin/sh", "-c", "cat; echo bad >&2; exit 3"], input: Array("good".utf8))
        #expect(result.status == .exited(3))
        #expect(result.text == "good")
        #expect(result.errorText == "bad\n")
    }

    @Test func `carries megabytes in both directions concurrently`() async throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0) }
        let result = try await runProcess(["cat"], input: bytes)
        #expect(result.output == bytes)
    }

    @Test func `gives it the environment and directory it was told, and nothing else`() async throws {
        let directory = TemporaryDirectory()
        let text = try await checkProcess(
            ["/bin/sh", "-c", "echo $A; pwd; ls /proc/self/fd | wc -l"],
            environment: ["A": "b"],
            directory: directory.path
        )
        // ls itself opens the directory it lists
        #expect(text == "b\n\(directory.path)\n4\n")
    }

    @Test func `kills it and its children when its time is up`() async throws {
        let directory = TemporaryDirectory()
        await #expect(throws: ProcessError(.timeout)) {
            try await runProcess(
                ["/bin/sh", "-c", "sleep 1000 & echo $! > child; wait"],
                directory: directory.path,
                timeout: .milliseconds(300)
            )
        }
        let child = try #require(directory.read("child").flatMap { Int32(String(decoding: $0.dropLast(), as: UTF8.self)) })
        #expect(await isGone(child))
    }

    @Test func `ends immediately when the task is canceled`() async throws {
        let task = Task { try await runProcess(["sleep", "1000"]) }
        task.cancel()
        await #expect(throws: ProcessError(.cancelled)) { try await task.value }
    }

    @Test func `refuses more output than the limit`() async throws {
        await #expect(throws: ProcessError(.tooMuchOutput)) { try await runProcess(["yes"], limit: 10_000) }
    }

    @Test func `says so when there is no such program`() async throws {
        await #expect(throws: ProcessError(.notStarted)) { try await runProcess(["carrel-no-such-program"]) }
    }

    @Test func `does not wait for a grandchild that keeps the pipe open`() async throws {
        let result = try await runProcess(["/bin/sh", "-c", "setsid sleep 20 & echo done"], timeout: .seconds(10))
        #expect(result.text == "done\n")
    }
}

struct `A background process` {
    @Test func `tells its lines, and ends when asked`() async throws {
        let process = try BackgroundProcess([
            "/bin/sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready 42; while :; do sleep 0.05; done",
        ])
        #expect(try await process.waitForLine(containing: "ready") == "ready 42")
        #expect(process.status == nil)
        #expect(await process.terminate() == .exited(7))
        #expect(process.output == "ready 42\nbye\n")
    }

    @Test func `is killed when it does not end`() async throws {
        let process = try BackgroundProcess(["/bin/sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.05; done"])
        _ = try await process.waitForLine(containing: "on")
        #expect(await process.terminate(grace: .milliseconds(50)) == .signaled(SIGKILL))
    }

    @Test func `that ends early is reported with what it said`() async throws {
        let process = try BackgroundProcess(["/bin/sh", "-c", "echo cannot open shop >&2; exit 1"])
        var caught: ProcessError?
        do { _ = try await process.waitForLine(containing: "ready") } catch { caught = error }
        #expect(caught?.code == .ended)
        #expect(caught?.description.contains("cannot open shop") == true)
    }

    @Test func `goes with the last reference to it`() async throws {
        var process: BackgroundProcess? = try BackgroundProcess(["sleep", "1000"])
        let id = try #require(process?.processID)
        process = nil
        #expect(await isGone(id))
    }

    @Test func `dies with the process that started it`() async throws {
        // this very test program, run again for one test that hangs, and killed
        guard let path = unsafe getenv("CARREL_WATCHDOG_TEST") else {
            let directory = TemporaryDirectory()
            let inner = try BackgroundProcess(
                forOneTest(CommandLine.arguments) + ["--filter", "dies with the process that started it"],
                environment: ["CARREL_WATCHDOG_TEST": directory.file("id"), "PATH": "/usr/bin:/bin"]
            )
            var child: Int32?
            for _ in 0..<500 where child == nil {
                try await Task.sleep(for: .milliseconds(20))
                child = directory.read("id").flatMap { Int32(String(decoding: $0, as: UTF8.self)) }
            }
            let id = try #require(child, "\(inner.output) \(inner.errors)")
            #expect(kill(id, 0) == 0)
            await inner.kill()
            #expect(await isGone(id))
            return
        }
        let process = try BackgroundProcess(["sleep", "1000"])
        let file = unsafe fopen(path, "w")
        unsafe fputs("\(process.processID)", file)
        unsafe fclose(file)
        try await Task.sleep(for: .seconds(100))
    }
}

struct `A temporary directory` {
    @Test func `goes with all that is in it`() async throws {
        var directory: TemporaryDirectory? = TemporaryDirectory()
        let path = try #require(directory?.path)
        directory?.write("a file", "text")
        #expect(directory?.read("a file") == Array("text".utf8))
        #expect(directory?.read("another") == nil)
        try await checkProcess(["/bin/sh", "-c", "mkdir -p d/e; touch d/e/f; ln -s /etc/passwd d/link"], directory: path)
        directory = nil
        #expect(unsafe access(path, F_OK) == -1)
        #expect(unsafe access("/etc/passwd", F_OK) == 0)
    }
}

/// The arguments without those that would have a second run write its events over the first's, or run more tests than one.
private func forOneTest(_ arguments: [String]) -> [String] {
    let flags = ["--event-stream-output-path", "--filter", "--skip"]
    var kept: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
        if flags.contains(argument) {
            rest = rest.dropFirst()
        } else if !flags.contains(where: { argument.hasPrefix("\($0)=") }) {
            kept.append(argument)
        }
    }
    return kept
}

/// Whether the process goes within a few seconds; a zombie that waits for its parent counts as gone.
private func isGone(_ id: Int32) async -> Bool {
    for _ in 0..<250 {
        let state = try? await runProcess(["ps", "-o", "stat=", "-p", "\(id)"]).text
        if state?.isEmpty != false || state?.hasPrefix("Z") == true { return true }
        try? await Task.sleep(for: .milliseconds(20))
    }
    return false
}

struct `A peer` {
    @Test func `is found where the system keeps programs`() throws {
        #expect(try requirePeer("sh").hasSuffix("/sh"))
    }
}
