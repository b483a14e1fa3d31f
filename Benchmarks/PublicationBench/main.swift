// SPDX-License-Identifier: Apache-2.0

// Opens protected publications and reads them. The `run` script next to it makes the files, and compares with other programs.
//
//   make FOLDER           writes publications of all sizes, protected by the provider of `FOLDER/provider.der` and `.key`
//   learn FOLDER          opens one with its passphrase, so that the store knows it
//   open FILE|URL FOLDER  opens a publication once, as a reading app does that knows the passphrase, and says what it is, how much of the
//                         processor the opening took without the start of the process, and the most memory
//   first URL FOLDER      the same, and the first 64 KiB of its first resource; says how many requests each took
//   licensed FILE DCF READER  opens a clear publication, and the same in a DCF under a license of the player in a folder, in turns
//   ranges FILE FOLDER    64 KiB at random places of its first resource, and all of it in order, against a loop in C

import CPublicationLoops
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelLCP
import CarrelLicensedPublications
import CarrelPlayer
import CarrelPublication
import CarrelThreads
import CarrelVault
import Glibc
import ProtectedPublications

func bytes(of path: String) throws -> [UInt8] {
    guard let file = unsafe fopen(path, "r") else { throw Missing(path: path) }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

struct Missing: Error {
    let path: String
}

func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Measures this process's processor time, so that a busy machine does not count. Not a thread's: awaited work continues on
/// another thread, and the times of two threads are unrelated.
func spent() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Kilobytes that the process has, or had at most, in memory.
func memory(_ field: String) -> Int {
    guard let file = unsafe fopen("/proc/self/status", "r") else { return 0 }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, 256, file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.hasPrefix(field) { return Int(text.filter(\.isNumber)) ?? 0 }
    }
    return 0
}

/// Forgets how much memory the process had at most before (proc(5)).
func forgetPeak() {
    guard let file = unsafe fopen("/proc/self/clear_refs", "w") else { return }
    unsafe fputs("5", file)
    unsafe fclose(file)
}

func rounded(_ value: Double, _ places: Double = 100) -> Double { (value * places).rounded() / places }

func makeAll(_ folder: String) async throws {
    let provider = LicenseProvider(certificate: try bytes(of: "\(folder)/provider.der")) { message in
        var signature = [UInt8](repeating: 0, count: 1024)
        let count = unsafe loop_sign("\(folder)/provider.key", message, message.count, &signature, signature.count)
        precondition(count > 0, "the key cannot be read")
        return Array(signature.prefix(count))
    }
    var terms = LicenseProvider.Terms()
    // the certificate is not older than that
    terms.issued = Instant(milliseconds: Instant.now().milliseconds / 1000 * 1000).description
    let protection = ProtectedPublication.Protection.lcp(provider, terms)
    func note(_ made: ProtectedPublication) {
        guard let file = unsafe fopen("\(made.path).key", "w") else { return }
        unsafe fputs(Hex.encode(made.contentKey), file)
        unsafe fclose(file)
    }
    for count in [10, 1000, 8000, 50_000] {
        _ = try await ProtectedPublication.epub(at: "\(folder)/clear-\(count).epub", chapters: count)
        note(try await ProtectedPublication.epub(at: "\(folder)/lcp-\(count).epub", chapters: count, protection))
    }
    note(try await ProtectedPublication.pdf(at: "\(folder)/large.lcpdf", byteCount: 1 << 30, protection))
    note(
        try await ProtectedPublication.audiobook(at: "\(folder)/track.lcpa", tracks: 1, byteCount: 500_000_000, protection)
    )
}

/// A reading app: its service, with a store of its own in the folder, and its streamer, whose requests to servers are counted.
func reader(_ folder: String, _ requests: Locked<Int> = Locked(0)) throws -> Streamer {
    var configuration = LCPService.Configuration()
    let root = TrustAnchor(name: "benchmark", certificate: try Certificate(der: try bytes(of: "\(folder)/root.der")))
    configuration.profiles = ProfileRegistry([.basic(adding: [root])])
    let service = LCPService(
        store: LCPStore(path: "\(folder)/licenses.sqlite"),
        client: HTTPClient(),
        configuration: configuration
    )
    let opener = AssetOpener {
        requests.withLock { $0 += 1 }
        return HTTPFields()
    }
    return Streamer(contentProtections: [service.contentProtection()], opener: opener)
}

