// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelThreads

/// Opens archives of audio files (ZAB) and single audio files.
struct AudiobookParser: PublicationParser {
    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        guard format.conforms(to: .informalAudiobook) || format.conforms(to: .audio) else { return nil }
        do throws(ResourceError) {
            let paths = try await fetcher.paths().filter { !ContainerTitle.isLitter($0) }
            // the format of a single file was sniffed from its bytes; its name need not show it
            let tracks =
                format.conforms(to: .audio)
                ? paths : try await NaturalSorting.sorted(paths.filter { Self.type($0)?.isAudio == true })
            guard let first = tracks.first else { throw ResourceError(.malformed, "there is no sound in the archive") }
            var metadata = Metadata(title: ContainerTitle.of(tracks, in: asset))
            metadata.conformsTo = [.audiobook]
            metadata.type = "http://schema.org/Audiobook"
            let sound = try await AudioTagsReader.describe(fetcher.get(Link(first)))
            let tags = sound.tags
            if tracks.count == 1 || tags.album != nil { Self.add(tags, isAlbum: tracks.count > 1, to: &metadata) }
            let order = tracks.map { path in
                Link(path, mediaType: format.conforms(to: .audio) ? format.mediaType : Self.type(path))
            }
            var manifest = Manifest(metadata: metadata, readingOrder: order)
            manifest.readingOrder[0].duration = sound.duration
            if tracks.count > 1 {
                manifest.readingOrder[0].title = tags.title
                try await Self.describeOthers(in: &manifest, fetcher, reads: asset.isRemote ? 24 : 2000)
            }
            let durations = manifest.readingOrder.compactMap(\.duration)
            if durations.count == tracks.count { manifest.metadata.duration = durations.reduce(0, +) }
            let read = Set(tracks)
            manifest.resources = paths.filter { !read.contains($0) }.map {
                Link($0, mediaType: Self.type($0) ?? Format.unknown.mediaType)
            }
            if let cover = manifest.resources.firstIndex(where: { $0.mediaType?.isBitmap == true }) {
                manifest.resources[cover].relations = ["cover"]
            }
            manifest.tableOfContents =
                tags.chapters.isEmpty || tracks.count > 1
                ? []
                : tags.chapters.map { chapter in
                    Link(href: "\(first.href)#t=\(Double(chapter.start) / 1000)", title: chapter.title)
                }
            return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
        } catch {
            throw Publication.OpeningError(error)
        }
    }

    /// Adds length and title of each track after the first, within the budget of reads: on a server each is a request.
    private static func describeOthers(
        in manifest: inout Manifest,
        _ fetcher: any Fetcher,
        reads: Int
    ) async throws(ResourceError) {
        let budget = ReadBudgetResource.Budget(reads)
        for index in manifest.readingOrder.indices.dropFirst() {
            do throws(ResourceError) {
                let track = ReadBudgetResource(fetcher.get(manifest.readingOrder[index]), budget)
                let sound = try await AudioTagsReader.outline(track)
                manifest.readingOrder[index].duration = sound.duration
                manifest.readingOrder[index].title = sound.tags.title
            } catch {
                if error.code == .cancelled { throw error }
                // a server that does not answer now may when the track is played
                if error.code == .unavailable || budget.withLock({ $0 < 0 }) { return }
            }
        }
    }

    private static func type(_ path: ResourcePath) -> MediaType? {
        path.fileExtension.flatMap { Format(fileExtension: $0)?.mediaType }
    }

    private static func add(_ tags: AudioTags, isAlbum: Bool, to metadata: inout Metadata) {
        if let title = isAlbum ? tags.album : tags.title ?? tags.album { metadata.title = LocalizedString(title) }
        metadata.subtitle = tags.subtitle.map { LocalizedString($0) }
        func contributors(_ names: [String]) -> [Contributor]? {
            names.isEmpty ? nil : names.map { Contributor(name: LocalizedString($0)) }
        }
        metadata.contributors[.author] = contributors(tags.authors)
        metadata.contributors[.narrator] = contributors(tags.narrators)
        metadata.contributors[.publisher] = contributors(tags.publisher.map { [$0] } ?? [])
        metadata.languages = tags.language.map { [$0] } ?? []
        metadata.published = tags.date
        metadata.description = tags.description ?? tags.comment
        if let isbn = tags.isbn { metadata.identifier = "urn:isbn:\(isbn)" }
    }
}
