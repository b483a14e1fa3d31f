// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelTesting
import Glibc
import Testing

struct `The place of an output file` {
    private static func names(in directory: TemporaryDirectory) -> [String] {
        guard let folder = unsafe opendir(directory.path) else { return [] }
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

    @Test(arguments: [false, true])
    func `appears complete, and leaves no other files`(replaces: Bool) throws {
        let directory = TemporaryDirectory()
        if replaces { directory.write("out", [1]) }
        let before = Self.names(in: directory)
        let bytes: [UInt8] = [5, 6, 7]
        do {
            let file = try OutputFile(directory.file("out"))
            try file.write(bytes.rawSpan)
            try file.overwrite(bytes.rawSpan, at: 1)
            // a program that is ended here leaves the folder as it was
            #expect(Self.names(in: directory) == before)
        }
        #expect(Self.names(in: directory) == before)
        let file = try OutputFile(directory.file("out"))
        try file.write(bytes.rawSpan)
        #expect(try file.commit() == 3)
        #expect(directory.read("out") == bytes)
        #expect(Self.names(in: directory) == ["out"])
    }

    @Test func `does not write into a file that waits under its name`() throws {
        let directory = TemporaryDirectory()
        directory.write("victim", [9, 9])
        let prepared = directory.file("out.carrel-\(getpid())")
        try #require(unsafe link(directory.file("victim"), prepared) == 0)
        let bytes: [UInt8] = [1]
        let file = try OutputFile(directory.file("out"))
        try file.write(bytes.rawSpan)
        try file.commit()
        #expect(directory.read("victim") == [9, 9])
        #expect(directory.read("out") == [1])
    }

    @Test func `replaces a symbolic link, and not its target`() throws {
        let directory = TemporaryDirectory()
        directory.write("target", [9])
        try #require(unsafe symlink(directory.file("target"), directory.file("out")) == 0)
        let bytes: [UInt8] = [1]
        let file = try OutputFile(directory.file("out"), permissions: 0o640)
        try file.write(bytes.rawSpan)
        try file.commit()
        #expect(directory.read("target") == [9] && directory.read("out") == [1])
        var status = stat()
        try #require(unsafe lstat(directory.file("out"), &status) == 0)
        #expect(status.st_mode == S_IFREG | 0o640)
    }

    @Test func `is refused where there is no folder`() {
        let directory = TemporaryDirectory()
        #expect(throws: MediaError(.unwritable, "")) { _ = try OutputFile(directory.file("none/out")) }
    }
}
