// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore
import CarrelTesting
import Testing

@testable import CarrelPublication

/// A store that has lost its disk.
private struct BrokenStore: UserRightsStore {
    func used(_ right: CountedRight, of publication: String) async throws(UserRightsError) -> Int {
        throw UserRightsError(.unavailable, "the disk is gone")
    }

    func use(
        _ amount: Int,
        of right: CountedRight,
        publication: String,
        limit: Int,
        requestID: String?,
        content: [UInt8]?
    ) async throws(UserRightsError) -> Bool {
        throw UserRightsError(.unavailable, "the disk is gone")
    }
}

@Suite("Rights that are counted")
struct UserRightsTests {
    private let directory = TemporaryDirectory()

    private func store() throws -> DatabaseUserRightsStore { try DatabaseUserRightsStore(path: directory.file("rights.db")) }

    private func rights(copy: Int?, print: Int?, _ store: any UserRightsStore) -> MeteredUserRights {
        MeteredUserRights(publication: "license-1", copy: copy, print: print, store: store)
    }

    @Test func `are used up by what is copied, in Unicode scalars, and by nothing else`() async throws {
        let rights = rights(copy: 7, print: 2, try store())
        // e with a combining accent is two, and the flag too
        let text = "e\u{301}\u{1F1EB}\u{1F1F7}"
        #expect(await rights.canCopy(text))
        #expect(try await rights.remaining(.copy) == 7)
        #expect(await rights.copy(text))
        #expect(try await rights.remaining(.copy) == 3)
        #expect(await rights.copy("abcd") == false)
        #expect(try await rights.remaining(.copy) == 3)
        #expect(await rights.copy("abc"))
        #expect(await rights.canCopy == false)
        #expect(await rights.copy("a") == false)
        #expect(await rights.copy(""))
    }

    @Test func `without a store have nothing left of forbidden rights, and no limit otherwise`() async throws {
        let expected: [(any UserRights, Int?, Int?)] = [
            (UnrestrictedUserRights(), nil, nil), (AllRestrictedUserRights(), 0, 0),
            (FixedUserRights(copy: true, print: false), nil, 0), (FixedUserRights(copy: false, print: true), 0, nil),
        ]
        for (rights, copy, print) in expected {
            #expect(try await rights.remaining(.copy) == copy, "\(rights)")
            #expect(try await rights.remaining(.print) == print, "\(rights)")
        }
    }

