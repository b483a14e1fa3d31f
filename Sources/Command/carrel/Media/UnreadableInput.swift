// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelTranscoding

/// A file that ffmpeg does not read.
struct UnreadableInput: ReportableError {
    let path: String
    let error: TranscodingError

    var message: String {
        switch error.code {
        case .refused: "\(path) is neither MP4 nor WebVTT, and ffmpeg does not read it: \(error.message)"
        default: "\(path) needs ffmpeg to be read: \(error.message)"
        }
    }
    var hint: String? {
        switch error.code {
        case .notInstalled: "install the package ffmpeg"
        case .notConfined: "use a kernel that has Landlock (Linux 5.13 or later, not switched off) and seccomp"
        default: nil
        }
    }
    var exitStatus: ExitStatus { error.code == .refused ? .badInput : .unavailable }
}
