// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy

struct `A plan of tracks` {
    /// A track by its kind, place, group, codecs and bits a second.
    private static func track(
        _ kind: OfferedTrack.Kind,
        _ place: Int,
        group: Int,
        _ codecs: String?,
        bandwidth: Int = 100,
        language: String? = nil,
        isMain: Bool = false
    ) -> OfferedTrack {
        var track = OfferedTrack(kind: kind, place: place)
        track.ids = ["\(kind.rawValue.prefix(1))\(place)"]
        track.group = group
        track.codecs = codecs
        track.uncarried = Codecs.uncarried(codecs)
        track.bandwidth = bandwidth
        track.language = language
        track.isMain = isMain
        return track
    }

    private static func plan(_ offered: [OfferedTrack], _ change: (inout TrackWishes) -> Void = { _ in }) throws(ProxyError)
        -> TrackPlan
    {
        var wishes = TrackWishes()
        change(&wishes)
        return try TrackPlan(offered, wishes)
    }

    /// The error of a plan.
    private static func refusal(_ offered: [OfferedTrack], _ change: (inout TrackWishes) -> Void = { _ in }) -> ProxyError? {
        do throws(ProxyError) {
            _ = try plan(offered, change)
            return nil
        } catch {
            return error
        }
    }

    private static let film = [
        track(.video, 0, group: 0, "avc1.64001f", bandwidth: 100), track(.video, 1, group: 0, "avc1.640028", bandwidth: 300),
        track(.audio, 0, group: 1, "mp4a.40.2", bandwidth: 10, language: "en"),
        track(.audio, 1, group: 1, "mp4a.40.2", bandwidth: 20, language: "en"),
        track(.audio, 2, group: 2, "mp4a.40.2", bandwidth: 10, language: "de"),
    ]

    // MARK: - Codecs

    @Test func `takes other pictures in place of main ones that transport streams cannot carry`() throws {
        let offered = [
            Self.track(.video, 0, group: 0, "vp09.00.10.08", isMain: true), Self.track(.video, 1, group: 1, "avc1.64001f"),
            Self.track(.audio, 0, group: 2, "opus", isMain: true), Self.track(.audio, 1, group: 3, "mp4a.40.2"),
        ]
        let plan = try Self.plan(offered)
        #expect(plan.video.map(\.place) == [1] && plan.audio.map(\.place) == [1] && plan.output == .transportStream)
        #expect(plan.outline.variants.map(\.codecs) == ["avc1.64001f,mp4a.40.2"])
        // fragments carry all
        let fragments = try Self.plan(offered) { $0.output = .fragments }
        #expect(fragments.video.map(\.place) == [0] && fragments.audio.map(\.place) == [0, 1])
    }

    @Test func `takes other pictures in place of main ones that the player lacks`() throws {
        let offered = [
            Self.track(.video, 0, group: 0, "hvc1.1.6.L93.B0", isMain: true), Self.track(.video, 1, group: 1, "avc1.64001f"),
            Self.track(.audio, 0, group: 2, "mp4a.40.2"),
        ]
        #expect(try Self.plan(offered) { $0.videoCodecs = ["avc1"] }.video.map(\.place) == [1])
        #expect(try Self.plan(offered).video.map(\.place) == [0])
    }

    @Test(arguments: [
        ("av01.0.04M.08", "mp4a.40.2", "'v0'", "av01.0.04M.08"), ("vp09.00.10.08", "mp4a.40.2", "'v0'", "vp09"),
        ("avc1.64001f", "opus", "'a0'", "opus"), ("avc1.64001f", "fLaC", "'a0'", "fLaC"),
        ("avc1.64001f", "mp4a.40.42", "'a0'", "mp4a.40.42"),
    ])
    func `names track and codec that transport streams cannot carry, or changes to fragments where the caller allows it`(
        video: String,
        audio: String,
        track: String,
        codec: String
    ) throws {
        let offered = [Self.track(.video, 0, group: 0, video), Self.track(.audio, 0, group: 1, audio)]
        let error = try #require(Self.refusal(offered))
        #expect(error.code == .unsupported && error.message.contains(track) && error.message.contains(codec), "\(error)")
        let plan = try Self.plan(offered) { $0.allowsFragments = true }
        #expect(plan.output == .fragments && plan.isApart && plan.video.count == 1 && plan.audio.count == 1)
    }