    @Test func `differ from rights that allow everything, also by default`() throws {
        let store = try store()
        let limited: [any UserRights] = [
            rights(copy: 1_000_000, print: nil, store), rights(copy: nil, print: 0, store), AllRestrictedUserRights(),
            FixedUserRights(copy: true, print: false), FixedUserRights(copy: false, print: true),
        ]
        for rights in limited { #expect(!rights.isUnlimited) }
        let all: [any UserRights] = [
            rights(copy: nil, print: nil, store), UnrestrictedUserRights(), FixedUserRights(copy: true, print: true),
        ]
        for rights in all { #expect(rights.isUnlimited) }
    }

    @Test func `deny access if the store fails: an error is not "no limit" (defect 4)`() async throws {
        let rights = rights(copy: 10, print: 10, BrokenStore())
        #expect(await rights.canCopy == false)
        #expect(await rights.canCopy("a") == false)
        #expect(await rights.copy("a") == false)
        #expect(await rights.canPrint == false)
        #expect(await rights.canPrint(pageCount: 1) == false)
        #expect(await rights.print(pageCount: 1) == false)
        await #expect(throws: UserRightsError(.unavailable, "")) { try await rights.remaining(.copy) }

        let closed = try store()
        await closed.close()
        #expect(await self.rights(copy: 10, print: nil, closed).copy("a") == false)
        directory.write("broken.db", Array(repeating: 7, count: 10_000))
        #expect(throws: UserRightsError(.unavailable, "")) { try DatabaseUserRightsStore(path: directory.file("broken.db")) }
    }

    @Test(arguments: [(0, false), (1, true), (5, true), (6, false)])
    func `report the requested right (defect 6)`(amount: Int, isAllowed: Bool) async throws {
        let rights = rights(copy: 5, print: 5, try store())
        #expect(await rights.canPrint(pageCount: amount) == isAllowed)
        if amount > 0 { #expect(await rights.canCopy(String(repeating: "x", count: amount)) == isAllowed) }
        #expect(await rights.print(pageCount: amount) == isAllowed)
        #expect(await rights.canPrint == (amount != 5))
    }

    @Test func `to print are not those to copy (swift 717)`() async throws {
        let rights = rights(copy: 10, print: 10, try store())
        #expect(await rights.print(pageCount: 4))
        #expect(try await rights.remaining(.copy) == 10)
        #expect(try await rights.remaining(.print) == 6)
        #expect(await rights.copy("abc"))
        #expect(try await rights.remaining(.copy) == 7)
        #expect(try await rights.remaining(.print) == 6)
    }

    @Test func `are unlimited where there is no limit, and none where it is less than nothing`() async throws {
        let rights = rights(copy: nil, print: -1, try store())
        #expect(await rights.canCopy)
        #expect(await rights.copy(String(repeating: "x", count: 1_000_000)))
        #expect(try await rights.remaining(.copy) == nil)
        #expect(await rights.canPrint == false)
        #expect(await rights.print(pageCount: 1) == false)
        #expect(try await rights.remaining(.print) == 0)
    }

    @Test func `that are asked for again under the same name are used once`() async throws {
        let rights = rights(copy: 10, print: 10, try store())
        for _ in 0..<3 { #expect(await rights.copy("abcdef", requestID: "one")) }
        #expect(try await rights.remaining(.copy) == 4)
        // another amount is another request, and so is the same name for another right
        #expect(await rights.copy("a", requestID: "one") == false)
        #expect(await rights.print(pageCount: 6, requestID: "one"))
        #expect(await rights.copy("abcdef", requestID: "two") == false)
        #expect(await rights.copy("abcd", requestID: "two"))
        #expect(try await rights.remaining(.copy) == 0)
        await #expect(throws: UserRightsError(.differentRequest, "")) {
            try await store().use(1, of: .copy, publication: "license-1", limit: 10, requestID: "one")
        }
    }

    @Test func `to copy that are asked for again under the same name are those to the same text`() async throws {
        let rights = rights(copy: 10, print: 10, try store())
        #expect(await rights.copy("abc", requestID: "one"))
        #expect(await rights.copy("xyz", requestID: "one") == false)
        #expect(await rights.copy("abc", requestID: "one"))
        #expect(await rights.copy("abc", requestID: "two"))
        #expect(try await rights.remaining(.copy) == 4)
    }

    @Test func `to copy that an earlier version granted are bound to the text of the first repeat`() async throws {
        let store = try store()
        #expect(try await store.use(3, of: .copy, publication: "a", limit: 10, requestID: "one", content: nil))
        #expect(try await store.use(3, of: .copy, publication: "a", limit: 10, requestID: "one", content: [1]))
        await #expect(throws: UserRightsError(.differentRequest, "")) {
            try await store.use(3, of: .copy, publication: "a", limit: 10, requestID: "one", content: [2])
        }
        #expect(try await store.used(.copy, of: "a") == 3)
    }

    @Test func `of a negative amount are an error and give nothing back`() async throws {
        let store = try store()
        #expect(try await store.use(3, of: .copy, publication: "a", limit: 10, requestID: nil))
        await #expect(throws: UserRightsError(.invalidAmount, "")) {
            try await store.use(-2, of: .copy, publication: "a", limit: 10, requestID: nil)
        }
        #expect(try await store.used(.copy, of: "a") == 3)
        #expect(try await store.used(.copy, of: "b") == 0)
        #expect(try await !store.use(.max, of: .copy, publication: "a", limit: .max, requestID: nil))
    }

    @Test func `keep no more requests than they say`() async throws {
        let store = try store()
        for number in 1...DatabaseUserRightsStore.requestLimit + 1 {
            #expect(try await store.use(1, of: .copy, publication: "a", limit: 10_000, requestID: "\(number)"))
        }
        let all = DatabaseUserRightsStore.requestLimit + 1
        #expect(try await store.use(1, of: .copy, publication: "a", limit: 10_000, requestID: "2"))
        #expect(try await store.used(.copy, of: "a") == all)
        #expect(try await store.use(1, of: .copy, publication: "a", limit: 10_000, requestID: "1"))
        #expect(try await store.used(.copy, of: "a") == all + 1)
    }

    @Test func `are never exceeded, with any number of concurrent callers and connections`() async throws {
        let stores = [try store(), try store()]
        let granted = await withTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                let rights = rights(copy: 100, print: nil, stores[number % 2])
                group.addTask { await rights.copy("xyz", requestID: number.isMultiple(of: 3) ? "\(number)" : nil) ? 3 : 0 }
            }
            return await group.reduce(0, +)
        }
        #expect(granted == 99)
        #expect(try await stores[0].used(.copy, of: "license-1") == 99)
    }

    @Test func `may be counted in a database that has tables of an app`() async throws {
        let database = try SQLiteDatabase(
            path: directory.file("app.db"),
            migrations: [
                Migration(version: 1, name: "shelf", statements: [SQL("CREATE TABLE shelf (book TEXT PRIMARY KEY)")]),
                DatabaseUserRightsStore.migration(version: 2), DatabaseUserRightsStore.contentMigration(version: 3),
            ]
        )
        let rights = try await rights(copy: 1, print: 1, DatabaseUserRightsStore(database))
        #expect(await rights.copy("a"))
        #expect(await rights.copy("a") == false)
        await database.close()
    }

    @Test(arguments: ["migration(version:)", "contentMigration(version:)"])
    func `are not counted in a database without their tables, and the error names the missing step`(missing: String) async throws
    {
        let shelf = Migration(version: 1, name: "shelf", statements: [SQL("CREATE TABLE shelf (book TEXT PRIMARY KEY)")])
        let known = missing.hasPrefix("content") ? [shelf, DatabaseUserRightsStore.migration(version: 2)] : [shelf]
        let database = try SQLiteDatabase(path: directory.file("app.db"), migrations: known)
        let error = await #expect(throws: UserRightsError(.migration, "")) { try await DatabaseUserRightsStore(database) }
        #expect(error?.message.contains("add DatabaseUserRightsStore.\(missing) to its migrations") == true)
        await database.close()
        await #expect(throws: UserRightsError(.unavailable, "")) { try await DatabaseUserRightsStore(database) }
    }
}
