// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import Testing

/// A packager with a back-office key, and the server that it gets keys from.
struct Packager {
    let test: TestService
    let id: String
    let key: String

    static let loopback = Peer.network(address: "127.0.0.1", port: 1)
    static let remote = Peer.network(address: "192.0.2.1", port: 1)
    static let local = Peer.local(userID: 0)
    static let kids = (1...2).map { KeyID(label: "film \($0)") }

    init(
        _ role: Role = .packager,
        _ contents: TestService.Contents = .nothing,
        configure: (inout CarrelService.Settings) -> Void = { _ in }
    ) async throws {
        test = try await TestService(contents, with: [.keyExchange, .licensing, .administration], configure)
        let (made, text) = try await test.service.accounts.createServiceKey(name: "encoder", role: role, by: .operator)
        (id, key) = (made.id, text)
    }

    /// A request for two keys of a content, in CPIX 2.3.
    static func request(_ content: String = "film", kids: [KeyID] = kids) -> [UInt8] {
        let keys = kids.map { "<ContentKey kid=\"\($0.uuid)\" commonEncryptionScheme=\"cenc\"/>" }.joined()
        let systems = kids.map {
            "<DRMSystem kid=\"\($0.uuid)\" systemId=\"1077efec-c0b2-4d02-ace3-3c1e52e2fb4b\"><PSSH/></DRMSystem>"
        }
        let presets = [("VIDEO", "VideoFilter"), ("AUDIO", "AudioFilter")]
        let rules = zip(kids, presets).map { kid, preset in
            "<ContentKeyUsageRule kid=\"\(kid.uuid)\" intendedTrackType=\"\(preset.0)\"><\(preset.1)/></ContentKeyUsageRule>"
        }
        return Array(
            """
            <CPIX xmlns="urn:dashif:org:cpix" contentId="\(content)" version="2.3"><ContentKeyList>\(keys)</ContentKeyList><DRMSystemList>\
            \(systems.joined())</DRMSystemList><ContentKeyUsageRuleList>\(rules.joined())</ContentKeyUsageRuleList></CPIX>
            """.utf8
        )
    }

    var bearer: String { "Bearer \(key)" }
    var basic: String { "Basic \(Base64.encode(Array("\(id):\(key)".utf8)))" }

    /// Sends a request to one node.
    func send(
        _ path: String = "/v1/cpix",
        body: [UInt8] = request(),
        authorization: String? = nil,
        fields: HTTPFields = [:],
        scheme: String = "http",
        host: String = "localhost",
        peer: Peer = loopback,
        to node: CarrelService? = nil
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        var headers = fields
        if headers["Content-Type"] == nil { headers["Content-Type"] = "application/xml" }
        headers["Authorization"] = authorization ?? bearer
        let method: HTTPMethod = path.hasSuffix("heartbeat") ? .get : .post
        let request = try HTTPRequest(
            method: method,
            parsing: path,
            headers: headers,
            scheme: scheme,
            authority: host,
            peer: peer,
            id: "packager",
            body: RequestBody(method == .get ? [] : body)
        )
        let response = await (node ?? test.service).router.respond(to: request)
        return (response.status.rawValue, response.headers, try await response.body.collect(upTo: 8 << 20))
    }

    /// The keys in a response, in hexadecimal digits, by their ids.
    static func keys(_ response: [UInt8]) throws -> [KeyID: String] {
        var limits = CPIXLimits()
        limits.isLenient = true
        let document = try CPIXDocument(reading: response.rawSpan, limits: limits)
        return Dictionary(
            uniqueKeysWithValues: document.keys.map { key in
                (key.id, key.secret?.withBytes { Hex.encode([UInt8](copying: $0)) } ?? "")
            }
        )
    }

    func stored() async throws -> [JSON] {
        try await test.call(.get, "/admin/v1/content-keys", peer: Self.local).json["keys"]?.array ?? []
    }
}
