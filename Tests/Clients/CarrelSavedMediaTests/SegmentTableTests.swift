// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import CarrelSavedMedia
import CarrelTesting
import Glibc
import Testing

struct `Tables of a package` {
    private static let video = "0-FIXTUREVIDEO0000000000000000000A-900000"

    private static func fixture(_ name: String) throws -> [UInt8] { try Fixtures.bytes("drm/movpkg/\(name)") }

    @Test func `of the platform are read: the root, the boot image and the segments`() throws {
        let root = try Self.fixture("root.xml")
        #expect(try BootImage.name(inRoot: root.rawSpan) == "boot.xml")
        let image = try Self.fixture("boot.xml")
        let boot = try BootImage(image.rawSpan)
        #expect(boot.id == nil && boot.mode == nil)
        #expect(boot.streams.map(\.path) == [Self.video, "1-FIXTUREAUDIO0000000000000000000B-0"])
        #expect(boot.streams.map(\.isComplete) == [true, false] && !boot.isComplete)
        #expect(boot.dataFolder == "Data")
        #expect(boot.items.map(\.path) == ["Playlist-master.m3u8-F1F2F3F4.data"] && boot.items.map(\.role) == ["Master"])
        let bytes = try Self.fixture("StreamInfoBoot.xml")
        let table = try SegmentTable(bytes.rawSpan)
        #expect(table.id == Self.video && table.isComplete && table.bandwidth == 900_000)
        #expect(table.bytesStored == 812 + 1_048_576)
        #expect(table.rows.map(\.path) == ["00000.initfrag", "00000.frag", "00001.frag"])
        #expect(table.rows.map(\.isInitialization) == [true, false, false])
        #expect(table.rows.map(\.length) == [812, 600_000, 448_576])
        #expect(table.rows[2].sequence == 1 && table.rows[2].start == .seconds(6))
        #expect(table.rows[2].duration == .milliseconds(4500))
        #expect(table.rows[2].stored == nil && !table.rows[2].isSealed)
    }

