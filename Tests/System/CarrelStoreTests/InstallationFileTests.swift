// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import Glibc
import Testing

@testable import CarrelStore

/// The file that says which installation a store belongs to, on file systems with and without hard links.
struct `The installation of a blob store` {
    typealias Placing = DirectoryBlobStore.Placing

    private func store(_ folder: TemporaryDirectory) throws -> DirectoryBlobStore {
        try DirectoryBlobStore(path: folder.file("blobs"))
    }

    @Test(arguments: Placing.allCases)
    func `is written once by the first process, and leaves no other files`(way: Placing) async throws {
        let folder = TemporaryDirectory()
        let store = try store(folder)
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<16 { group.addTask { try store.join(installation: "id-\(number)", by: [way]) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try store.installation() == ids.first)
        #expect(try store.join(installation: "late", by: [way]) == ids.first)
        #expect(try await checkProcess(["ls", folder.file("blobs/partial")]).isEmpty)
    }

    @Test func `is the same for processes that place it in different ways`() async throws {
        for round in 0..<20 {
            let folder = TemporaryDirectory()
            let store = try store(folder)
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for way in [Placing.link, .renameNew] {
                    group.addTask { try store.join(installation: "id-\(way)", by: [way]) }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(ids.count == 1, "round \(round)")
        }
    }

    @Test func `is not written where the folder takes no file`() throws {
        let folder = TemporaryDirectory()
        let store = try store(folder)
        #expect(unsafe rmdir(folder.file("blobs/partial")) == 0)
        for way in Placing.allCases {
            #expect(throws: StoreError.self) { try store.join(installation: "id", by: [way]) }
        }
        #expect(try store.installation() == nil)
    }
}
