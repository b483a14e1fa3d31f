// SPDX-License-Identifier: Apache-2.0

// Segments made just in time, from a file in the page cache, against a C loop that encrypts the same plain bytes with OpenSSL;
// and playlists against copying them. Alternates in one run; prints the median of the ratios of speed with least and greatest:
// 1.00 is the speed of C. `--json` for machines.

import CarrelAudio
import CarrelPackager

guard let mp3 = AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 1),
    let aac = AudioFormat(codec: .aac(.lc), sampleRate: 44100, channels: 2)
else { fatalError("no formats") }
let json = CommandLine.arguments.contains("--json")
var results: [Measurement] = []
// 24 MB come from memory, as when a thousand orders are listened to; 1 MB comes from the processor's cache
for (segments, from) in [(300, "memory"), (12, "cache")] {
    for (name, format) in [("MP3", mp3), ("AAC", aac)] {
        let title = Title("\(name) 64 kbit/s from \(from)", format, kilobits: 64, segments: segments)
        for form in [SegmentForm.packed, .transportStream] {
            for sideBySide in [false, true] {
                results.append(try measure(title, form, sideBySide: sideBySide))
                if !json, let last = results.last { print(last.text) }
            }
        }
    }
}
results.append(measurePlaylist())
if json {
    print("[" + results.map(\.json).joined(separator: ",") + "]")
} else if let last = results.last {
    print(last.text)
}