    @Test func `of the platform are listed from a folder`() throws {
        let directory = TemporaryDirectory()
        for name in ["root.xml", "boot.xml"] { _ = directory.write(name, try Self.fixture(name)) }
        let text = String(decoding: try Self.fixture("StreamInfoBoot.xml"), as: UTF8.self)
        let audio = "1-FIXTUREAUDIO0000000000000000000B-0"
        for name in [Self.video, audio] { #expect(unsafe mkdir(directory.file(name), 0o700) == 0) }
        _ = directory.write("\(Self.video)/StreamInfoBoot.xml", text)
        var caught: SavedMediaError?
        do { _ = try SavedListing(folder: directory.path) } catch { caught = error }
        #expect(caught?.code == .missing && caught?.message.contains(audio) == true)
        _ = directory.write("\(audio)/StreamInfoBoot.xml", text.replacing(Self.video, with: audio))
        let listing = try SavedListing(folder: directory.path)
        #expect(listing.tables.map(\.id) == [Self.video, audio])
    }

    /// A valid table with a change.
    private static func table(_ old: String, _ new: String) throws -> [UInt8] {
        let text = String(decoding: try fixture("StreamInfoBoot.xml"), as: UTF8.self)
        #expect(text.contains(old))
        return Array(text.replacing(old, with: new).utf8)
    }

    @Test(arguments: [
        ("PATH=\"00000.frag\"", "PATH=\"../00000.frag\"", "SEG 0 has no plain PATH"),
        ("PATH=\"00000.frag\"", "PATH=\"..\"", "SEG 0 has no plain PATH"),
        ("PATH=\"00000.frag\"", "PATH=\"a/b\"", "SEG 0 has no plain PATH"),
        ("PATH=\"00000.frag\"", "PATH=\"\"", "SEG 0 has no plain PATH"),
        ("PATH=\"00000.frag\"", "PATH=\"StreamInfoBoot.xml\"", "SEG 0 has no plain PATH"),
        ("PATH=\"00000.frag\"", "PATH=\"00001.frag\"", "SEG 1 has the PATH of another"),
        ("Len=\"600000\"", "Len=\"-1\"", "a length, range, address or digest of SEG 0 is malformed"),
        ("Len=\"600000\"", "Len=\"9999999999999999999\"", "a length, range, address or digest of SEG 0 is malformed"),
        ("Dur=\"6.0\"", "Dur=\"1e9\"", "a number of SEG 0 is malformed"),
        ("Dur=\"6.0\"", "Dur=\"nan\"", "a number of SEG 0 is malformed"),
        ("SeqNum=\"0\"", "SeqNum=\"0x1\"", "a number of SEG 0 is malformed"),
        ("<Version>1.0</Version>", "<Version>2.0</Version>", "it has no ID, Path or Complete"),
        ("<Complete>YES</Complete>", "<Complete>maybe</Complete>", "it has no ID, Path or Complete"),
        ("<Complete>YES</Complete>", "<Complete>NO</Complete><Complete>YES</Complete>", "Complete repeats"),
        ("<StreamInfo ", "<!DOCTYPE StreamInfo [<!ENTITY a \"b\">]><StreamInfo ", "cannot be read"),
        ("http://apple.com/IMG/Schemas/HLSMoviePackage", "urn:other", "it is not a StreamInfo"),
    ])
    func `that are malformed are refused with the element`(old: String, new: String, fault: String) throws {
        let bytes = try Self.table(old, new)
        var caught: SavedMediaError?
        do { _ = try SegmentTable(bytes.rawSpan, name: "0-1/StreamInfoBoot.xml") } catch { caught = error }
        #expect(caught?.code == .format)
        #expect(caught?.message.contains(fault) == true && caught?.message.contains("0-1/StreamInfoBoot.xml") == true)
    }

    @Test func `of a million segments are refused`() throws {
        var text = "<StreamInfo xmlns=\"http://apple.com/IMG/Schemas/HLSMoviePackage\"><Version>1.0</Version><ID>a</ID>"
        text += "<Path>a</Path><Complete>NO</Complete><MediaSegments>"
        for number in 0..<1_000_000 { text += "<SEG PATH=\"\(number)\"/>" }
        text += "</MediaSegments></StreamInfo>"
        let bytes = Array(text.utf8)
        var caught: SavedMediaError?
        do { _ = try SegmentTable(bytes.rawSpan) } catch { caught = error }
        #expect(caught?.code == .format && caught?.message.contains("999999 segments") == true, "\(String(describing: caught))")
    }

    @Test(arguments: [
        ("Path=\"\(video)\"", "Path=\"..\"", "stream 0 has no plain ID, Path or Complete"),
        ("Path=\"\(video)\"", "Path=\"/etc\"", "stream 0 has no plain ID, Path or Complete"),
        ("Directory=\"Data\"", "Directory=\"..\"", "the data folder has no plain name"),
        ("Directory=\"Data\"", "Directory=\"\(video)\"", "the data folder has no plain name"),
        ("<DataPath>Playlist", "<DataPath>../Playlist", "data item 0 has no plain DataPath"),
        ("PersistedStore", "Streamed", "its type is not PersistedStore"),
        ("<Version>1.0", "<Version>9", "it is not an HLSMoviePackage of version 1.0"),
        ("<Complete>YES", "<Complete>", "stream 0 has no plain ID, Path or Complete"),
    ])
    func `of streams that are malformed are refused`(old: String, new: String, fault: String) throws {
        let text = String(decoding: try Self.fixture("boot.xml"), as: UTF8.self)
        #expect(text.contains(old))
        let bytes = Array(text.replacing(old, with: new).utf8)
        var caught: SavedMediaError?
        do { _ = try BootImage(bytes.rawSpan) } catch { caught = error }
        #expect(caught?.code == .format && caught?.message.contains(fault) == true, "\(String(describing: caught))")
    }
}
