// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelWorks
import Glibc
import Testing

@testable import CarrelServer

/// Every search is compared with a scan of all texts, which is how editions were found before there was an index.
@Suite(.onBothDatabases)
struct `The index of the catalog` {
    private let staff = AuditActor("operator")

    private static let scan = SQL(
        """
        SELECT product_id FROM editions
        WHERE state = 'published' AND search_title LIKE $1 ESCAPE '!' AND search_author LIKE $2 ESCAPE '!'
            AND search_text LIKE $3 ESCAPE '!' AND search_text LIKE $4 ESCAPE '!'
        """
    )

    private func scan(_ test: TestService, _ words: [String], title: String = "", author: String = "") async throws -> Set<String>
    {
        let all = [title, author] + (words + ["", ""]).prefix(2)
        let patterns = all.map { SQLValue.text(SearchText.pattern(SearchText.wanted($0))) }
        return try await test.service.database.read { Set(try $0.rows(Self.scan, patterns).map { try $0.text(0) }) }
    }

    private func find(_ test: TestService, _ search: EditionSearch) async throws -> [String] {
        try await test.service.database.search {
            try EditionStore.find(search, limit: 1000, offset: 0, in: $0).editions.map(\.productID)
        }
    }

    private func find(_ test: TestService, _ words: String) async throws -> [String] {
        var search = EditionSearch()
        search.words = words
        return try await find(test, search)
    }

    private static let titles = [
        "Eisenbahn heute", "Bahnhof Zoo", "Die Bahn", "東京物語", "東京の夜", "北京 2008", "Дорога домой", "O'Brien & Sons: \"50%\" off!",
        "a_b", "İstanbul'da Straße", "c++ (2nd ed.)", "👩‍🚀 space", "zzzz", "Ａ full-width", "x", "AND OR NOT NEAR",
        "tab\tand\u{a0}nbsp",
    ]

    private func filled() async throws -> TestService {
        let test = try await TestService(with: .feeds)
        for (number, title) in Self.titles.enumerated() {
            var metadata = TitleMetadata(title: title)
            metadata.authors = number % 2 == 0 ? ["Ann Bahnsen"] : ["李明"]
            try await test.add(product: "p.\(number)", metadata: metadata, issued: number)
        }
        return test
    }

    @Test func `finds what a scan of all texts finds: parts of compounds, one character, Chinese, punctuation`() async throws {
        let test = try await filled()
        let words = [
            "bahn", "BAHN", "eisenb", "senbah", "hof", "e", "ei", "東京", "京", "京物語", "2008", "дорог", "ом", "o'b", "\"50", "50%",
            "%", "_",
            "a_b", "!", "&", "i̇st", "straße", "++", "c++", "(2nd", "👩‍🚀", "🚀", "zzz", "zzzz", "zzzzz", "ａ", "p.1", "p.", "and",
            "not",
            "near", "x", "nbsp", "李", "bahnsen", "'", "\\", "ann", "*", "\"", "a:b", "nothing like it",
        ]
        for word in words {
            let parts = word.split(separator: " ").map(String.init)
            let wanted = parts.count > 2 ? [] : try await scan(test, parts)
            #expect(Set(try await find(test, word)) == wanted, "\(word)")
        }
        for (one, other) in [("bahn", "ann"), ("東", "京"), ("e", "ahn"), ("bahn", "京")] {
            #expect(Set(try await find(test, "\(one) \(other)")) == (try await scan(test, [one, other])), "\(one) \(other)")
        }
        for phrase in ["die bahn", "bahn", "京", "e h"] {
            var search = EditionSearch()
            search.title = phrase
            #expect(Set(try await find(test, search)) == (try await scan(test, [], title: phrase)), "\(phrase)")
            search.author = "n b"
            #expect(Set(try await find(test, search)) == (try await scan(test, [], title: phrase, author: "n b")), "\(phrase)")
        }
    }