    @Test(arguments: [
        ("mp4a.40.2", nil), ("mp4a.40.34", nil), ("mp4a.6B", nil), ("mp4a.40.32", "mp4a.40.32"), ("mp4a.40.33", "mp4a.40.33"),
    ])
    func `sends MP3 in transport streams, by either of its names`(codecs: String, uncarried: String?) {
        #expect(Codecs.uncarried("avc1.64001f, \(codecs)") == uncarried)
    }

    @Test func `names track and codec that the player lacks, whatever the form of segments`() throws {
        for (video, audio, codec) in [(["av01"], [], "avc1"), ([], ["ec-3"], "mp4a")] as [([String], [String], String)] {
            let refused = Self.refusal(Self.film) { wishes in
                (wishes.videoCodecs, wishes.audioCodecs, wishes.allowsFragments) = (video, audio, true)
            }
            let error = try #require(refused)
            #expect(error.code == .unsupported && error.message.contains("has \(codec)"), "\(error.message)")
        }
    }

    @Test func `promises the codecs of the served audio, not of another group`() throws {
        func variant(_ place: Int, _ codecs: String, _ bandwidth: Int, _ group: String) -> OfferedTrack {
            var track = Self.track(.video, place, group: 0, codecs, bandwidth: bandwidth)
            track.includesAudio = true
            track.audioGroup = group
            return track
        }
        func sound(_ place: Int, _ group: String) -> OfferedTrack {
            var track = Self.track(.audio, place, group: place, nil)
            track.audioGroup = group
            return track
        }
        let offered = [
            variant(0, "avc1.64001f,mp4a.40.2", 100, "aac"), variant(1, "avc1.640028,ec-3", 300, "ec3"), sound(0, "aac"),
            sound(1, "ec3"),
        ]
        let outline = try Self.plan(offered).outline
        #expect(outline.variants.map(\.codecs) == ["avc1.64001f,ec-3", "avc1.640028,ec-3"])
        #expect(outline.variants.allSatisfy { $0.hasAudioGroup } && outline.audio.count == 1)
        let stereo = try Self.plan(offered) { $0.audioCodecs = ["mp4a"] }.outline
        #expect(stereo.variants.map(\.codecs) == ["avc1.64001f,mp4a.40.2"])
    }

    // MARK: - Selectors and languages

    @Test func `counts the tracks of a kind before it looks at their codecs`() throws {
        var offered = Self.film
        offered[0].uncarried = "avc1.64001f"
        #expect(try Self.plan(offered) { $0.videoTrack = .index(1) }.video.map(\.place) == [1])
        #expect(Self.refusal(offered) { $0.videoTrack = .index(0) }?.code == .unsupported)
        #expect(Self.refusal(offered) { $0.videoTrack = .index(2) }?.code == .usage)
        #expect(try Self.plan(offered) { $0.audioTrack = .index(2) }.audio.map(\.place) == [2])
        #expect(try Self.plan(offered) { $0.audioTrack = .id("a0") }.audio.map(\.place) == [0])
        #expect(Self.refusal(offered) { $0.audioTrack = .id("none") }?.code == .usage)
    }

    @Test(
        arguments: [
            (nil, 1), ("de", 2), ("DE-at", 2), ("ger", 2), ("deu", 2), ("en", 1), ("en-GB", 1), ("eng", 1), ("fr", 1),
        ] as [(String?, Int)]
    )
    func `plays the language that is preferred, with the most bits a second`(language: String?, place: Int) throws {
        let plan = try Self.plan(Self.film) { $0.language = language }
        #expect(plan.audio.first?.place == place && plan.audio.count == 2)
    }

