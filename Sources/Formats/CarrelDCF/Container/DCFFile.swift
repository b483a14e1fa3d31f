// SPDX-License-Identifier: Apache-2.0

/// One object of an OMA DCF (`odrm`, OMA DRM Content Format 2.0).
package struct DCFObject: Sendable, Hashable {
    /// The offset of its box.
    package let start: Int64
    /// The media type of the content in the clear.
    package let contentType: String
    /// Its headers.
    package let headers: DCFHeaders
    /// Its user data, in their order.
    package let userData: [DCFUserDataEntry]
    /// Its content.
    package let payload: EncryptedPayload
    /// The tags of its ciphertext; nil if the file has none.
    package internal(set) var tags: PayloadTagTable?
}

/// An OMA DCF (OMA DRM Content Format 2.0): objects of any kind, each encrypted as a whole. The payloads are not loaded.
package struct DCFFile: Sendable, Hashable {
    /// The version after the major brand, 2.
    package internal(set) var version: UInt32 = 0
    /// In file order, at least one.
    package internal(set) var objects: [DCFObject] = []
    /// Embedded licenses and the tracked transaction (`mdri`).
    package internal(set) var mutableInformation: DCFMutableInformation?

    init() {}
}
