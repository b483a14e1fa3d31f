// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelDCF

extension ContentKeyGrant {
    /// Requests the key of an object in a DCF: by its group, if it has one, then by its content ID and the key ID in that.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - source: the key source.
    /// - Returns: the grant of the content key.
    /// - Throws: `missingKey`, `refusedKey`; `wrongKey` if the group key does not unwrap it, or it is not 16 bytes;
    ///   `outputControl` if the license requires output controls, which the plain bytes of a DCF cannot have; `altered` if the
    ///   license or the content id is of a title, whose objects have tags, and this one has none.
    package static func content(
        of object: DCFObject,
        from source: some ContentKeySource
    ) async throws(MediaError) -> ContentKeyGrant {
        let headers = object.headers
        let content = "content id \(headers.contentID)"
        var names: [ContentKeyName] = [.content(headers.contentID), .track(0)]
        // as our packager names contents by their key
        if headers.contentID.hasPrefix("cid:"), let id = Hex.decode(headers.contentID.dropFirst(4).prefix { $0 != "-" }),
            id.count == 16
        {
            names.insert(.id(id), at: 1)
        }
        if let group = headers.groupKey { names.insert(.group(group.groupID), at: 0) }
        let (found, name) = try await ContentKeys.answered(names, content, source)
        var grant = found
        guard grant.relaxesOutput else {
            throw MediaError(
                .outputControl,
                "the license for \(content) asks for output controls, which plain bytes do not have"
            )
        }
        if case .group? = name, let group = headers.groupKey {
            do throws(CryptoError) { grant.key = try group.unwrap(under: grant.key) } catch {
                throw MediaError(.wrongKey, "the group key does not unwrap the key of \(content)")
            }
        }
        // a payload has no other cipher; AES with a longer key would produce wrong bytes
        guard grant.key.count == 16 else {
            throw MediaError(.wrongKey, "AES-128 has keys of 16 bytes, and the one for \(content) has \(grant.key.count)")
        }
        guard object.tags != nil || !(grant.requiresTags || headers.contentID.hasPrefix("urn:carrel:title:")) else {
            throw MediaError(.altered, "\(content) has no tags, which the files of a title have: it was changed")
        }
        return grant
    }
}