func opened(
    _ name: String,
    _ folder: String,
    credentials: String? = nil,
    _ requests: Locked<Int> = Locked(0)
) async throws -> Publication {
    let asset = name.hasPrefix("http") ? PublicationAsset(url: name) : PublicationAsset(path: name)
    return try await reader(folder, requests).open(asset: asset, allowUserInteraction: false, credentials: credentials)
}

func report(_ name: String, bytes: Double, rounds: Int, ours: () async throws -> Int64, floor: () -> Int64) async throws {
    var ratios: [Double] = []
    var best = (ours: Double.infinity, floor: Double.infinity)
    for _ in 0..<rounds {
        let start = spent()
        let sum = try await ours()
        let middle = spent()
        let expected = floor()
        let end = spent()
        precondition(sum == expected, "other bytes than C's")
        ratios.append((end - middle) / (middle - start))
        best = (min(best.ours, middle - start), min(best.floor, end - middle))
    }
    ratios.sort()
    print(
        "\(name): \(rounded(ratios[rounds / 2])) of C [\(rounded(ratios[0])), \(rounded(ratios[rounds - 1]))];",
        "at best \(rounded(bytes / best.ours / 1e9)) GB/s, C \(rounded(bytes / best.floor / 1e9)) GB/s"
    )
}

func ranges(_ path: String, _ folder: String) async throws {
    let publication = try await opened(path, folder)
    let link = publication.readingOrder[0]
    let resource = publication.get(link)
    let length = try await resource.length()
    let file = unsafe open(path, O_RDONLY)
    // the first entry of the package: after its local header and its name
    let start = Int64(30 + "publication.pdf".utf8.count)
    let size = 64 << 10
    var random = SystemRandomNumberGenerator()
    let places = (0..<4000).map { _ in Int64.random(in: 0..<length / Int64(size) - 1, using: &random) * Int64(size) + 16 * 77 }
    let bytes = Hex.decode(String(decoding: try bytes(of: "\(path).key"), as: UTF8.self)) ?? []
    var scratch = [UInt8](repeating: 0, count: size + 16)
    var out = [UInt8](repeating: 0, count: size)
    var buffer: [UInt8] = []
    // what is read lies in the page cache, on both sides
    func warm(_ offsets: [Int64]) -> Int64 {
        unsafe loop_decrypt_ranges(file, start, offsets, offsets.count, size, bytes, &scratch, &out)
    }
    _ = warm(places)
    buffer.reserveCapacity(size)
    forgetPeak()
    let before = memory("VmRSS")
    try await report("random 64 KiB of a 1 GB PDF", bytes: Double(places.count * size), rounds: 11) {
        var sum: Int64 = 0
        for place in places {
            buffer.removeAll(keepingCapacity: true)
            try await resource.read(place..<place + Int64(size), into: &buffer)
            sum += Int64(buffer[0])
        }
        return sum
    } floor: {
        warm(places)
    }
    print("memory of the reading: \(max(0, memory("VmHWM") - before)) KiB")
    let order = stride(from: 0, to: Int64(256 << 20), by: size).map { Int64($0) }
    _ = warm(order)
    try await report("256 MiB of it in order", bytes: Double(order.count * size), rounds: 7) {
        var sum: Int64 = 0
        for place in order {
            buffer.removeAll(keepingCapacity: true)
            try await resource.read(place..<place + Int64(size), into: &buffer)
            sum += Int64(buffer[0])
        }
        return sum
    } floor: {
        warm(order)
    }
}

