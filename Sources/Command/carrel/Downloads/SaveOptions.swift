// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads

extension DownloadSettings.Seal: TextValue {}
extension DownloadRequirements.Network: TextValue {}

/// Options of `carrel download add`: which tracks are saved, how, and when.
struct SaveOptions: ParameterGroup, Sendable {
    var audio: [String] = []
    var subtitles: [String] = []
    var bitrate = DownloadSelection.defaultMinimumBitrate
    var seal = DownloadSettings.Seal.keys
    var requirements = RequirementOptions()
    var limits = LimitOptions()
    var priority = 0
    var isPinned = false

    static let parameters: [Parameter<SaveOptions>] =
        [
            .option(
                \.audio,
                "--audio",
                value: "language",
                help: "A language of audio, such as de, all, or none; may be repeated; default: the source's default.",
                group: "Selection"
            ),
            .option(
                \.subtitles,
                "--subtitles",
                value: "language",
                help: "A language of subtitles, all, or none; may be repeated; default: the source's default.",
                group: "Selection"
            ),
            .option(
                \.bitrate,
                "--bitrate",
                value: "bit/s",
                help: "Save the lowest variant of at least this many bits per second.",
                group: "Selection",
                allowed: .range(0...1_000_000_000)
            ),
            .option(
                \.seal,
                "--seal",
                help:
                    "What is sealed on the disk: keys, playlists and clear parts of a protected source (keys), or everything (all).",
                group: "Selection"
            ),
        ] + Parameter.group(\.requirements) + Parameter.group(\.limits) + [
            .option(\.priority, "--priority", help: "Downloads of a higher priority start first.", group: "Queue"),
            .flag(\.isPinned, "--pin", help: "Never evict the download to make room for others.", group: "Queue"),
        ]

    /// The settings of a new download.
    ///
    /// - Throws: `UsageError` for a language with `all` or `none`.
    func settings() throws(UsageError) -> DownloadSettings {
        var settings = DownloadSettings()
        settings.selection.audio = try Self.languages(audio, "--audio")
        settings.selection.subtitles = try Self.languages(subtitles, "--subtitles")
        settings.selection.minimumBitrate = bitrate
        settings.seal = seal
        settings.requirements = requirements.requirements
        settings.limits = limits.limits
        settings.priority = priority
        settings.isPinned = isPinned
        return settings
    }

    private static func languages(_ words: [String], _ option: String) throws(UsageError) -> DownloadSelection.Languages {
        if words.isEmpty { return .defaults }
        for (word, value) in [("all", DownloadSelection.Languages.all), ("none", .none)] where words.contains(word) {
            guard words.count == 1 else {
                throw UsageError(.contradiction, "\(option) \(word) and a language exclude each other")
            }
            return value
        }
        return .chosen(words)
    }
}

/// The conditions under which a download is transferred.
struct RequirementOptions: ParameterGroup, Sendable {
    var network: DownloadRequirements.Network?
    var charging = false
    var freeSpace: ByteCount?

    static let parameters: [Parameter<RequirementOptions>] = [
        .option(
            \.network,
            "--network",
            help: "The network that it waits for; an unknown one counts as metered; default: unchecked.",
            group: "Queue"
        ),
        .flag(\.charging, "--charging", help: "Wait for external power.", group: "Queue"),
        .option(\.freeSpace, "--free-space", help: "Wait until this much is free on the disk.", group: "Queue"),
    ]

    var isEmpty: Bool { network == nil && !charging && freeSpace == nil }

    var requirements: DownloadRequirements {
        var requirements = DownloadRequirements()
        requirements.network = network ?? .unchecked
        requirements.needsCharging = charging
        requirements.freeSpace = freeSpace?.bytes ?? 0
        return requirements
    }
}

/// Limits of transfers.
struct LimitOptions: ParameterGroup, Sendable {
    var rate: ByteCount?
    var connections: Int?

    static let parameters: [Parameter<LimitOptions>] = [
        .option(
            \.rate,
            "--limit-rate",
            value: "bytes/s",
            help: "Bytes per second at most, such as 500kB.",
            group: "Queue",
            allowed: .atLeast(ByteCount(1))
        ),
        .option(\.connections, "--connections", help: "Connections at a time.", group: "Queue", allowed: .range(1...64)),
    ]

    var isEmpty: Bool { rate == nil && connections == nil }
    var limits: DownloadLimits {
        DownloadLimits(bytesPerSecond: rate.map { Int(clamping: $0.bytes) }, connections: connections)
    }
}
