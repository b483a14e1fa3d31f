// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelDCF
package import CarrelMP4

/// The format and the protection of a file, detected from its bytes.
///
/// Its name and media type are not used. Nothing is decrypted, and only the headers of media are read.
public struct MediaFile: Sendable {
    /// The kind of file.
    @nonexhaustive
    public enum Container: String, Sendable, Hashable {
        /// An ISO base media file: MP4, M4A, MOV, 3GP, fragmented or not.
        case mp4 = "MP4"
        /// Fragments of such a file without the movie that describes them: their protection is in another file.
        case segment = "MP4 segment"
        /// An OMA DCF.
        case dcf = "DCF"
        /// An MPEG-2 transport stream.
        case transportStream = "MPEG-2 TS"
        /// An HLS playlist.
        case playlist = "HLS playlist"
        /// A file of another kind.
        case other
    }

    /// The kind of file.
    public let container: Container
    /// Its protections, each once, in the order of its tracks; none if it is clear.
    public internal(set) var protections: [MediaProtection] = []
    /// Content ids of OMA and Marlin, each once.
    public internal(set) var contentIDs: [String] = []
    /// Key IDs without duplicates: of tracks, of fragments, and of protection system boxes.
    package internal(set) var keys: [KeyID] = []
    /// Protection systems that have a box or a key line in it, by name; one without a name by its id.
    public internal(set) var systems: [String] = []
    /// Addresses from which keys are fetched (HLS).
    public internal(set) var keyAddresses: [String] = []
    /// Addresses from which an app acquires a license without the user.
    public internal(set) var silentLicenseAddresses: [String] = []
    /// Addresses at which a user acquires a license (the rights issuers of OMA).
    public internal(set) var rightsIssuers: [String] = []
    /// Embedded licenses.
    public internal(set) var licenses: [[UInt8]] = []
    /// Objects of a DCF.
    package internal(set) var objects: [DCFObject] = []

    // sets of the listed values: a damaged file may name tens of thousands
    private var seenProtections: Set<MediaProtection> = []
    private var seenKeys: Set<KeyID> = []
    private var seenContents: Set<String> = []

    /// Whether nothing in it is protected; false if unknown, as for segments and unrecognized files.
    public var isClear: Bool { protections.isEmpty && container != .other && container != .segment }

    init(_ container: Container) {
        self.container = container
    }

    /// Inspects a file.
    ///
    /// - Parameter reader: the file.
    /// - Throws: the errors of the reader; `Malformed` if the file is of one of these kinds, and damaged.
    package init(_ reader: any ByteReader) throws {
        let head = try reader.readAll(0..<min(reader.length, 64))
        if head.starts(with: Array("#EXTM3U".utf8)) || head.starts(with: [0xef, 0xbb, 0xbf] + Array("#EXTM3U".utf8)) {
            self = try MediaFile(playlist: reader)
        } else if Self.isDCF(head.rawSpan) {
            self = try MediaFile(dcf: reader)
        } else if Self.isMP4(head.rawSpan) {
            self = try MediaFile(mp4: reader)
        } else if let stream = try TransportStreamProbe(reader) {
            self.init(.transportStream)
            if stream.isScrambled { add(.scrambledTransportStream) }
            if stream.hasSampleEncryption { add(.sampleAES) }
        } else {
            self.init(.other)
        }
    }

    /// Whether the first box is `ftyp` with the major brand of DCF.
    private static func isDCF(_ head: RawSpan) -> Bool { head.matches("ftypodcf", at: 4) }

    private static func isMP4(_ head: RawSpan) -> Bool {
        let boxes: [StaticString] = [
            "ftyp", "moov", "mdat", "free", "skip", "wide", "pnot", "styp", "moof", "sidx", "emsg", "prft",
        ]
        return boxes.contains { head.matches($0, at: 4) }
    }

    // MARK: - Lists without repetitions

    mutating func add(_ protection: MediaProtection) {
        if seenProtections.insert(protection).inserted { protections.append(protection) }
    }

    mutating func add(contentID: String) {
        guard !contentID.isEmpty, seenContents.insert(contentID).inserted else { return }
        contentIDs.append(contentID)
        // an alias of the key's id
        let prefix = "urn:marlin:kid:"
        guard contentID.lowercased().hasPrefix(prefix) else { return }
        if let bytes = Hex.decode(String(contentID.dropFirst(prefix.utf8.count))), let id = KeyID(bytes.rawSpan) {
            add(keyID: id)
        }
    }

    mutating func add(keyID: KeyID) {
        if seenKeys.insert(keyID).inserted { keys.append(keyID) }
    }

    mutating func add(system: String) {
        if !systems.contains(system) { systems.append(system) }
    }

    mutating func add(silentLicenseAddress address: String?) {
        if let address, !address.isEmpty, !silentLicenseAddresses.contains(address) { silentLicenseAddresses.append(address) }
    }

    mutating func add(rightsIssuer address: String) {
        if !address.isEmpty, !rightsIssuers.contains(address) { rightsIssuers.append(address) }
    }

    mutating func add(_ headers: DCFHeaders) {
        add(contentID: headers.contentID)
        add(rightsIssuer: headers.rightsIssuer)
        add(silentLicenseAddress: headers.silentAcquisition?.address)
        add(silentLicenseAddress: headers.value(of: "Silent-Rights-URL"))
    }
}
