// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import ProtectedMedia
import Testing

/// Proxies in a process of their own, whose memory is theirs alone. A folder leads both: `sources` has a line for each session, the process
/// writes `urls` with its id in the first line, ends when `sources` goes, and leaves the errors of all sessions in `errors`.
enum ProxyProcess {
    /// A line of `sources`.
    static func line(_ source: SourceRow.Source, _ output: PlaylistProxy.Output) -> String {
        "\(output) \(source.type) \(source.address)"
    }

    /// Serves until the folder says that it is over.
    ///
    /// - Parameter folder: the folder.
    /// - Throws: what the proxies throw.
    static func serve(_ folder: String) async throws {
        // what the first sessions of a process make for all
        _ = try await serve(folder) { urls in
            for url in urls {
                let list = try await ProxyRun.addresses(try #require(try await ProxyRun.addresses(url).first))
                _ = try await ProxyRun.get(try #require(list.first))
            }
        }
        let before = try await ProcessUse.rested()
        var errors = try await serve(folder) { urls in
            write("\(folder)/urls", "\(getpid())\n" + urls.joined(separator: "\n"))
            while unsafe access("\(folder)/sources", F_OK) == 0 { try await Task.sleep(for: .milliseconds(100)) }
        }
        let after = try await ProcessUse.rested()
        // a connection, or a thread, for each session or response that was left over would be hundreds
        if after.descriptors > before.descriptors + 16 || after.threads > before.threads + 4 {
            errors.append("left over: \(before), then \(after)")
        }
        write("\(folder)/errors", errors.joined(separator: "\n"))
    }

    /// Runs something with the addresses of all sessions, and returns their errors.
    private static func serve(_ folder: String, _ body: ([String]) async throws -> Void) async throws -> [String] {
        let lines = String(decoding: Fixtures.bytes(at: "\(folder)/sources") ?? [], as: UTF8.self).split(separator: "\n")
        let keys = try Self.keys()
        let (streams, fragments) = (try ProxyRun(), try ProxyRun { $0.output = .fragments })
        var urls: [String] = []
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            let type: PlaylistProxy.SourceType = words[1] == "dash" ? .dash : words[1] == "hls" ? .hls : .singleFile
            let run = words[0] == "fragments" ? fragments : streams
            urls.append(try run.proxy.makeURL(words[2], type, keys: keys).url)
        }
        try await body(urls)
        let errors = (streams.errors.withLock { $0 } + fragments.errors.withLock { $0 }).map { "\($0)" }
        await streams.proxy.stop()
        await fragments.proxy.stop()
        return errors
    }

    /// The keys of all sources that are told here.
    private static func keys() throws -> GivenKeys {
        var keys = try `A DASH source`.source("timeline-cenc").keys
        for number in 0..<32 { ScrambledFilm.addKey(number, to: &keys) }
        return keys
    }

    private static func write(_ path: String, _ text: String) {
        guard let file = unsafe fopen(path + ".part", "we") else { return }
        unsafe fputs(text, file)
        unsafe fclose(file)
        unsafe rename(path + ".part", path)
    }
}
