// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// An element of an MPD that stands for one elsewhere, by its place in the document (ISO/IEC 23009-1 §5.5).
package struct MPDReference: Sendable, Hashable {
    package let link: MPDLink
    /// The address against which the reference is resolved: the MPD's address with the base URLs above the element (§5.6.4).
    package let base: String
    /// The offset of the element's start tag in the MPD.
    package let offset: Int
    /// The bytes of the element, its end tag among them.
    let range: Range<Int>
    /// Its start tag.
    let tag: Range<Int>

    /// The address of the remote element; nil if the element is to be removed.
    package var url: String? { link.href == MPDLink.nothing ? nil : URIReference.resolve(link.href, against: base) }
}

/// The outcome of a reference.
package enum MPDResolution: Sendable, Hashable {
    /// It was not fetched yet: the element is left unchanged.
    case later
    /// The bytes that were fetched: elements of the same name, which take the element's place.
    case content([UInt8])
    /// It could not be fetched: the element loses the reference, and its own content is used.
    case failed
}
