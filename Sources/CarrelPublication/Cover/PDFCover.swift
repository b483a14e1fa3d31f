import CLinux
import CarrelThreads
import Glibc

/// Draws the first page of a PDF document with `pdftoppm` (Poppler), where that is installed.
///
/// It runs as a child that the kernel holds to what it is for: it may read the one file and what programs, libraries and fonts are
/// made of, write nowhere, and reach neither the network nor another process (`clinux_spawn_confined`); its processor time,
/// memory and output are limited.
enum PDFCover {
    /// Pixels of the longer side.
    private static let size = 1200
    /// Seconds of processor time.
    private static let cpuSeconds = 20
    private static let memoryBytes = 1 << 30
    /// Bytes of a document that is copied to the disk for it.
    private static let copyLimit: Int64 = 256 << 20
    private static let path = "/usr/local/bin:/usr/bin:/bin"
    private static let readable = [
        "/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local/bin", "/usr/local/lib", "/etc/ld.so.cache",
        "/etc/fonts", "/usr/share/fonts", "/usr/share/fontconfig", "/usr/share/poppler", "/var/cache/fontconfig",
        "/usr/local/share/fonts", "/dev/null", "/dev/urandom",
    ]
    private static let threads = BlockingThreads(name: "carrel-cover", count: 1)

    /// - Parameter resource: the document, decrypted.
    /// - Returns: nil where there is no such program, or it cannot draw the page, or cannot be confined.
    /// - Throws: what reading throws.
    static func draw(_ resource: any Resource) async throws(ResourceError) -> Cover? {
        let file: FileResource
        if let own = resource as? FileResource {
            file = own
        } else {
            file = try await UnnamedFile.copy(of: resource, upTo: copyLimit)
        }
        // the outer optional is the thread's failure, which cannot happen
        let bytes = try? await threads.run { run(reading: file.descriptor) }
        return (bytes ?? nil).flatMap { Cover($0) }
    }

    private static func run(reading descriptor: Int32) -> [UInt8]? {
        // opened anew, so that the child has a place of its own in the file
        let input = unsafe open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        var ends: [Int32] = [-1, -1]
        defer { for descriptor in [input, null, ends[0]] where descriptor >= 0 { close(descriptor) } }
        guard input >= 0, null >= 0, unsafe clinux_pipe(&ends) == 0 else { return nil }
        var pid: Int32 = 0
        let words = unsafe list([
            "prlimit", "--cpu=\(cpuSeconds)", "--as=\(memoryBytes)", "--fsize=0", "--nofile=64", "--core=0", "--", "pdftoppm",
            "-q", "-f", "1", "-l", "1", "-singlefile", "-scale-to", "\(size)", "-jpeg", "/proc/self/fd/0",
        ])
        let environment = unsafe list(["PATH=\(path)", "LC_ALL=C"])
        let places = unsafe list(readable)
        defer { unsafe (words + environment + places).forEach { unsafe free($0) } }
        let status = unsafe clinux_spawn_confined(&pid, words, environment, [input, ends[1], null], places, input)
        close(ends[1])
        guard status == 0 else { return nil }
        let bytes = drain(ends[0])
        if bytes == nil { kill(-pid, SIGKILL) }
        return clinux_reap(pid) == 0 ? bytes : nil
    }

    /// What the child writes; nil when that is too much.
    private static func drain(_ descriptor: Int32) -> [UInt8]? {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let got = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if got == 0 { return all }
            if got < 0, errno == EINTR { continue }
            guard got > 0, all.count + got <= Cover.limit else { return nil }
            all += piece[..<got]
        }
    }

    /// Texts as C wants them, ended by nil; the caller frees them.
    private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }
}
