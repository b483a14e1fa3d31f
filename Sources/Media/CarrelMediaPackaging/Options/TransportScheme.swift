// SPDX-License-Identifier: Apache-2.0

/// How segments of transport streams are protected.
package enum TransportScheme: String, Sendable, Hashable, CaseIterable {
    /// Whole segments in AES-128-CBC (RFC 8216 §5.2).
    case aes128 = "aes-128"
    /// Parts of pictures and frames (MPEG-2 Stream Encryption Format for HTTP Live Streaming).
    case sampleAES = "sample-aes"
    /// Payloads of packets, as DVB-CISSA does, with messages that name the keys.
    case cissa
}