    @Test func `finds every part of made-up texts that a scan finds`() async throws {
        let test = try await TestService(with: .feeds)
        var random = SplitMix(seed: 7)
        let letters = Array("aab ßé京都.-'%_!\"\\ 😀Ж9".unicodeScalars)
        func text(_ count: Int) -> String {
            var view = String.UnicodeScalarView()
            for _ in 0..<count { view.append(letters[Int.random(in: 0..<letters.count, using: &random)]) }
            return String(view)
        }
        for number in 0..<60 { try await test.add(product: "p\(number)", metadata: TitleMetadata(title: text(12))) }
        for _ in 0..<300 {
            let wanted = text(Int.random(in: 1...4, using: &random))
            let words = wanted.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty, words.count <= 2 else { continue }
            #expect(Set(try await find(test, wanted)) == (try await scan(test, words)), "\(wanted.debugDescription)")
        }
    }

    @Test func `puts words that begin with what is looked for first, then compounds, authors, the rest; the newest among equals`()
        async throws
    {
        let test = try await filled()
        #expect(
            try await find(test, "bahn")
                == ["p.2", "p.1", "p.0", "p.16", "p.14", "p.12", "p.10", "p.8", "p.6", "p.4"]
        )
        #expect(try await find(test, "p.1").first == "p.16", "a product id is found like any other text")
    }

    @Test func `counts what it found by kind, price and language, whatever of these is asked for`() async throws {
        let test = try await filled()
        var search = EditionSearch()
        search.words = "bahn"
        search.price = .free
        let found = try await test.service.database.search { [search] in
            try EditionStore.find(search, limit: 5, offset: 0, in: $0)
        }
        #expect(found.editions.isEmpty)
        #expect(found.counts == [.init(kind: .edition, price: .paid, language: "", count: 10)])
        search.price = .paid
        let page = try await test.service.database.search { [search] in try EditionStore.find(search, limit: 4, offset: 4, in: $0)
        }
        #expect(page.editions.map(\.productID) == ["p.14", "p.12", "p.10", "p.8"])
    }

    @Test func `follows each change of an edition in its own transaction, and forgets what is withdrawn`() async throws {
        let test = try await TestService(with: .feeds)
        let path = EditionFiles.folder(test.directory)
        var terms = Edition.Terms(productID: "p")
        terms.isDraft = true
        _ = try await test.service.ingesting.ingest(path, EditionOptions(productID: "p"), terms, by: staff)
        #expect(try await find(test, "issue") == [])
        #expect(try await indexed(test) == 0, "a draft is not in the index")
        _ = try await test.service.editions.publish("p", by: staff)
        #expect(try await find(test, "ssue") == ["p"])
        var change = Editions.Change()
        change.metadata.title = "Eisenbahn"
        _ = try await test.service.editions.change("p", change, by: staff)
        #expect(try await find(test, "ssue") == [])
        #expect(try await find(test, "bahn") == ["p"])
        _ = try await test.service.editions.withdraw("p", by: staff)
        #expect(try await find(test, "bahn") == [])
        #expect(try await indexed(test) == 0)
        _ = try await test.service.editions.publish("p", by: staff)
        #expect(try await find(test, "bahn") == ["p"])
        #expect(try await indexed(test) == 1)
    }

    private static let indexed = SQL(
        sqlite: "SELECT count(*) FROM edition_search",
        postgresql: "SELECT count(*) FROM editions WHERE search_grams IS NOT NULL"
    )

    private func indexed(_ test: TestService) async throws -> Int64? {
        try await test.service.database.read { try $0.row(Self.indexed)?.integer(0) }
    }

    @Test func `indexes editions of an earlier version in the background`() async throws {
        let test = try await filled()
        try await test.service.database.write { transaction in
            try transaction.run(SQL("UPDATE editions SET search_version = 0, search_at = 0"))
            try transaction.run(
                SQL(sqlite: "DELETE FROM edition_search", postgresql: "UPDATE editions SET search_grams = NULL")
            )
        }
        #expect(try await find(test, "bahn") == [])
        let other = try await test.another()
        #expect(try await find(test, "bahn") == [], "opening waits for no index: commands and readiness would")
        #expect(try await test.send(.get, "/opds/v2/search?query=bahn").status == 200, "a search answers with what there is")
        try await other.catalog.completeIndex()
        #expect(try await find(test, "bahn").count == 10)
        await other.database.close()
    }

    /// As an earlier version writes an edition, which knows nothing of the index.
    private static let formerUpdate = SQL(
        "UPDATE editions SET state = $2, updated_at = $3, search_title = $4, search_text = $4 WHERE product_id = $1"
    )

    @Test func `follows concurrent writes of a node of an earlier version`() async throws {
        let test = try await filled()
        func change(_ product: String, _ title: String, state: String = "published") async throws {
            test.clock.advance(by: .seconds(3600))
            let now = test.clock.now
            try await test.service.database.write {
                try $0.run(Self.formerUpdate, [.text(product), .text(state), .instant(now), .text(title)])
            }
        }
        try await change("p.1", "flugzeug")
        #expect(!(try await find(test, "bahn").contains("p.1")), "the text decides, whatever the index says")
        try await change("p.3", "zeppelin", state: "withdrawn")
        try await test.service.catalog.completeIndex()
        #expect(try await find(test, "flugz") == ["p.1"])
        #expect(try await find(test, "zepp") == [])
        #expect(try await indexed(test) == Int64(Self.titles.count - 1), "what it withdrew leaves the index")
        try await change("p.3", "zeppelin")
        try await test.service.catalog.completeIndex()
        #expect(try await find(test, "zepp") == ["p.3"])
        let left = try await test.service.database.read { try $0.rows(EditionStore.notIndexed, [1, 10]).count }
        #expect(left == 0)
    }

    @Test func `keeps a search of hundreds of characters and words within bounds`() async throws {
        let test = try await filled()
        for words in [
            String(repeating: "eisenbahn", count: 100), String(repeating: "bahn ", count: 200),
            String(repeating: "京", count: 300),
        ] {
            let target = "/opds/v2/search?query=\(PercentEncoding.encode(words))"
            #expect(try await test.send(.get, target).status == 200)
        }
        #expect(SearchGrams.index((0..<100_000).map { "\($0)" }.joined(separator: " ")).utf8.count < 1 << 20)
    }
}

