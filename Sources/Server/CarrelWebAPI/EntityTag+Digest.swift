// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP

extension EntityTag {
    /// The tag of bytes: the first half of their SHA-256.
    package init(of bytes: [UInt8]) {
        self.init(String(Hex.encode(SHA256.hash(bytes.rawSpan).prefix(16))))
    }
}

extension String {
    /// A path for use in an address: its parts escaped, its slashes kept.
    package var asAddress: String {
        split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encode(String($0)) }.joined(separator: "/")
    }
}
