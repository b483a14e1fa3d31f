import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelTesting
import Testing

@Suite(.onBothDatabases)
struct `A suspended account` {
    private let staff = Actor("operator")

    @Test func `hears nothing more from that moment on, and goes on where it was once it is open again`() async throws {
        let test = try await TestService()
        let (order, bobs) = (try await test.order(), try await test.order(.init(account: "bob", titleID: test.title.id)))
        let (playlist, other) = (try await test.playlist(order), try await test.playlist(bobs))
        let paths = [playlist.segments[2], test.path(of: playlist.key), "/v1/stream/hls/\(order.id)/playlist.m3u8"]
        for path in paths { #expect(try await test.send(.get, path).status == 200) }
        try await test.service.desk.change(order.accountID, .init(isSuspended: true), by: staff)
        for path in paths {
            let answer = try await test.call(.get, path)
            #expect(answer.status == 403)
            #expect(answer.json["code"] == "order.suspended")
            #expect(answer.json["reason"] == "suspended")
        }
        #expect(try await test.send(.get, other.segments[2]).status == 200)
        try await test.service.desk.change(order.accountID, .init(isSuspended: false), by: staff)
        for path in paths { #expect(try await test.send(.get, path).status == 200) }
    }

    @Test func `is noticed within a second where another process suspended it`() async throws {
        let test = try await TestService()
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let home = try Home(at: test.directory.path)
        let other = try await CarrelService.open(home, database: test.service.database, clock: test.clock)
        try await other.desk.change(order.accountID, .init(isSuspended: true), by: staff)
        test.clock.set(test.clock.now + .milliseconds(1000))
        #expect(try await test.call(.get, playlist.segments[0]).json["reason"] == "suspended")
    }

    @Test func `is nobody's guest account`() async throws {
        let test = try await TestService {
            $0.stream.access = .session
            $0.guestAccount = "alice"
        }
        let order = try await test.order()
        let paths = ["/v1/shelf", "/v1/stream/hls/\(order.id)/playlist.m3u8"]
        for path in paths { #expect(try await test.send(.get, path).status == 200) }
        try await test.service.desk.change(order.accountID, .init(isSuspended: true), by: staff)
        #expect(try await test.send(.get, paths[0]).status == 401)
        #expect(try await test.send(.get, paths[1]).status == 404)
    }
}
