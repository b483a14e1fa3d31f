// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

/// The frames that a player decodes, as digests.
struct Frames {
    var pictures: [String]
    var audio: [String]
    /// The player's standard error.
    var complaints: String

    /// The frames that ffmpeg decodes of a file or an address.
    static func ffmpeg(_ source: String) async throws -> Frames {
        let ffmpeg = try requirePeer("ffmpeg")
        var frames = Frames(pictures: [], audio: [], complaints: "")
        for (kind, map) in [("v", "0:v:0"), ("a", "0:a:0")] {
            let arguments = [ffmpeg, "-v", "warning", "-nostdin", "-i", source, "-map", map, "-f", "framemd5", "-"]
            let result = try await runProcess(arguments, timeout: .seconds(120))
            let hashes = result.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                .compactMap { $0.split(separator: ",").last.map { String($0.drop { $0 == " " }) } }
            if kind == "v" { frames.pictures = hashes } else { frames.audio = hashes }
            frames.complaints += result.errorText
        }
        return frames
    }
}
