// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelStore
import CarrelTesting
import Glibc
import Testing

struct `A blob store` {
    @Test(arguments: [0, 1, 4096, 262_144, 262_145, 1_000_003])
    func `names a blob by its SHA-256 and gives back its bytes`(count: Int) throws {
        let folder = TemporaryDirectory()
        let store = try DirectoryBlobStore(path: folder.file("blobs"))
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let id = try add(content, to: store, pieces: 1000)
        #expect(id.text == Hex.encode(SHA256.hash(content.rawSpan)))
        #expect(try add(content, to: store, pieces: 300_000) == id, "the pieces make no difference")
        #expect(try store.contains(id))
        let blob = try store.open(id)
        #expect(blob.byteCount == Int64(count))
        #expect(try blob.bytes(at: 0, count: count) == content)
        if count > 10 { #expect(try blob.bytes(at: 7, count: 3) == Array(content[7..<10])) }
        #expect(throws: StoreError(.damaged, "")) { try blob.bytes(at: 0, count: count + 1) }
        var found: [BlobID] = []
        try store.each { found.append($0) }
        #expect(found == [id])
    }

    @Test func `keeps files private`() throws {
        let folder = TemporaryDirectory()
        let store = try DirectoryBlobStore(path: folder.file("blobs"))
        let id = try add([1, 2, 3], to: store)
        #expect(store.path(of: id).hasSuffix("/blobs/03/039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"))
        #expect(mode(store.path(of: id)) == 0o600)
        for name in ["blobs", "blobs/03", "blobs/partial"] { #expect(mode(folder.file(name)) == 0o700, "\(name)") }
    }

    @Test func `reads what is in memory without waiting`() throws {
        let folder = TemporaryDirectory()
        let store = try DirectoryBlobStore(path: folder.file("blobs"))
        let content = [UInt8](repeating: 9, count: 100_000)
        let blob = try store.open(try add(content, to: store))
        _ = try blob.bytes(at: 0, count: content.count)
        #expect(readNow(blob, at: 50_000, count: 10_000) == Array(content[50_000..<60_000]))
        #expect(readNow(blob, at: 90_001, count: 10_000) == nil, "past the end")
        #expect(readNow(blob, at: 100_000, count: 0) == [])
    }

    @Test func `leaves nothing of a blob that is given up`() throws {
        let folder = TemporaryDirectory()
        let store = try DirectoryBlobStore(path: folder.file("blobs"))
        do {
            let writer = try store.writer()
            try writer.append([UInt8](repeating: 1, count: 1 << 20).rawSpan)
            #expect(names(in: folder.file("blobs/partial")).count == 1)
        }
        #expect(names(in: folder.file("blobs")) == ["partial"])
        #expect(names(in: folder.file("blobs/partial")) == [])
    }

    @Test func `refuses to add to a finished blob`() throws {
        let folder = TemporaryDirectory()
        let store = try DirectoryBlobStore(path: folder.file("blobs"))
        let writer = try store.writer()
        _ = try writer.finish()
        #expect(throws: StoreError(.closed, "")) { try writer.finish() }
        let bytes: [UInt8] = [1]
        var refused = false
        do { try writer.append(bytes.rawSpan) } catch { refused = error.code == .closed }
        #expect(refused)
    }

    @Test func `deletes, and says what is not there`() throws {
        let folder = TemporaryDirectory()
        let store = try DirectoryBlobStore(path: folder.file("blobs"))
        let id = try add([1, 2, 3], to: store)
        let blob = try store.open(id)
        #expect(try store.delete(id))
        #expect(try !store.delete(id))
        #expect(try !store.contains(id))
        #expect(throws: StoreError(.notFound, "")) { try store.open(id) }
        #expect(try blob.bytes(at: 0, count: 3) == [1, 2, 3], "who has it open reads on")
    }

    @Test func `sweeps away what a dead process left, and only that`() async throws {
        let folder = TemporaryDirectory()
        let path = folder.file("blobs")
        let store = try DirectoryBlobStore(path: path)
        let writer = try store.writer()
        try writer.append([UInt8](repeating: 1, count: 1000).rawSpan)
        for _ in 0..<3 {
            let result = try await runProcess(try crashWriter() + ["blobs", path, "\(Int.random(in: 30_000...90_000))"])
            #expect(result.status == .signaled(SIGKILL), "\(result.errorText)")
            for line in result.text.split(separator: "\n") {
                let id = try #require(BlobID(String(line)))
                let blob = try store.open(id)
                let content = try blob.bytes(at: 0, count: Int(blob.byteCount))
                #expect(Hex.encode(SHA256.hash(content.rawSpan)) == id.text, "an answered blob is whole")
            }
        }
        _ = try DirectoryBlobStore(path: path)
        #expect(names(in: path + "/partial").count == 1, "the living writer's file stays, the dead ones' go")
        try store.each { id in
            let blob = try store.open(id)
            let content = try blob.bytes(at: 0, count: Int(blob.byteCount))
            #expect(Hex.encode(SHA256.hash(content.rawSpan)) == id.text, "every name stands for its content")
        }
        let id = try writer.finish()
        #expect(try store.contains(id))
        #expect(names(in: path + "/partial") == [])
    }

    @Test func `says that the disk is full, and keeps nothing of it`() async throws {
        let folder = TemporaryDirectory()
        let result = try await runProcess(try crashWriter() + ["fullblob", folder.file("blobs"), "1000000"])
        #expect(result.text == "store.full\nworks again\n", "\(result.errorText)")
        #expect(names(in: folder.file("blobs/partial")) == [])
    }

    @Test(arguments: ["", "ab", String(repeating: "A", count: 64), "../" + String(repeating: "a", count: 61)])
    func `takes only digests for names`(text: String) {
        #expect(BlobID(text) == nil)
    }

    private func add(_ content: [UInt8], to store: DirectoryBlobStore, pieces: Int = 1 << 20) throws -> BlobID {
        let writer = try store.writer()
        for start in stride(from: 0, to: content.count, by: pieces) {
            try writer.append(Array(content[start..<min(content.count, start + pieces)]).rawSpan)
        }
        #expect(writer.byteCount == Int64(content.count))
        return try writer.finish()
    }

    private func readNow(_ blob: OpenBlob, at offset: Int64, count: Int) -> [UInt8]? {
        var isThere = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var output = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
            isThere = blob.readNow(at: offset, into: &output)
            initialized = unsafe output.finalize(for: UnsafeMutableRawBufferPointer(buffer))
        }
        #expect(isThere || bytes.isEmpty)
        return isThere ? bytes : nil
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}
