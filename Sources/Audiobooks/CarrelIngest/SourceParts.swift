// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelArchive
import CarrelAudio
import CarrelBytes
import CarrelFiles
import Glibc

/// The files that make up a title, in playing order, and the picture next to them.
struct SourceParts {
    var files: [SourceFile] = []
    var coverPath: String?
    /// The name of the folder or archive.
    var name: String

    private static let pictures: Set<String> = ["jpg", "jpeg", "png", "webp", "gif"]
    /// Other files in folders of audio, which are skipped.
    private static let ignored: Set<String> = [
        "txt", "nfo", "cue", "m3u", "m3u8", "pls", "pdf", "epub", "log", "sfv", "md5", "url", "html", "xml", "json", "opf",
        "db", "ini", "ds_store",
    ]
    /// The maximum number of files of a title.
    private static let limit = 20_000
    private static let depthLimit = 4

    /// A single file.
    init(file: SourceFile) {
        files = [file]
        name = file.name
    }

    /// All sound below a folder, ordered as a person would count: 2 before 10.
    init(folder: String, name: String) throws {
        self.name = name
        var entries: [(relative: String, path: String)] = []
        try Self.walk(folder, "", depth: 0, &entries)
        entries = NaturalOrder.sorted(entries, by: \.relative)
        var pictures: [(relative: String, path: String)] = []
        for entry in entries {
            if Self.pictures.contains(Self.suffix(entry.relative)) {
                pictures.append(entry)
            } else if Self.isSound([entry.relative]) {
                let file = try SourceFile(path: entry.path, name: entry.relative)
                file.rest()
                files.append(file)
            }
        }
        coverPath = (pictures.first { Self.stem($0.relative).lowercased().contains("cover") } ?? pictures.first)?.path
        guard !files.isEmpty else { throw IngestError(.notAudio, name, "holds no sound") }
    }

    /// Whether a file counts as audio by the parts of its path.
    static func isSound(_ parts: [String]) -> Bool {
        guard let last = parts.last, !parts.contains(where: isLitter) else { return false }
        let suffix = suffix(last)
        return !pictures.contains(suffix) && !ignored.contains(suffix)
    }

    private static func isLitter(_ name: String) -> Bool { name.hasPrefix(".") || name == "__MACOSX" }

    private static func walk(
        _ folder: String,
        _ prefix: String,
        depth: Int,
        _ entries: inout [(relative: String, path: String)]
    ) throws(IngestError) {
        guard depth < depthLimit else { return }
        guard let stream = unsafe opendir(folder) else {
            throw IngestError(.unreadable, prefix.isEmpty ? folder : prefix, "cannot be read: \(systemReason())")
        }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if isLitter(name) { continue }
            let path = "\(folder)/\(name)"
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try walk(path, "\(prefix)\(name)/", depth: depth + 1, &entries)
            case S_IFREG: entries.append(("\(prefix)\(name)", path))
            default: continue
            }
            guard entries.count <= limit else { throw IngestError(.archive, folder, "holds more than \(limit) files") }
        }
    }

    /// The last part of a path without its suffix.
    static func stem(_ path: String) -> String {
        let last = path.split(separator: "/").last.map(String.init) ?? path
        guard let dot = last.lastIndex(of: "."), dot > last.startIndex else { return last }
        return String(last[..<dot])
    }

    static func suffix(_ path: String) -> String {
        guard let dot = path.lastIndex(of: ".") else { return "" }
        return path[path.index(after: dot)...].lowercased()
    }
}