/// One queue for all searches, of which no client takes more than its share.
@Suite(.onBothDatabases)
struct `The queue of searches` {
    /// Keeps the thread of searches busy until the gate opens.
    private func occupy(_ database: any Database, until isOpen: Locked<Bool>) async -> Task<Void, any Error> {
        let hasStarted = Locked(false)
        let task = Task {
            try await database.search { _ in
                hasStarted.withLock { $0 = true }
                while !isOpen.withLock(\.self) { usleep(1000) }
            }
        }
        while !hasStarted.withLock(\.self) { await Task.yield() }
        return task
    }

    @Test func `has an eighth of its places for one network, and leaves pages without words alone`() async throws {
        let test = try await TestService(with: .feeds)
        try await test.add(["p1": "eisenbahn", "p2": "zoo"])
        let isOpen = Locked(false)
        let occupation = await occupy(test.service.database, until: isOpen)
        func search(_ address: String, _ target: String = "/opds/v2/search?query=e") async throws -> (Int, String?) {
            let answer = try await test.send(.get, target, peer: .network(address: address, port: 1))
            return (answer.status, answer.headers["Retry-After"])
        }
        try await withThrowingTaskGroup(of: (Int, String?).self) { group in
            for number in 0..<20 {
                let target = number % 2 == 0 ? "/opds/v2/search?query=e" : "/opds/v1/search?q=e"
                group.addTask { try await search("2001:db8::\(number)", target) }
            }
            for _ in 0..<12 {
                let refused = try #require(try await group.next())
                #expect(refused == (503, "1"), "eight of twenty wait, the others are refused immediately")
            }
            for target in ["/opds/v2", "/opds/v2?kind=edition", "/opds/v2/search?query=%20", "/opds/v1"] {
                #expect(try await search("2001:db8::1", target).0 == 200, "\(target) waits for no search")
            }
            // Other networks find places, and so does this machine, however many it asks for.
            for number in 0..<10 {
                group.addTask { try await search("198.51.100.\(number)") }
                group.addTask { try await search("127.0.0.1") }
            }
            isOpen.withLock { $0 = true }
            for try await (status, _) in group { #expect(status == 200) }
        }
        try await occupation.value
        #expect(try await search("2001:db8::1").0 == 200, "a search that ended gives its place back")
    }
}

/// The cost of searches for other requests: figures for docs/performance.md, compared with the former scan.
@Suite(.onBothDatabases, .enabled(if: longRun, "runs where CARREL_LONG is set"))
struct `Fifty clients that search a catalog of 5,000 editions` {
    private static let scan = SQL(
        """
        SELECT e.price, count(*) FROM editions e JOIN titles t ON t.id = e.title_id
        WHERE e.state = 'published' AND e.search_title LIKE '%' AND e.search_text LIKE $1 ESCAPE '!' GROUP BY e.price
        """
    )

