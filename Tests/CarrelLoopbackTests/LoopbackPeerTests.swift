import CarrelHTTP
import CarrelHTTPClient
import CarrelLoopback
import CarrelTesting
import Glibc
import Testing

struct `The peer of a session` {
    /// The status that curl gets, run with a prefix.
    private func status(_ prefix: [String], _ url: String, _ fields: [String] = []) async throws -> String {
        let curl = try requirePeer("curl")
        let command = prefix + [curl, "-sS", "-o", "/dev/null", "-w", "%{http_code}"] + fields.flatMap { ["-H", $0] } + [url]
        return String(decoding: try await runProcess(command).output, as: UTF8.self)
    }

    @Test(arguments: [LoopbackSession.TokenPlace.path, .header])
    func `is refused as another user, with the token and without it`(place: LoopbackSession.TokenPlace) async throws {
        guard geteuid() == 0 else { try Test.cancel("only root can be another user: nothing to test with") }
        let other = [try requirePeer("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
        try await TestSessions.run { sessions in
            let session = sessions.add(at: place)
            let url = place == .path ? session.base : "\(sessions.origin)/media/"
            let fields = place == .path ? [] : ["Authorization: Bearer \(session.token.text)"]
            let own = try await status([], url, fields)
            #expect(own == "200")
            for path in [url, "\(sessions.origin)/", "\(sessions.origin)/media/x/"] {
                #expect(try await status(other, path, fields) == "403", "\(path)")
            }
            #expect(session.count == 1)
        }
    }

    @Test func `may be kept to this process and its descendants`() async throws {
        let (shell, setsid, curl) = (try requirePeer("sh"), try requirePeer("setsid"), try requirePeer("curl"))
        try await TestSessions.run { sessions in
            let (own, open) = (sessions.add("own", clients: .ownProcesses), sessions.add("open"))
            let other = HTTPClient()
            for _ in 1...3 {
                #expect(try await sessions.get(own.base).status == .ok)
                #expect(try await other.send(ClientRequest(own.base)).status == .ok)
            }
            #expect(try await status([], own.base) == "200", "a child")
            #expect(try await status([shell, "-c", "\"$0\" \"$@\"; true"], own.base) == "200", "a grandchild")
            #expect(own.count == 8)
            // a program of the same user that is no child any more: the loop ends when its parent has
            let directory = TemporaryDirectory()
            let script = """
                : > begun
                read _ _ _ parent _ < /proc/$$/stat
                while [ "$(cat /proc/$parent/comm)" = setsid ]; do sleep 0.02; read _ _ _ parent _ < /proc/$$/stat; done
                \(curl) -sS -o first -w '%{http_code}' \(own.base) --next -sS -o second -w ' %{http_code}' \(own.base) \
                --next -sS -o third -w ' %{http_code}' \(open.base) > status.part 2>&1
                mv status.part status
                """
            // it is in a session of its own when it begins, and so is not ended with its parent
            let start = "\(setsid) -f \(shell) -c \"$0\" > /dev/null 2>&1 < /dev/null; while [ ! -e begun ]; do sleep 0.02; done"
            try await checkProcess([shell, "-c", start, script], directory: directory.path)
            try await eventually { directory.read("status") != nil }
            #expect(directory.read("status").map { String(decoding: $0, as: UTF8.self) } == "403 403 200")
            #expect(
                directory.read("first").map { String(decoding: $0, as: UTF8.self) }?.contains("loopback.otherProcess") == true
            )
            #expect(own.count == 8 && open.count == 1)
            try await eventually { sessions.server.runningCount(of: own.session) == 0 }
        }
    }

    @Test func `is one socket, which the kernel names once`() async throws {
        let listener = LoopbackServer { connection in while connection.read() != nil {} }
        let address = try #require(IPAddress("127.0.0.1"))
        var cookies: Set<UInt64> = []
        for _ in 1...20 {
            let socket = LoopbackPort.connect(listener.port)
            var name = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutablePointer(to: &name) { name in
                _ = unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(socket, $0, &length) }
            }
            let peer = Peer.network(address: "127.0.0.1", port: UInt16(bigEndian: name.sin_port))
            let found = try #require(LoopbackPeer(peer, connectedTo: address, port: listener.port))
            #expect(found.user == geteuid() && found.isHeldByOwnProcesses())
            #expect(LoopbackPeer(peer, connectedTo: address, port: listener.port) == found)
            cookies.insert(found.cookie)
            close(socket)
            // no process holds it any more, once those that other tests start have closed what they inherit
            try await eventually { LoopbackPeer(peer, connectedTo: address, port: listener.port) == nil }
        }
        #expect(cookies.count == 20 && !cookies.contains(0))
        for other in [
            Peer.network(address: "192.0.2.1", port: 1), .network(address: "unknown", port: 0), .local(userID: geteuid()),
        ] {
            #expect(LoopbackPeer(other, connectedTo: address, port: listener.port) == nil)
        }
    }
}
