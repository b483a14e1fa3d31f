// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelPublication
import Glibc

/// Opens a publication in a separate process, so that a test can measure its memory and survives a crash.
///
/// `FILE [--read] [--seconds N]`: with `--read` every resource is read to its end; after N seconds of processor time the system
/// ends the process. Prints one line of JSON.
/// `--count DATABASE PUBLICATION MICROSECONDS`: uses a right of a publication from four concurrent tasks, 200 times each, and
/// reports before and after each use; killed after MICROSECONDS.
@main
struct PublicationProgram {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let path = arguments.first else { exit(64) }
        if path == "--count", arguments.count == 4 { return await CountingWriter.run(Array(arguments.dropFirst())) }
        if let flag = arguments.firstIndex(of: "--seconds"), flag + 1 < arguments.endIndex,
            let seconds = UInt(arguments[flag + 1])
        {
            limitTime(seconds)
        }
        let warnings = WarningList(limit: 100)
        var answer = JSONObject()
        do throws(Publication.OpeningError) {
            let publication = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: warnings)
            answer["outcome"] = "open"
            answer["title"] = .string(publication.metadata.title.description)
            answer["isRestricted"] = .bool(publication.isRestricted)
            answer["links"] = .integer(publication.readingOrder.count + publication.manifest.resources.count)
            answer["manifestBytes"] = .integer(publication.manifest.json().count)
            if arguments.contains("--read") { answer["failures"] = .object(await failures(publication)) }
            publication.close()
        } catch {
            answer["outcome"] = .string(error.code.identifier)
            answer["message"] = .string(error.message)
        }
        answer["warnings"] = .array(warnings.warnings.map { .string($0.message) })
        // what reads a PDF document is a process of its own
        var children = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &children)
        let times = [children.ru_utime, children.ru_stime].map { $0.tv_sec * 1_000_000 + Int($0.tv_usec) }
        answer["peakKiB"] = .integer(max(peak, Int(children.ru_maxrss)))
        answer["cpuMicroseconds"] = .integer(clock() + times[0] + times[1])
        print(String(decoding: JSON.object(answer).write(), as: UTF8.self))
    }

    private static func limitTime(_ seconds: UInt) {
        // at the first the system sends SIGXCPU, at the second SIGKILL
        var limit = rlimit(rlim_cur: seconds, rlim_max: seconds + 1)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit) == 0 else { exit(1) }
    }

    /// The resources that cannot be read to their end, and why.
    private static func failures(_ publication: Publication) async -> JSONObject {
        var failures = JSONObject()
        for link in publication.readingOrder + publication.manifest.resources {
            do {
                try await publication.get(link).stream { _ in }
            } catch {
                failures[link.href] = .string((error as? ResourceError)?.code.identifier ?? "\(error)")
            }
        }
        return failures
    }

    /// The most memory that this process has had since it was started, in KiB (proc(5), `VmHWM`).
    private static var peak: Int {
        guard let status = unsafe fopen("/proc/self/status", "re") else { return -1 }
        defer { unsafe fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while unsafe fgets(&line, Int32(line.count), status) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("VmHWM:") { return Int(text.filter(\.isNumber)) ?? -1 }
        }
        return -1
    }
}
