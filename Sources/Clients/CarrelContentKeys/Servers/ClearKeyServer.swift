// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEME
import CarrelMedia

/// A license server of ClearKey (W3C Encrypted Media Extensions §9.1): requests and licenses as the steps of a session.
enum ClearKeyServer {
    /// The request for keys.
    ///
    /// - Parameters:
    ///   - ids: the ids of the keys.
    ///   - isPersistent: whether the license is stored.
    /// - Returns: the body, JSON.
    static func body(_ ids: [[UInt8]], isPersistent: Bool) -> [UInt8] {
        ClearKeyRequest(ids, .license(isPersistent ? .persistent : .temporary)).write()
    }

    /// The key of a license.
    ///
    /// - Parameters:
    ///   - license: the body of the response.
    ///   - id: the id of the key.
    /// - Returns: the key.
    /// - Throws: `keys.response` for other bytes, `keys.missing` if the license has another key.
    static func key(in license: [UInt8], _ id: [UInt8]) throws(ContentKeyError) -> Secret {
        guard license.count <= ClearKeyLicense.maxByteCount, let read = try? ClearKeyLicense(parsing: license.rawSpan) else {
            throw ContentKeyError(.response, "the license is not one of ClearKey")
        }
        guard let key = read.keys.first(where: { $0.id == id })?.key else {
            throw ContentKeyError(.missingKey, "the license has no key with this id")
        }
        guard key.count == 16 else {
            throw ContentKeyError(.response, "the license has a key of \(key.count) bytes, and keys have 16")
        }
        return key
    }
}
