// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// The header of an object of Carrel's own protocol: only members that are known, so that nothing in it leads elsewhere (`jku`, `x5u`),
/// compresses (`zip`) or has to be understood (`crit`).
struct ProfileHeader {
    let json: JSONObject

    ///
    /// - Parameters:
    ///   - part: the first part of the text.
    ///   - names: the members that it may have.
    /// - Throws: `jose.malformed`, `jose.algorithm`.
    init(_ part: String, names: [String]) throws(JOSEError) {
        guard part.utf8.count <= 4096, let bytes = Base64URL.decode(part),
            let object = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 3, byteCount: 4096, values: 24)).object
        else { throw JOSEError(.malformed, "the header is no JSON object") }
        for name in object.names where !names.contains(name) {
            throw JOSEError(.algorithm, "its header has a member that is not taken")
        }
        for name in ["alg", "enc", "typ", "kid", "apu", "apv"] {
            guard let value = object[name] else { continue }
            guard let text = value.string, text.utf8.count <= 512 else {
                throw JOSEError(.malformed, "\(name) is not a short text")
            }
        }
        json = object
    }

    func text(_ name: String) -> String? { json[name]?.string }
}
