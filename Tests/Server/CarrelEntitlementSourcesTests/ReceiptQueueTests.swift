// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEntitlementSources
import CarrelHTTP
import CarrelReceipts
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelWebAPI
import Glibc
import Testing

@testable import CarrelServer

struct `Receipts that come while too many are being checked` {
    @Test func `are answered with 503 and Retry-After, and are not checked once their client has gone`() async throws {
        let test = try await TestService(with: [.feeds, .administration])
        let store = try await TestStore()
        let roots = try CertificateRoots([try Certificate(der: store.root)])
        var settings = ReceiptSettings()
        settings.verifier = TransactionVerifier(roots: roots, bundleIDs: ["com.example.reader"])
        let receipts = Receipts(
            database: test.service.database,
            clock: test.clock,
            settings: settings,
            lifecycle: AccountLifecycle()
        )
        let (isHeld, isOver) = (Locked(false), Locked(false))
        try receipts.threads.start {
            isHeld.withLock { $0 = true }
            while !isOver.withLock(\.self) { usleep(200) }
        }
        while !isHeld.withLock(\.self) { await Task.yield() }
        let waiting = (0..<16).map { _ in Task { try await receipts.check(["rubbish"]) } }
        while receipts.threads.waiting < 16 { await Task.yield() }
        let refusal = await #expect(throws: RuleError.self) { try await receipts.check(["rubbish"]) }
        let problem = refusal?.problem
        #expect(problem?.code.identifier == "receipts.busy" && problem?.status == .serviceUnavailable)
        #expect(problem?.headers["Retry-After"] == "5")
        for task in waiting.dropFirst() { task.cancel() }
        while receipts.threads.waiting > 1 { await Task.yield() }
        isOver.withLock { $0 = true }
        let checked = try await waiting[0].value
        #expect(checked.count == 1)
        for task in waiting.dropFirst() { await #expect(throws: CancellationError.self) { try await task.value } }
        let names = BlockingThreadPool.counts().map(\.name)
        #expect(names.contains("receipts") && names.contains("sqlite-search"))
    }

    @Test func `are counted, as every queue is, in the metrics`() async throws {
        let test = try await TestService(with: [.feeds, .administration])
        let reply = try await test.send(.get, "/metrics", peer: .local(userID: 0))
        let text = String(decoding: reply.body, as: UTF8.self)
        for name in ["sqlite-read", "sqlite-write", "sqlite-search", "passwords", "receipts", "cold-read", "ingest", "blobs"] {
            #expect(text.contains("carrel_queue_waiting{queue=\"\(name)\"} "), "\(name)")
            #expect(text.contains("carrel_queue_refused_total{queue=\"\(name)\"} "), "\(name)")
        }
    }
}

@Suite(.onBothDatabases)
struct `Searches that come while too many wait` {
    @Test func `are answered with 503 while other reads continue, and leave the queue with their client`() async throws {
        let test = try await TestService(with: [.feeds, .administration])
        let database = test.service.database
        let threads = 1
        let (isOver, started, refused) = (Locked(false), Locked(0), Locked(0))
        let held = (0..<threads).map { _ in
            Task {
                try await database.search { _ in
                    started.withLock { $0 += 1 }
                    while !isOver.withLock(\.self) { usleep(200) }
                }
            }
        }
        while started.withLock(\.self) < threads { await Task.yield() }
        let searches = (0..<80).map { _ in
            Task {
                do {
                    return try await database.search { _ in 1 }
                } catch let error as StoreError where error.code == .busy {
                    refused.withLock { $0 += 1 }
                    return 0
                }
            }
        }
        while refused.withLock(\.self) < 16 { await Task.yield() }
        let reply = try await test.send(.get, "/opds/v2/search?query=x")
        #expect(reply.status == 503 && reply.headers["Retry-After"] == "1")
        _ = try await database.read { try $0.row(EditionStore.mark) }
        for search in searches { search.cancel() }
        for search in searches { _ = try? await search.value }
        let next = Task { try await database.search { _ in 2 } }
        isOver.withLock { $0 = true }
        #expect(try await next.value == 2, "there is room again")
        for task in held { try await task.value }
        #expect(refused.withLock(\.self) == 16)
    }
}
