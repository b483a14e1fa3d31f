// SPDX-License-Identifier: Apache-2.0

package import CarrelTesting
import Testing

/// A film of eight seconds with a white flash and a beep together at each whole second, by which players show whether pictures and sound
/// are in step.
package enum FlashFilm: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case withoutReordering, reordered, withoutEditList, pyramid, openGroups, hevc, variableRate, cutInsideGroup

    package var testDescription: String { rawValue }

    /// Pictures that players decode.
    package var pictures: Int { self == .variableRate ? 120 : 200 }
    /// Seconds of its presentation.
    package var seconds: Double { self == .cutInsideGroup ? 6.7 : 8 }

    private var codec: [String] {
        let h264 = ["-c:v", "libx264", "-g", "50", "-sc_threshold", "0"]
        return switch self {
        case .withoutReordering: h264 + ["-bf", "0"]
        case .reordered, .cutInsideGroup: h264 + ["-bf", "2"]
        case .withoutEditList: h264 + ["-bf", "2", "-use_editlist", "0"]
        case .pyramid: h264 + ["-bf", "3", "-x264-params", "b-pyramid=normal:b-adapt=0"]
        case .openGroups: h264 + ["-bf", "3", "-x264-params", "open-gop=1:b-adapt=0"]
        case .hevc: ["-c:v", "libx265", "-x265-params", "keyint=50:bframes=3:log-level=error", "-tag:v", "hvc1"]
        case .variableRate: ["-vf", "select='not(between(mod(n,25),8,17))'", "-fps_mode", "vfr"] + h264 + ["-bf", "3"]
        }
    }

    /// Makes the film with ffmpeg.
    ///
    /// - Parameters:
    ///   - directory: gets it.
    ///   - more: further words, such as `-movflags`.
    /// - Returns: its path.
    /// - Throws: what skips the test, and what ffmpeg reports.
    package func make(in directory: TemporaryDirectory, _ more: [String] = []) async throws -> String {
        let path = directory.file("\(rawValue).mp4")
        let isCut = self == .cutInsideGroup
        let made = isCut ? directory.file("whole.mp4") : path
        let ffmpeg = [try requirePeer("ffmpeg"), "-v", "error", "-nostdin"]
        try await checkProcess(
            ffmpeg + [
                "-f", "lavfi", "-i",
                "testsrc2=s=320x180:r=25:d=8,eq=brightness=-0.5,drawbox=t=fill:color=white:enable='lt(mod(t+0.001,1),0.1)'",
                "-f", "lavfi", "-i", "aevalsrc='if(lt(mod(t,1),0.1),0.8*sin(2*PI*1000*t),0)':s=48000:d=8",
            ] + codec + ["-c:a", "aac", "-ac", "2"] + (isCut ? [] : more) + [made]
        )
        if isCut { try await checkProcess(ffmpeg + ["-ss", "1.3", "-i", made, "-c", "copy"] + more + [path]) }
        return path
    }
}

/// The times at which a player shows flashes and plays beeps.
package struct FlashTimes: Sendable, CustomStringConvertible {
    /// When the picture becomes white, in seconds.
    package var flashes: [Double] = []
    /// When a beep begins, in seconds.
    package var beeps: [Double] = []
    /// When each picture is shown; none if the player does not say.
    package var times: [Double] = []
    /// Pictures that the player decoded.
    package var pictures: Int { times.count }
    /// When the first picture is shown.
    package var start: Double { times.min() ?? 0 }
    /// Whether all of the film was looked at, and not some of its flashes.
    package var isWhole = true
    /// The words of the player, for messages.
    package var words = ""

    package init() {}

    package var description: String { "\(pictures) pictures, flashes \(flashes), beeps \(beeps) \(words)" }

    /// The milliseconds by which each beep comes after its flash. The first flash does not count, because mpv gives its first picture
    /// another time when it writes to a file; nor does the first half second, in which an edit may hide flashes.
    package var delays: [Double] {
        flashes.dropFirst(isWhole ? 1 : 0).filter { $0 > start + 0.5 }.compactMap { flash in
            beeps.min { abs($0 - flash) < abs($1 - flash) }.map { ($0 - flash) * 1000 }
        }
    }

    /// Whether each beep is within 20 ms of its flash, for this number of flashes at least.
    package func isInStep(_ count: Int) -> Bool {
        delays.count >= count && delays.allSatisfy { abs($0) <= 20 }
    }
}
