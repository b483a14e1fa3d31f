// SPDX-License-Identifier: Apache-2.0

/// The renditions, texts and thumbnails that a manifest and playlists name.
struct PackageContents {
    let renditions: [PackagedRendition]
    let texts: [PackagedText]
    let thumbnails: PackagedThumbnails?
    let options: PackagingOptions
}
