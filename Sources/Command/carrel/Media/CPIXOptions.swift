// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCommandLine
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelRights

/// The options for keys in a CPIX document.
struct CPIXOptions: ParameterGroup, Sendable {
    var path: String?
    var recipient: String?

    static let parameters: [Parameter<Self>] = [
        .option(\.path, "--cpix", value: "file", help: "A CPIX document with keys.", group: "Keys"),
        .option(\.recipient, "--recipient", value: "key", help: CPIXFile.recipientHelp, group: "Keys"),
    ]

    /// The document with its keys in the clear; nil without the option.
    ///
    /// - Throws: `UsageError` for a recipient without a document; the errors of ``CPIXFile``.
    func document(_ console: Console) throws -> CPIXDocument? {
        guard let path else {
            if recipient != nil { throw UsageError(.contradiction, "--recipient is for the keys of --cpix") }
            return nil
        }
        return try CPIXFile.read(path, recipient: recipient, console)
    }
}

extension GivenKeys {
    /// Adds the keys of a document by their ids.
    mutating func add(_ document: CPIXDocument, from path: String) throws {
        do throws(CPIXError) {
            for (key, secret) in try document.clearKeys() { add(secret, for: .id(key.id.bytes)) }
        } catch {
            throw UnusableCPIX(path: path, error: error)
        }
    }
}

/// Chooses the keys of tracks by the usage rules of a document.
struct CPIXKeyChoice: Sendable {
    private let document: CPIXDocument
    private let path: String
    /// The document's only period.
    private let period: String?

    /// - Throws: ``UnusableCPIX`` for a document without keys; `UsageError` for a document with several periods, or for another scheme.
    init(_ document: CPIXDocument, from path: String, scheme: PackageProtection) throws {
        guard document.periods.count <= 1 else {
            throw UsageError(.contradiction, "\(path) has \(document.periods.count) periods, and a package has one")
        }
        do throws(CPIXError) {
            for (key, _) in try document.clearKeys() {
                guard let declared = key.scheme, let name = PackageProtection(rawValue: declared.lowercased()) else { continue }
                guard name == scheme else {
                    throw CPIXError(
                        .ambiguous,
                        "the key \(key.id.uuid) is for the scheme \(declared), and --scheme is \(scheme.rawValue)"
                    )
                }
            }
        } catch {
            throw UnusableCPIX(path: path, error: error)
        }
        (self.document, self.path) = (document, path)
        period = document.periods.first?.id
    }

    /// The key of a track; nil if no rule matches.
    func key(of facts: PackagingTrack) throws -> PackagingKey? {
        var track = CPIXTrack(
            facts.isVideo
                ? .video(pixels: facts.pixels, framesPerSecond: facts.framesPerSecond) : .audio(channels: facts.channels),
            named: facts.name
        )
        (track.isHDR, track.bitrate, track.period) = (facts.isHDR, facts.bitrate, period)
        return try key(of: track)
    }

    /// The key of a file that is packaged as a whole: the document's only key, or the key of a rule without filters.
    func keyOfFile(_ name: String) throws -> PackagingKey? {
        var track = CPIXTrack(.other, named: name)
        track.period = period
        return try key(of: track)
    }

    private func key(of track: CPIXTrack) throws -> PackagingKey? {
        do {
            guard let id = try document.keyID(for: track), let key = document.key(id) else { return nil }
            guard let secret = key.secret, let kid = CarrelMP4.KeyID(id.bytes.rawSpan) else {
                throw CPIXError(.missingKey, "the document does not contain the key \(id.uuid)")
            }
            return try PackagingKey(id: kid, key: secret)
        } catch let error as CPIXError {
            throw UnusableCPIX(path: path, error: error)
        }
    }
}
