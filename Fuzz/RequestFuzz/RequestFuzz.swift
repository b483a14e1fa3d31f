// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelEditionDelivery
import CarrelHTTP
@testable import CarrelHTTPServer
import CarrelWebAPI

private let tag = EntityTag("abc")
private let hosts = HostPolicy(allowed: ["books.example"], bound: [])
private let proxies = Forwarding(trusted: ["127.0.0.0/8"].compactMap { AddressRange($0) })

/// A request as it comes: its target in the first line, a field in each line to the first empty one, and the rest a form. Whatever it
/// says, what is read of it keeps to the rules of what it is.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 20, omittingEmptySubsequences: false)
    let end = lines.firstIndex { $0.isEmpty } ?? lines.endIndex
    var head = RequestGuard()
    for line in lines[..<end].dropFirst() {
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { continue }
        head.add(name: Array(parts[0]).rawSpan, value: Array(parts[1].drop { $0 == 0x20 }).rawSpan)
    }
    _ = try? head.check(method: "POST", version: "HTTP/1.1")
    if let form = String(validating: lines[end...].dropFirst().joined(separator: [0x0a]), as: UTF8.self) { readAgain(form) }
    if let host = head.host, (try? hosts.check(host, local: nil)) != nil {
        precondition(!host.contains("/") && !host.contains("@"), "a host with more than a host")
    }
    let target = String(decoding: lines[0], as: UTF8.self)
    guard
        let request = try? HTTPRequest(
            method: .get,
            parsing: target,
            headers: head.fields,
            scheme: "http",
            authority: "localhost",
            peer: .network(address: "127.0.0.1", port: 1),
            id: "fuzz",
            body: RequestBody([])
        )
    else { return 0 }
    check(request)
    return 0
}

private func check(_ request: HTTPRequest) {
    for segment in request.path.segments {
        precondition(segment != "." && segment != ".." && !segment.utf8.contains { $0 < 0x20 || $0 == 0x2f || $0 == 0x5c })
    }
    readAgain(request.query.raw)
    for value in request.cookies("carrel_session") {
        precondition(!value.utf8.contains(UInt8(ascii: ";")), "a cookie runs into the next")
    }
    _ = request.contentType
    for field in [request.headers["Accept"], request.headers["Accept-Encoding"]].compactMap(\.self) {
        let list = QualityList(parsing: field)
        precondition(list.choices.count <= 64 && list.choices.allSatisfy { 0...1000 ~= $0.weight })
        _ = QualityList.takesGzip(field)
        let offers = ["text/html", "application/json"]
        precondition(QualityList.best(of: offers, for: field).map { offers.contains($0) } ?? true)
    }
    _ = Preconditions(tag: tag, lastModified: Instant(milliseconds: 1_800_000_000_123)).evaluate(request)
    if proxies.trusts(request.peer), let client = proxies.client(request.headers), case .network(let address, _) = client {
        precondition(IPAddress(address)?.description == address, "a client without an address")
    }
    if let (user, password) = request.basicCredentials {
        precondition(!password.utf8.contains(UInt8(ascii: ":")))
        let encoded = Base64URL.encode(Array("\(user):\(password)".utf8))
        let again = HTTPRequest(.get, "/", headers: ["Authorization": "Basic \(encoded)"]).basicCredentials
        precondition(again?.user == user && again?.password == password, "a name and a password that change as they are sent on")
        _ = EditionCredentials.hasForm(.init(userID: user, password: password))
    }
    if let (user, _) = request.basicCredentialsAtFirstColon { precondition(!user.utf8.contains(UInt8(ascii: ":"))) }
}

/// A form, or a query, that is written again from what was read of it says the same.
private func readAgain(_ raw: String) {
    guard let form = try? Query(parsing: raw) else { return }
    let written = form.pairs.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(
        separator: "&"
    )
    guard let again = try? Query(parsing: written) else { fatalError("what was read cannot be written: \(written)") }
    precondition(again.pairs.map(\.name) == form.pairs.map(\.name) && again.pairs.map(\.value) == form.pairs.map(\.value))
}
