// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTesting
import Testing

struct `The first picture of a segment` {
    private static let folder = "media/dash/number-clear"

    private static func picture(
        _ bytes: [UInt8],
        _ form: FileSegments.Form,
        piece: Int,
        duration: Duration = .seconds(2)
    ) throws -> [UInt8]? {
        let tracks = try MP4File(BytesReader(try Fixtures.bytes("\(folder)/v-init.mp4"))).tracks
        var picture = try FirstPicture(of: tracks, as: form, duration: duration)
        var at = 0
        while at < bytes.count {
            let part = Array(bytes[at..<min(bytes.count, at + piece)])
            at += piece
            picture.append(part.rawSpan)
            if let made = try picture.next() { return made }
        }
        return nil
    }

    @Test(arguments: [FileSegments.Form.transportStream, .fragment])
    func `is the same in pieces of any size, and is not there before its last byte`(form: FileSegments.Form) throws {
        let bytes = try Fixtures.bytes("\(Self.folder)/v-0001.m4s")
        let whole = try #require(try Self.picture(bytes, form, piece: bytes.count))
        for piece in [1, 7, 1000] { #expect(try Self.picture(bytes, form, piece: piece) == whole) }
        // the shortest beginning that has it
        var (low, high) = (0, bytes.count)
        while low < high {
            let middle = (low + high) / 2
            if try Self.picture(Array(bytes[..<middle]), form, piece: .max / 2) == nil { low = middle + 1 } else { high = middle }
        }
        #expect(low > whole.count / 2 && low < bytes.count)
        #expect(try Self.picture(Array(bytes[..<low]), form, piece: .max / 2) == whole)
    }

    @Test func `is shown as long as a fragment can say, whatever its playlist says`() throws {
        let bytes = try Fixtures.bytes("\(Self.folder)/v-0001.m4s")
        let longest = try #require(try Self.picture(bytes, .fragment, piece: .max / 2, duration: .seconds(Int32.max)))
        for duration in [Duration.seconds(Int64(1) << 60), .seconds(Int64.max)] {
            #expect(try Self.picture(bytes, .fragment, piece: .max / 2, duration: duration) == longest)
        }
    }

    @Test func `is refused where there are no pictures`() throws {
        let tracks = try MP4File(BytesReader(try Fixtures.bytes("\(Self.folder)/a-init.mp4"))).tracks
        #expect(throws: MediaError.self) { try FirstPicture(of: tracks, as: .fragment, duration: .seconds(2)) }
    }
}
