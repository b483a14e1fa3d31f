// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@Suite("A file that is replaced")
struct DurableFileTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("head") }
    private var unfinished: String { directory.file("head.carrel-new") }

    private func mode(_ path: String) -> UInt32? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode : nil
    }

    @Test func `has only the new content, whatever remains of a crash`() throws {
        let other = directory.write("head.new", "of the operator")
        for content in ["first", "a second and longer content", "3"] {
            directory.write("head.carrel-new", "a part that an interrupted call wrote, longer than all others")
            _ = unsafe chmod(unfinished, 0o644)
            try DurableFile.replace(path, with: Array(content.utf8))
            #expect(directory.read("head") == Array(content.utf8))
            #expect(mode(path) == S_IFREG | 0o600)
            #expect(mode(unfinished) == nil)
        }
        #expect(mode(other) != nil)
    }

    @Test func `is unchanged if it is to be kept, also after a crash between its two names`() throws {
        try DurableFile.replace(path, with: [1, 2, 3], keepsExisting: true)
        for _ in 0..<2 {
            #expect(unsafe link(path, unfinished) == 0)
            try DurableFile.replace(path, with: [4], keepsExisting: true)
            #expect(directory.read("head") == [1, 2, 3] && mode(unfinished) == nil)
        }
        #expect(unsafe link(path, unfinished) == 0 && link(path, directory.file("copy")) == 0)
        try DurableFile.replace(path, with: [4])
        #expect(directory.read("head") == [4] && directory.read("copy") == [1, 2, 3] && mode(unfinished) == nil)
    }

    @Test func `is not written through a link`() throws {
        let target = directory.write("target", "of the reader")
        #expect(unsafe symlink(target, unfinished) == 0)
        #expect(throws: FileError.self) { try DurableFile.replace(path, with: [1]) }
        #expect(directory.read("target") == Array("of the reader".utf8) && mode(path) == nil)
    }

    @Test func `is always one of the contents that were written at the same time`() async throws {
        let path = path
        let threads = BlockingThreadPool(name: "test-replace", count: 8)
        let writers = (0..<8).map { [UInt8](repeating: UInt8($0), count: 1 + $0 * 1000) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for bytes in writers {
                group.addTask {
                    try await threads.run {
                        for round in 0..<20 {
                            try DurableFile.replace(path, with: bytes, keepsExisting: round % 5 == 4, folderSync: .none)
                            let found = Fixtures.bytes(at: path)
                            #expect(found.map(writers.contains) == true)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(mode(unfinished) == nil)
    }
}
