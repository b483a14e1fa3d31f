// SPDX-License-Identifier: Apache-2.0

/// The title of an archive of files without metadata.
enum ContainerTitle {
    /// - Parameters:
    ///   - paths: the paths of its content.
    ///   - asset: the archive.
    /// - Returns: the name of the single folder that contains everything, or the archive's name without its extension.
    static func of(_ paths: [ResourcePath], in asset: PublicationAsset) -> LocalizedString {
        let folders = Set(paths.map { $0.string.contains("/") ? String($0.string.prefix { $0 != "/" }) : "" })
        if folders.count == 1, let folder = folders.first, !folder.isEmpty { return LocalizedString(folder) }
        let name = asset.name
        let title = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? String(name[..<$0]) : nil } ?? name
        return LocalizedString(title.isEmpty ? "Untitled" : title)
    }

    /// Whether an entry is a leftover of a file manager.
    static func isLitter(_ path: ResourcePath) -> Bool {
        path.string.split(separator: "/").contains { $0.hasPrefix(".") || $0 == "__MACOSX" }
            || path.name.lowercased() == "thumbs.db"
    }
}
