// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelSavedMedia
import CarrelTesting
import Glibc
import Testing

struct `A saved source with faults` {
    /// A saved source of encrypted fragments, whose origin has stopped.
    private static func save(
        _ mode: SealMode = .keys,
        isCompleted: Bool = true,
        isFetched: (SavedPieceName) -> Bool = { _ in true }
    ) async throws -> (saved: SavedTitle, keys: GivenKeys) {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        let origin = try OriginServer(package.path)
        let saved = try await SavedTitle(
            "\(origin.origin)/master.m3u8",
            .hls,
            mode,
            isCompleted: isCompleted,
            isFetched: isFetched
        )
        await origin.stop()
        return (saved, package.keys)
    }

    /// The status of the second segment, and the error that the listener hears.
    private static func second(_ saved: SavedMedia, _ keys: GivenKeys) async throws -> (status: Int, error: ProxyError?) {
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(saved, keys: keys)
        let segments = try await ProxyRun.segments(of: session)
        #expect(try await ProxyRun.get(segments[0]).status == 200)
        let got = try await ProxyRun.get(segments[1])
        let error = run.proxy.takeLastError()
        await run.proxy.stop()
        return (got.status, error)
    }

    @Test(arguments: [SealMode.keys, .all]) func `names the file that is damaged, and the file that is absent`(mode: SealMode)
        async throws
    {
        let (saved, keys) = try await Self.save(mode)
        let path = "\(SavedTitle.id)/0-1/00001.frag"
        var stored = try #require(saved.directory.read(path))
        stored[stored.count / 2] ^= 1
        _ = saved.directory.write(path, stored)
        let damaged = try await Self.second(try saved.open(), keys)
        #expect(damaged.status == 502 && damaged.error?.code == .savedDamaged)
        #expect(damaged.error?.message.contains("0-1/00001.frag") == true, "\(String(describing: damaged.error))")
        unsafe unlink(saved.directory.file(path))
        let missing = try await Self.second(try saved.open(), keys)
        #expect(missing.status == 404 && missing.error?.code == .savedMissing)
        #expect(missing.error?.message.contains("0-1/00001.frag") == true)
        #expect(missing.error?.message.contains("?") == false)
    }

    @Test func `without its package key, or with another, is not opened`() async throws {
        let (saved, _) = try await Self.save()
        for (key, code) in [(nil, ProxyError.Code.savedSealed), (Secret.random(count: 32), .savedDamaged)] {
            var caught: SavedMediaError?
            do { _ = try SavedPackage.open(folder: saved.folder, key: key) } catch { caught = error }
            #expect(ProxyError(try #require(caught), in: "film").code == code)
        }
    }

    @Test func `that is still downloading plays what is saved so far`() async throws {
        let (saved, keys) = try await Self.save(isCompleted: false) { $0.number != 1 }
        let media = try saved.open()
        #expect(!media.isComplete)
        let (status, error) = try await Self.second(media, keys)
        #expect(status == 404 && error?.code == .savedMissing)
        #expect(error?.message.contains("0-1/00001.frag is not saved yet") == true, "\(String(describing: error))")
    }

    @Test func `offers only what was saved`() async throws {
        let text = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nOne\n"
        let package = try await ProtectedPackage(texts: [try PackagingText(name: "text", Array(text.utf8), language: "de")]) {
            $0.scheme = .cbcs
        }
        let saved = try await SavedTitle(package.playlist, .hls)
        let run = try ProxyRun()
        let online = try await ProxyRun.text(try run.proxy.makeURL(package.playlist, .hls, keys: package.keys).url)
        let offline = try await ProxyRun.text(try run.proxy.makeURL(try saved.open(), keys: package.keys).url)
        let isSubtitle = { (line: Substring) in line.contains("TYPE=SUBTITLES") }
        #expect(online.split(separator: "\n").contains(where: isSubtitle))
        #expect(!offline.split(separator: "\n").contains(where: isSubtitle), "no rendition is a default")
        #expect(offline.contains("TYPE=AUDIO"))
        await run.proxy.stop()
    }
}