    @Test func `leave other reads quick`() async throws {
        let test = try await TestService(with: .feeds)
        var random = SplitMix(seed: 3)
        let words = (0..<2000).map { _ in
            String(
                (0..<Int.random(in: 3...9, using: &random)).map { _ in
                    Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random)))
                }
            )
        }
        var titles: [String: String] = [:]
        for number in 0..<5000 {
            let text =
                (0..<150).map { _ in words.randomElement(using: &random) ?? "" } + ["eisenbahn"].prefix(number % 20 == 0 ? 1 : 0)
            titles["p\(number)"] = text.joined(separator: " ")
        }
        try await test.add(titles)
        let database = test.service.database
        let wanted = ["bahn", "e", "product", String(words[7].prefix(4)), words[9], "isenb"]
        for (name, isScan) in [("scan on the readers' threads", true), ("index, in a queue of its own", false)] {
            let (isOver, done, refused) = (Locked(false), Locked(0), Locked(0))
            var waits: [Duration] = []
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<50 {
                    group.addTask {
                        while !isOver.withLock(\.self) {
                            let word = wanted[client % wanted.count]
                            if isScan {
                                let pattern = SQLValue.text(SearchText.pattern(word))
                                for _ in 0..<2 { _ = try await database.read { try $0.rows(Self.scan, [pattern]) } }
                                done.withLock { $0 += 1 }
                            } else {
                                let peer = Peer.network(address: "198.51.100.\(client)", port: 1)
                                let status = try await test.send(.get, "/opds/v2/search?query=\(word)", peer: peer).status
                                (status == 200 ? done : refused).withLock { $0 += 1 }
                            }
                        }
                    }
                }
                for _ in 0..<60 {
                    try await Task.sleep(for: .milliseconds(25))
                    let start = ContinuousClock.now
                    _ = try await database.read { try EditionStore.edition(product: "p7", in: $0) }
                    waits.append(ContinuousClock.now - start)
                }
                isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
            waits.sort()
            let (median, worst) = (waits[waits.count / 2], waits[waits.count - 1])
            print(
                "\(database.engine), \(name): another read takes \(median), \(worst) at most; \(done.withLock(\.self)) searches, \(refused.withLock(\.self)) refused"
            )
            if !isScan {
                #expect(median < .milliseconds(20) && worst < .milliseconds(500))
                #expect(refused.withLock(\.self) == 0, "fifty clients of fifty networks fit into the queue")
                #expect(done.withLock(\.self) > 20, "and they have answers")
            }
        }
    }
}
