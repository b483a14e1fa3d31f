// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDownloads
import CarrelPlayer
import CarrelReader
import CarrelThreads
import CarrelVault
import Glibc

// The queue of downloads in a process of its own, for Benchmarks/OfflineBench/run:
//
//   OfflineBench save FOLDER URL          saves a stream: `save SECONDS PROCESSOR-SECONDS PEAK-KIB STATE`
//   OfflineBench queue FOLDER URL COUNT   queues a stream under COUNT addresses, then saves one: `queue SECONDS PEAK-KIB STATE`
//   OfflineBench part FOLDER URL BYTES    saves BYTES of a stream, and stops
//   OfflineBench resume FOLDER URL        continues an item, the vault open: `resume SECONDS-TO-THE-FIRST-REQUEST STATE`
// - the vault is created before the time starts.

let words = CommandLine.arguments
guard words.count > 3 else { exit(64) }
let (reader, url) = (words[2], words[3])
unsafe mkdir(reader, 0o700)
let folder = "\(reader)/vault"
let vault: Vault
do throws(VaultError) { vault = try await Vault.file(folder: folder, passphrase: "correct horse", create: true) } catch {
    vault = try await Vault.file(folder: folder, passphrase: "correct horse")
}
let engine = try PlayerEngine(folder: reader, vault: vault, app: .init(name: "bench", build: "1"))
let firstRequest = Locked<ContinuousClock.Instant?>(nil)
var options = Downloads.Options()
options.trace = { trace in
    if trace.message == "transfers begun" { firstRequest.withLock { $0 = $0 ?? .now } }
}
let downloads = try Downloads(folder: reader, options: options) { engine }

func seconds(_ duration: Duration) -> String { String(Int((duration / .milliseconds(1)).rounded())) + "e-3" }

func usage() -> rusage {
    var usage = rusage()
    _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage
}

func processorTime() -> Duration {
    let usage = usage()
    return .seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + .microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
}

/// Most memory since the vault opened, whose passphrase alone takes 128 MiB, in KiB.
func peakMemory() -> Int {
    guard let file = unsafe fopen("/proc/self/status", "re") else { return 0 }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, 256, file) != nil {
        let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split {
            $0 == " " || $0 == "\t"
        }
        if words.first == "VmHWM:", words.count > 1 { return Int(words[1]) ?? 0 }
    }
    return 0
}

if let file = unsafe fopen("/proc/self/clear_refs", "we") {
    // proc_pid_clear_refs(5): 5 resets the peak
    unsafe fputs("5", file)
    unsafe fclose(file)
}

switch words[1] {
case "save":
    let (start, processor) = (ContinuousClock.now, processorTime())
    let (item, _) = try await downloads.add(DownloadSource(url))
    try await downloads.run(until: item.id)
    let state = try await downloads.item(item.id)
    print(
        "save \(seconds(start.duration(to: .now))) \(seconds(processorTime() - processor)) \(peakMemory()) "
            + state.state.rawValue
    )
    if let message = state.message { print(message) }
case "queue":
    let start = ContinuousClock.now
    var last: DownloadItem?
    for number in 0..<(Int(words.last ?? "") ?? 200) { last = try await downloads.add(DownloadSource("\(url)?\(number)")).item }
    guard let last else { exit(64) }
    try await downloads.setPriority(1, of: last.id)
    try await downloads.run(until: last.id)
    print("queue \(seconds(start.duration(to: .now))) \(peakMemory()) \(try await downloads.item(last.id).state.rawValue)")
case "part":
    let (item, _) = try await downloads.add(DownloadSource(url))
    let run = Task { try await downloads.run(until: item.id) }
    while try await downloads.item(item.id).done < Int64(words.last ?? "") ?? 0 { try await Task.sleep(for: .milliseconds(10)) }
    run.cancel()
    _ = await run.result
case "resume":
    // opens the vault, and finds the item
    let (item, _) = try await downloads.add(DownloadSource(url))
    let start = ContinuousClock.now
    try await downloads.run(until: item.id)
    guard let first = firstRequest.withLock({ $0 }) else { exit(1) }
    print("resume \(seconds(start.duration(to: first))) \(try await downloads.item(item.id).state.rawValue)")
default: exit(64)
}
await downloads.close()
