// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The files below a folder.
///
/// Symbolic links are not followed, and no address leads out of the folder. Hidden files are not listed, but found.
public final class FolderFetcher: Fetcher, DocumentedFetcher {
    let documents = ContainerDocuments()
    private let root: String
    /// Files that are listed at most.
    private let limit: Int

    /// Creates a fetcher of the files in a folder.
    ///
    /// - Parameters:
    ///   - path: the folder's path.
    ///   - limit: the maximum number of files; a folder with more is refused when it is listed.
    public init(path: String, limit: Int = 100_000) {
        root = path.hasSuffix("/") && path.utf8.count > 1 ? String(path.dropLast()) : path
        self.limit = limit
    }

    public func links() async throws(ResourceError) -> [Link] {
        var found: [Link] = []
        var folders = [""]
        while let folder = folders.popLast() {
            let full = folder.isEmpty ? root : "\(root)/\(folder)"
            guard let names = Self.names(in: full) else {
                throw ResourceError(.unavailable, "folder \"\(folder)\" cannot be read")
            }
            for name in names where !name.hasPrefix(".") {
                let relative = folder.isEmpty ? name : "\(folder)/\(name)"
                switch Self.kind(of: "\(root)/\(relative)") {
                case .folder: folders.append(relative)
                case .file: if let path = ResourcePath(decoded: relative) { found.append(Link(path)) }
                case .other: break
                }
                guard found.count + folders.count <= limit else {
                    throw ResourceError(.tooLarge, "the folder holds more than \(limit) files")
                }
            }
        }
        return found.sorted { $0.href < $1.href }
    }

    public func get(_ link: Link) -> any Resource {
        guard let path = ResourcePath(href: link.href), let at = place(of: path) else { return FailingResource.notFound(link) }
        do throws(ResourceError) {
            return try FileResource(link, path: at)
        } catch {
            return FailingResource(link, error)
        }
    }

    public func storedLength(of link: Link) -> LengthHint? {
        var status = stat()
        guard let path = ResourcePath(href: link.href), let at = place(of: path), unsafe lstat(at, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return LengthHint(Int64(status.st_size))
    }

    /// The path of a file; nil if there is none, or if a component is a symbolic link.
    private func place(of path: ResourcePath) -> String? {
        var at = root
        for part in path.string.split(separator: "/") {
            at += "/\(part)"
            if Self.kind(of: at) == .other { return nil }
        }
        return at
    }

    private enum Kind { case file, folder, other }

    private static func kind(of path: String) -> Kind {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return .other }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        default: .other
        }
    }

    private static func names(in path: String) -> [String]? {
        guard let folder = unsafe opendir(path) else { return nil }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
