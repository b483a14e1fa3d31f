import CarrelTesting
import Glibc

/// Files below folders of the fixtures.
enum FixtureFolder {
    /// The names of all files with an ending, relative to the fixtures, sorted; none without fixtures.
    static func files(_ folders: [String], ending: String) -> [String] {
        guard let root = Fixtures.directory else { return [] }
        return folders.flatMap { list("\(root)/\($0)", $0, ending) }.sorted()
    }

    private static func list(_ path: String, _ name: String, _ ending: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return name.hasSuffix(ending) ? [name] : [] }
        defer { unsafe closedir(folder) }
        var found: [String] = []
        while let entry = unsafe readdir(folder) {
            let child = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if child != ".", child != ".." { found += list("\(path)/\(child)", "\(name)/\(child)", ending) }
        }
        return found
    }
}

/// A committed text beside which a test puts what it finds: `Tests/Golden/CarrelDASH`.
enum CommittedList {
    /// Compares a text with the committed file; UPDATE_GOLDEN=1 rewrites the file instead.
    ///
    /// - Returns: whether they are the same.
    static func matches(_ name: String, _ text: String, file: String = #filePath) -> Bool {
        let path = path(name, file)
        if unsafe getenv("UPDATE_GOLDEN") != nil {
            guard let stream = unsafe fopen(path, "we") else { return false }
            defer { unsafe fclose(stream) }
            return unsafe fputs(text, stream) >= 0
        }
        return Fixtures.bytes(at: path) == Array(text.utf8)
    }

    /// Lines `name: reason` of a committed file.
    static func reasons(_ name: String, file: String = #filePath) -> [String: String] {
        var reasons: [String: String] = [:]
        let text = String(decoding: Fixtures.bytes(at: path(name, file)) ?? [], as: UTF8.self)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { reasons[String(parts[0])] = String(parts[1].drop { $0 == " " }) }
        }
        return reasons
    }

    private static func path(_ name: String, _ file: String) -> String {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts[parts.count - 2].dropLast("Tests".count)
        return parts.dropLast(2).joined(separator: "/") + "/Golden/\(folder)/\(name)"
    }
}
