// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelTesting
import Testing

struct `A download` {
    @Test func `saves a stream: all keys first, each segment once`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let events = queue.events()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .completed, "\(item.reason ?? "") \(item.message ?? "")")
        #expect(item.title == "master.m3u8")
        #expect(world.isWhole(item.id, count: 8))
        #expect(item.done == item.total && item.done == 8 * 20_000)
        let log = world.server.log
        #expect(log.first == "master.m3u8")
        let key = try #require(log.firstIndex(of: "key"))
        let segment = try #require(log.firstIndex { $0.hasPrefix("segment") })
        #expect(key < segment)
        #expect(Set(world.server.segments).count == 8 && world.server.segments.count == 8)
        var seen: [String] = []
        for await event in events {
            switch event {
            case .located: seen.append("located")
            case .changed(let item): seen.append(item.state.rawValue)
            case .progress(_, let selection, let loaded, let expected):
                #expect(selection.kind == "video" && loaded <= expected && expected == .seconds(32))
            case .selectionFinished: seen.append("selection")
            case .finished: seen.append("finished")
            case .failed(_, let error): seen.append("\(error)")
            }
            if seen.last == "finished" { break }
        }
        #expect(seen == ["queued", "fetching-keys", "located", "downloading", "selection", "verifying", "completed", "finished"])
        await queue.close()
    }
}