    @Test func `prefers a language before the mark of the source, and the mark before the order`() throws {
        let offered = [
            Self.track(.audio, 0, group: 0, "mp4a.40.2", language: "en"),
            Self.track(.audio, 1, group: 1, "mp4a.40.2", language: "es"),
            Self.track(.audio, 2, group: 2, "mp4a.40.2", language: "fr", isMain: true),
        ]
        #expect(try Self.plan(offered).audio.map(\.place) == [2, 0, 1])
        #expect(try Self.plan(offered) { $0.language = "spa" }.audio.map(\.place) == [1, 2, 0])
    }

    // MARK: - Names and bounds

    @Test func `tells renditions by their names`() throws {
        var offered = Self.film
        for (place, label) in [(3, "Stereo"), (4, "Stereo")] { offered[place].label = label }
        offered.append(Self.track(.text, 0, group: 9, nil, language: "en"))
        offered.append(Self.track(.text, 1, group: 10, nil, language: "en"))
        let outline = try Self.plan(offered) { $0.demuxesAudio = true }.outline
        #expect(outline.audio.map(\.label) == ["Stereo", "Stereo 2"] && outline.audio.map(\.isDefault) == [true, false])
        #expect(outline.texts.map(\.label) == ["en", "en 2"] && outline.texts.allSatisfy { !$0.isDefault })
    }

    @Test func `has audio with the pictures, or separately`() throws {
        let together = try Self.plan(Self.film)
        #expect(
            together.isMultiplexed && together.outline.audio.isEmpty
                && together.outline.languages.map(\.language) == ["en", "de"]
        )
        #expect(together.outline.variants.map(\.name) == [RenditionName(video: 0, audio: 0), RenditionName(video: 1, audio: 0)])
        #expect(together.outline.variants.map(\.bandwidth) == [120, 320])
        for plan in [
            together.apart, try Self.plan(Self.film) { $0.demuxesAudio = true },
            try Self.plan(Self.film) { $0.output = .fragments },
        ] {
            #expect(!plan.isMultiplexed && plan.outline.audio.count == 2)
            #expect(plan.outline.variants.map(\.name) == [RenditionName(video: 0), RenditionName(video: 1)])
            #expect(plan.outline.variants.allSatisfy { $0.hasAudioGroup })
        }
        let sound = try Self.plan(Array(Self.film.dropFirst(2)))
        #expect(!sound.isMultiplexed && sound.outline.variants.map(\.name) == [RenditionName(audio: 0)])
    }

    @Test func `offers 64 tracks of each kind at most`() throws {
        var offered: [OfferedTrack] = []
        for place in 0..<500 {
            offered.append(Self.track(.video, place, group: 0, "avc1.64001f"))
            offered.append(Self.track(.audio, place, group: place, "mp4a.40.2"))
            offered.append(Self.track(.text, place, group: place, nil))
            offered.append(Self.track(.pictures, place, group: place, nil))
        }
        let plan = try Self.plan(offered) { $0.hasPictureLists = true }
        #expect([plan.video.count, plan.audio.count, plan.texts.count, plan.pictures.count] == [64, 64, 64, 64])
    }

    @Test func `makes playlists of sync pictures of tracks for them, or of the video`() throws {
        var offered = Self.film
        for place in [0, 1] { offered[place].hasPictures = true }
        let own = try Self.plan(offered) { $0.hasPictureLists = true }
        #expect(own.pictures.map(\.kind) == [.video, .video])
        var fast = Self.track(.pictures, 0, group: 7, "avc1.64000C")
        fast.mains = [0]
        #expect(try Self.plan(offered + [fast]) { $0.hasPictureLists = true }.pictures.map(\.kind) == [.pictures])
        fast.mains = [5]
        #expect(try Self.plan(offered + [fast]) { $0.hasPictureLists = true }.pictures.map(\.kind) == [.video, .video])
        #expect(try Self.plan(offered + [fast]).pictures.isEmpty)
    }

    @Test func `has neither pictures nor audio of a source without them`() {
        #expect(Self.refusal([])?.code == .manifest)
        #expect(Self.refusal([Self.track(.text, 0, group: 0, nil)])?.code == .manifest)
    }
}
