// SPDX-License-Identifier: Apache-2.0

// How fast an MP3 file is indexed from the page cache, compared with the floor: reading the same bytes and doing nothing. The
// index is what `carrel ingest` makes of such a file except storing its audio: frames found, tags and junk omitted, segments cut.
// The digest that identifies a file is a separate pass.
// With the path of an M4A or M4B file: how fast its frames come out as ADTS, compared with the same floor, and the peak memory.
import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelPackager
import Glibc

let frame: [UInt8] = [0xff, 0xfb, 0x50, 0xc4] + [UInt8](repeating: 0x55, count: 204)  // 64 kbit/s, 44.1 kHz, mono
let frames = 1_000_000
let chunk = 1 << 20
var path = Array("/tmp/carrel-bench-XXXXXX".utf8CString)
let file = unsafe mkstemp(&path)
unsafe unlink(path)
let segment = 500  // frames: walked in one piece, which stays in the cache
let block = Array(repeatElement(frame, count: segment).joined())
for _ in 0..<frames / segment { unsafe write(file, block, block.count) }
let size = frames * frame.count

/// Processor time of this thread, so that a busy machine counts less.
func seconds(_ body: () -> Void) -> Double {
    func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    body()
    return now() - start
}

func read(_ take: (RawSpan) -> Void) {
    var buffer = [UInt8](repeating: 0, count: chunk)
    var at = 0
    while at < size {
        let count = unsafe pread(file, &buffer, chunk, at)
        take(buffer.rawSpan.extracting(0..<count))
        at += count
    }
}

var scans: [Double] = []
var floors: [Double] = []
var walks: [Double] = []
var indexes: [Double] = []
var digests: [Double] = []
for _ in 0..<7 {
    floors.append(seconds { read { _ in } })
    scans.append(
        seconds {
            var scanner = MP3Scanner()
            read { scanner.feed($0) { _, _ in } }
            scanner.end { _, _ in }
            guard let summary = try? scanner.summary(), summary.frameCount == frames else { fatalError("frames were lost") }
        }
    )
    walks.append(seconds { walk(block) })
    indexes.append(seconds { index() })
    digests.append(
        seconds {
            var hash = SHA256.Stream()
            read { hash.update($0) }
            guard hash.finish().count == SHA256.byteCount else { fatalError("no digest") }
        }
    )
}

/// The segment index of the file, as ingest makes it.
func index() {
    guard let format = AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 1) else { fatalError("no such format") }
    var scanner = MP3Scanner()
    var builder = SegmentIndexBuilder(format: format, targetDuration: 10)
    do {
        var failure: (any Error)?
        read { window in
            do { try scanner.feed(window) { found, _ in try builder.append(found) } } catch { failure = error }
        }
        try scanner.end { found, _ in try builder.append(found) }
        if let failure { throw failure }
    } catch { fatalError("\(error)") }
    guard builder.finish(encoderDelay: 0, padding: 0).segmentCount == (frames + 382) / 383 else { fatalError("frames were lost") }
}

/// From frame to frame as a served segment is walked.
@inline(never)
func walk(_ block: [UInt8]) {
    guard let format = AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 1) else { fatalError("no such format") }
    let span = block.rawSpan
    var count = 0
    for _ in 0..<frames / segment {
        var at = 0
        while let length = format.frameLength(in: span, at: at) {
            at += length
            count += 1
        }
    }
    guard count == frames else { fatalError("frames were lost") }
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
func show(_ value: Double) -> String { "\(Double(Int(value * 1000)) / 1000)" }
func showPeak() {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    print("peak memory        \(usage.ru_maxrss / 1024) MiB")
}
let gigabytes = Double(size) / 1e9
print("read only          \(show(gigabytes / median(floors))) GB/s")
print(
    "read and scan      \(show(gigabytes / median(scans))) GB/s, \(show(median(zip(floors, scans).map { $0 / $1 }))) of read only"
)
print("walk, in memory    \(show(median(walks) * 1e9 / Double(frames))) ns a frame")

print("read and index     \(show(gigabytes / median(indexes))) GB/s")
print("digest             \(show(gigabytes / median(digests))) GB/s")
print("index and digest   \(show(gigabytes / median(zip(indexes, digests).map { $0 + $1 }))) GB/s")
showPeak()

if let path = CommandLine.arguments.dropFirst().first { try benchMP4(path) }
