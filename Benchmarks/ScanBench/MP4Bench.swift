// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import Glibc

/// A file read by position.
private struct FileReader: ByteReader {
    let descriptor: Int32
    let length: Int64

    init(_ path: String) {
        descriptor = unsafe open(path, O_RDONLY)
        length = Int64(lseek(descriptor, 0, SEEK_END))
    }

    func read(_ range: Range<Int64>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            count = unsafe pread(descriptor, buffer.baseAddress, range.count, off_t(range.lowerBound))
        }
    }
}

/// Frames an MP4 file's sound as ADTS and prints how fast that was.
func benchMP4(_ path: String) throws {
    let reader = FileReader(path)
    var floors: [Double] = []
    var streams: [Double] = []
    var opens: [Double] = []
    var bytes: Int64 = 0
    for _ in 0..<5 {
        floors.append(
            seconds {
                var at: Int64 = 0
                while at < reader.length {
                    let end = min(reader.length, at + 1 << 20)
                    guard reader.read(at..<end).count == end - at else { fatalError("short read") }
                    at = end
                }
            }
        )
        var file: MP4File?
        opens.append(seconds { file = try? MP4File(reader) })
        guard let file, let track = file.mainAudioTrack else { fatalError("not an MP4 file with sound") }
        streams.append(seconds { bytes = (try? file.stream(track) { _, _ in })?.byteCount ?? 0 })
    }
    print("MP4, read only     \(show(Double(reader.length) / 1e9 / median(floors))) GB/s")
    print("MP4, to ADTS       \(show(Double(bytes) / 1e9 / median(streams))) GB/s")
    print("MP4, opened in     \(show(median(opens) * 1000)) ms")
    showPeak()
}
