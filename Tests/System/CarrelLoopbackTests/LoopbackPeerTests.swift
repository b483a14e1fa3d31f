// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelLoopback
import CarrelTesting
import CarrelThreads
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
        let shell = try requirePeer("sh")
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
            let answers = try await outsider([[own.base], [own.base], [open.base]])
            #expect(answers.map(\.status) == ["403", "403", "200"])
            #expect(answers[0].body.contains("loopback.other-process"))
            #expect(own.count == 8 && open.count == 1)
            try await eventually { sessions.server.runningCount(of: own.session) == 0 }
        }
    }

    @Test func `is judged by its connection, not by an address that another process had before`() async throws {
        try await TestSessions.run { sessions in
            let (own, port) = (sessions.add("own", clients: .ownProcesses), Locked<UInt16>(0))
            let asking = sessions.add { request in
                if case .network(_, let own) = request.http.peer { port.withLock { $0 = own } }
                return .empty()
            }
            // other connections of this machine may share the port, so that the first one may not be free
            for attempt in 1...20 {
                try await ask([asking.base, own.base, own.base], sessions)
                #expect(own.count == 2 * attempt)
                let status = try await outsider([["--local-port", "\(port.withLock { $0 })", own.base]])[0].status
                #expect(own.count == 2 * attempt)
                guard status == "000" else {
                    #expect(status == "403")
                    return
                }
            }
            Issue.record("no port was free for another process")
        }
    }

    /// Sends requests on one connection and resets it, so that its port is free.
    private func ask(_ addresses: [String], _ sessions: TestSessions) async throws {
        let client = try RawClient(port: sessions.port)
        for address in addresses {
            let path = address.dropFirst(sessions.origin.count)
            try await client.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(sessions.port)\r\n\r\n")
            #expect([200, 204].contains(try await client.response().status))
        }
        client.reset()
    }

    /// curl's responses when it is run by an unrelated process of this user.
    private func outsider(_ requests: [[String]]) async throws -> [(status: String, body: String)] {
        let (shell, setsid, curl) = (try requirePeer("sh"), try requirePeer("setsid"), try requirePeer("curl"))
        let directory = TemporaryDirectory()
        // the loop ends when the parent has: it is a child of this one no longer then
        var script = """
            : > begun
            read _ _ _ parent _ < /proc/$$/stat
            while [ "$(cat /proc/$parent/comm)" = setsid ]; do sleep 0.02; read _ _ _ parent _ < /proc/$$/stat; done

            """
        for (number, request) in requests.enumerated() {
            script += "\(curl) -sS -o body\(number) -w '%{http_code}' \(request.joined(separator: " ")) > status\(number)\n"
        }
        script += ": > ended\n"
        // it is in a session of its own when it begins, and so is not ended with its parent
        let start = "\(setsid) -f \(shell) -c \"$0\" > /dev/null 2>&1 < /dev/null; while [ ! -e begun ]; do sleep 0.02; done"
        try await checkProcess([shell, "-c", start, script], directory: directory.path)
        try await eventually { directory.read("ended") != nil }
        func text(_ name: String) -> String { String(decoding: directory.read(name) ?? [], as: UTF8.self) }
        return requests.indices.map { (text("status\($0)"), text("body\($0)")) }
    }

    @Test func `is one socket, which the kernel names once`() async throws {
        let listener = LoopbackServer { connection in while connection.read() != nil {} }
        let address = try #require(IPAddress("127.0.0.1"))
        let diagnosis = SocketDiagnosis()
        var cookies: Set<UInt64> = []
        for _ in 1...20 {
            let socket = LoopbackPort.connect(listener.port)
            var name = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutablePointer(to: &name) { name in
                _ = unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(socket, $0, &length) }
            }
            let peer = Peer.network(address: "127.0.0.1", port: UInt16(bigEndian: name.sin_port))
            let found = try #require(try diagnosis.peer(peer, connectedTo: address, port: listener.port))
            #expect(found.user == geteuid() && found.isHeldByOwnProcesses())
            #expect(try diagnosis.peer(peer, connectedTo: address, port: listener.port) == found)
            cookies.insert(found.cookie)
            close(socket)
            // no process holds it any more, once those that other tests start have closed what they inherit
            try await eventually { (try? diagnosis.peer(peer, connectedTo: address, port: listener.port)) == .some(nil) }
        }
        #expect(cookies.count == 20 && !cookies.contains(0))
        for other in [
            Peer.network(address: "192.0.2.1", port: 1), .network(address: "unknown", port: 0), .local(userID: geteuid()),
        ] {
            #expect(try diagnosis.peer(other, connectedTo: address, port: listener.port) == nil)
        }
    }
}