/// The processor time of opening a clear publication, and the same in a DCF; the vault is open, and the files are in the page cache.
func compareLicensed(_ clear: String, _ protected: String, _ reader: String) async throws {
    let passphrase = unsafe getenv("CARREL_VAULT_PASSPHRASE").map { unsafe String(cString: $0) } ?? ""
    let vault = try await Vault.file(folder: "\(reader)/vault", passphrase: passphrase)
    let engine = try PlayerEngine(folder: reader, vault: vault, app: .init(name: "PublicationBench", build: "1"))
    let streamers = [Streamer(), Streamer(contentProtections: [LicensedContentProtection(engine)])]
    func open(_ index: Int) async throws -> (seconds: Double, chapters: Int) {
        let asset = PublicationAsset(path: index == 0 ? clear : protected)
        let start = spent()
        let publication = try await streamers[index].open(asset: asset, allowUserInteraction: false)
        let seconds = spent() - start
        precondition(!publication.isRestricted, publication.protectionErrorMessage ?? "restricted")
        let chapters = publication.readingOrder.count
        publication.close()
        return (seconds, chapters)
    }
    var times: [[Double]] = [[], []]
    for round in 0..<24 {
        let both = [try await open(0), try await open(1)]
        precondition(both[0].chapters == both[1].chapters, "another publication")
        // the first ones load what is loaded once
        if round > 2 { for index in 0...1 { times[index].append(both[index].seconds) } }
    }
    let ratios = zip(times[0], times[1]).map { $1 / $0 }.sorted()
    let middle = ratios.count / 2
    func middleTime(_ index: Int) -> Double { rounded(times[index].sorted()[middle] * 1000) }
    print(
        "in a DCF, vault open: \(rounded(ratios[middle])) of the clear EPUB [\(rounded(ratios[0])), \(rounded(ratios[ratios.count - 1]))];",
        "\(middleTime(1)) ms, clear \(middleTime(0)) ms of processor time"
    )
    await engine.shutdown()
}

let start = now()
let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first ?? "", Array(arguments.dropFirst())) {
case ("make", let rest) where rest.count == 1: try await makeAll(rest[0])
case ("learn", let rest) where rest.count == 1:
    let book = try await opened("\(rest[0])/lcp-10.epub", rest[0], credentials: LicenseProvider.Terms().passphrase)
    precondition(!book.isRestricted, book.protectionErrorMessage ?? "")
case ("open", let rest) where rest.count == 2:
    // an incomplete opening is not measured
    forgetPeak()
    let before = spent()
    let publication = try await opened(rest[0], rest[1])
    let took = rounded((spent() - before) * 1000)
    if publication.isRestricted { exit(1) }
    print("of them \(took) ms to open it, \(memory("VmHWM")) KiB, \(publication.readingOrder.count) chapters")
    exit(0)
case ("attempt", let rest) where rest.count == 2:
    forgetPeak()
    do {
        let publication = try await opened(rest[0], rest[1])
        let state = publication.isRestricted ? ", restricted" : ""
        print("\(memory("VmHWM")) KiB, \(publication.readingOrder.count) chapters\(state)")
    } catch let error as Publication.OpeningError {
        print("\(memory("VmHWM")) KiB, \(error.code)")
    }
    // a reader keeps using the publication; releasing it is not part of opening it
    exit(0)
case ("first", let rest) where rest.count == 2:
    let requests = Locked(0)
    let publication = try await opened(rest[0], rest[1], requests)
    let toOpen = requests.withLock { $0 }
    let bytes = try await publication.get(publication.readingOrder[0]).read(0..<65_536)
    precondition(bytes == ProtectedPublication.content(0..<65_536))
    let toRead = requests.withLock { $0 } - toOpen
    print(
        "\(toOpen) requests to open, \(toRead) to the first byte; \(rounded((now() - start) * 1000)) ms \(memory("VmHWM")) KiB"
    )
case ("licensed", let rest) where rest.count == 3: try await compareLicensed(rest[0], rest[1], rest[2])
case ("ranges", let rest) where rest.count == 2: try await ranges(rest[0], rest[1])
default:
    print(
        "usage: PublicationBench make FOLDER | learn FOLDER | open FILE FOLDER | attempt FILE FOLDER | first URL FOLDER | licensed FILE DCF READER | ranges FILE FOLDER"
    )
}
