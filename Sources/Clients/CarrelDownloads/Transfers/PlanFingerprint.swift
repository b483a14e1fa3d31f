// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelMediaPlanning
import CarrelSavedMedia

/// The digest of a plan without its addresses, which may have new tickets: two plans of one version of a source have the same digest.
enum PlanFingerprint {
    /// Tags of media playlists that say how segments are read (RFC 8216 §4.3).
    private static let tags = [
        "#EXTINF:", "#EXT-X-BYTERANGE:", "#EXT-X-DISCONTINUITY", "#EXT-X-KEY:", "#EXT-X-MAP:", "#EXT-X-MEDIA-SEQUENCE:",
    ]

    static func of(_ plan: MediaPlan) -> [UInt8] {
        var digest = SHA256.Stream()
        for line in lines(of: plan) {
            let bytes = Array((line + "\n").utf8)
            digest.update(bytes.rawSpan)
        }
        return digest.finish()
    }

    private static func lines(of plan: MediaPlan) -> [String] {
        var lines: [String] = []
        for key in plan.keys {
            lines.append("key \(key.method ?? "") \(key.keyFormat ?? "") \(key.names.filter { !$0.isAddress })")
        }
        for stream in plan.streams {
            lines.append("stream \(stream.kind) \(stream.bandwidth) \(stream.pieces.count)")
            for piece in stream.pieces {
                lines.append("\(piece.isInitialization) \(piece.isEncrypted) \(piece.range?.description ?? "")")
            }
        }
        for document in plan.documents {
            if document.bytes.starts(with: Array("#EXTM3U".utf8)) {
                for line in String(decoding: document.bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
                where tags.contains(where: { line.hasPrefix($0) }) {
                    lines.append(String(line).replacing(/URI="[^"]*"/, with: ""))
                }
            } else if !document.bytes.starts(with: Array("<".utf8)) {
                // initialization segments and indexes; manifests have addresses
                lines.append("document \(SHA256.hash(document.bytes.rawSpan))")
            }
        }
        return lines
    }
}

extension ContentKeyName {
    /// Whether the name may have a ticket.
    fileprivate var isAddress: Bool { if case .address = self { true } else { false } }
}
