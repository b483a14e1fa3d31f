import CLinux
import CarrelCrypto
import Glibc

/// A folder for temporary files. Each name begins with the process that made it, so that what a killed process left behind is
/// removed by the next.
package struct Scratch: Sendable {
    let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// A new folder, closed to others.
    func makeFolder() throws(IngestError) -> String {
        let folder = try newName()
        guard unsafe mkdir(folder, 0o700) == 0 else { throw IngestError(.full, folder, "cannot be made: \(systemReason())") }
        return folder
    }

    /// The path of a file that does not exist yet.
    package func newName() throws(IngestError) -> String {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw IngestError(.full, path, "cannot be made: \(systemReason())")
        }
        sweep()
        return "\(path)/\(getpid())-\(Random.uuid())"
    }

    /// Removes a file, or a folder and all that is in it.
    package func remove(_ path: String) {
        unsafe clinux_remove_tree(path)
        unsafe unlink(path)
    }

    /// Removes what processes left that are gone.
    private func sweep() {
        guard let stream = unsafe opendir(path) else { return }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let process = name.split(separator: "-").first.flatMap({ Int32($0) }), process > 0 else { continue }
            if kill(process, 0) != 0, errno == ESRCH { remove("\(path)/\(name)") }
        }
    }
}
