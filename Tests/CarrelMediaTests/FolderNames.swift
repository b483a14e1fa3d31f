import CarrelTesting
import Glibc

/// The names in a folder.
enum FolderNames {
    /// - Parameter path: of the folder.
    /// - Returns: names in their order.
    /// - Throws: when there is no such folder.
    static func list(_ path: String) throws -> [String] {
        guard let folder = unsafe opendir(path) else { throw Fixtures.Missing(path: path) }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
