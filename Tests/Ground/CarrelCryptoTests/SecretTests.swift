// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

struct `Secret bytes` {
    @Test func `does not print its bytes in any of the usual ways`() {
        let secret = Secret(Array("correct horse battery staple 123".utf8))
        var dumped = ""
        dump([secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: Optional(secret)), dumped] {
            #expect(text.contains("Secret(32 bytes)"))
            #expect(!text.contains("horse") && !text.contains("99, 111"))
        }
    }

    @Test(arguments: [0, 1, 16, 32, 64, 65, 4096, 100_000])
    func `keeps bytes of any length`(length: Int) {
        let secret = Secret(bytes(length))
        #expect(secret.count == length)
        #expect(secret.withBytes { [UInt8](copying: $0) } == bytes(length))
        #expect(secret == Secret(bytes(length)))
    }

    @Test func `is equal only to the same bytes of the same length`() {
        let secret = Secret(bytes(16))
        #expect(secret != Secret(bytes(17)))
        for index in 0..<16 {
            var other = bytes(16)
            other[index] ^= 0x80
            #expect(secret != Secret(other))
        }
    }

    @Test func `in an array is wiped in place, and not in an array that shares its bytes`() {
        var array = bytes(100)
        let shared = array
        SecretMemory.wipe(&array)
        #expect(array == [UInt8](repeating: 0, count: 100) && shared == bytes(100))
        let address = unsafe array.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        array[0] = 1
        SecretMemory.wipe(&array)
        #expect(unsafe array.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == address && array[0] == 0)
        var empty: [UInt8] = []
        SecretMemory.wipe(&empty)
        #expect(empty.isEmpty)
    }

    @Test func `is wiped when released`() {
        var secrets = (0..<8).map { _ in Secret([UInt8](repeating: 0xa5, count: 64)) }
        let addresses = secrets.map { secret in
            secret.withBytes { unsafe $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
        }
        secrets = []
        // the pages of small secrets stay ours, so looking at them is allowed; another test may hold a slot again by now
        let left = addresses.filter { address in
            guard let start = unsafe UnsafeRawPointer(bitPattern: address) else { return true }
            return (0..<64).contains { unsafe start.load(fromByteOffset: $0, as: UInt8.self) == 0xa5 }
        }
        #expect(left.isEmpty)
    }

    @Test(arguments: [32, 100_000])
    func `lies in pages that core dumps leave out`(length: Int) throws {
        let secret = Secret(bytes(length))
        let address = secret.withBytes { unsafe $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
        #expect(try mappingFlags(of: address).contains("dd"))
    }

    @Test func `is never issued twice at a time`() async {
        await withTaskGroup(of: Bool.self) { group in
            for mark in UInt8(1)...8 {
                group.addTask {
                    (0..<100).allSatisfy { _ in
                        let mine = (0..<16).map { _ in Secret([UInt8](repeating: mark, count: 64)) }
                        return mine.allSatisfy { $0 == Secret([UInt8](repeating: mark, count: 64)) }
                    }
                }
            }
            for await right in group { #expect(right) }
        }
    }
}

struct `Randomness` {
    @Test func `does not repeat`() {
        #expect(Set((0..<1000).map { _ in Random.bytes(16) }).count == 1000)
        #expect(Random.bytes(0) == [])
        // more than the system gives at a time: no byte stays what it was
        for count in [255, 256, 257, 1000] {
            let draws = (0..<8).map { _ in Random.bytes(count) }
            #expect(draws.allSatisfy { $0.count == count })
            #expect((0..<count).allSatisfy { at in Set(draws.map { $0[at] }).count > 1 })
        }
        #expect(Secret.random(count: 32) != Secret.random(count: 32))
    }

    @Test func `makes UUIDs as RFC 9562 writes version 4`() {
        let ids = (0..<1000).map { _ in Random.uuid() }
        #expect(Set(ids).count == 1000)
        #expect(
            ids.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil }
        )
    }

    @Test(
        arguments: [
            ([1, 2, 3], [1, 2, 3], true), ([1, 2, 3], [1, 2, 4], false), ([1, 2, 3], [1, 2], false), ([], [], true),
        ] as [([UInt8], [UInt8], Bool)]
    )
    func `compares runs of bytes`(a: [UInt8], b: [UInt8], same: Bool) {
        #expect(constantTimeEqual(a.rawSpan, b.rawSpan) == same)
    }
}
