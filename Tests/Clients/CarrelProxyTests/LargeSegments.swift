// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

/// A static DASH presentation of ffmpeg with segments of several MiB.
struct LargeSegments {
    let folder: TemporaryDirectory
    let origin: MadeOrigin

    init() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        folder = TemporaryDirectory()
        try await checkProcess([
            ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=1280x720:r=10,noise=alls=80:allf=t", "-t", "9",
            "-c:v",
            "libx264", "-preset", "ultrafast", "-qp", "4", "-pix_fmt", "yuv420p", "-g", "30", "-keyint_min", "30",
            "-sc_threshold", "0",
            "-f", "dash", "-seg_duration", "3", folder.file("big.mpd"),
        ])
        origin = MadeOrigin(folder: folder.path)
    }

    static func path(_ number: Int) -> String { "chunk-stream0-0000\(number).m4s" }
    func size(_ number: Int) -> Int { folder.read(Self.path(number))?.count ?? 0 }
}
