// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelHTTPClient
import CarrelHome
import CarrelJSON
import CarrelServer
import Glibc

/// Calls the service of a home: over its Unix socket when a server runs there, in this process when none does.
struct HomeClient {
    private enum Transport {
        case socket(HTTPClient, String)
        case here(CarrelService)
    }

    private let transport: Transport

    /// - Parameters:
    ///   - options: selects the home.
    ///   - settings: the settings to use if no server is running.
    ///   - console: reports a created home; nil makes a missing home an error.
    /// - Throws: the home's error.
    init(
        _ options: HomeOptions,
        _ settings: CarrelService.Settings = CarrelService.Settings(),
        creating console: Console? = nil
    ) async throws {
        let home = try options.find(missing: console == nil ? .refuse : .create)
        if Self.accepts(home.socketPath) {
            transport = .socket(HTTPClient(), home.socketPath)
        } else {
            transport = .here(try await options.openService(settings, creating: console))
        }
    }

    /// Whether a server accepts connections on the socket; a socket file left by a killed server does not count.
    static func accepts(_ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Calls the API and returns its JSON response.
    ///
    /// - Throws: ``ServiceProblem`` with the service's error.
    func call(_ method: HTTPMethod, _ target: String, _ body: JSON? = nil) async throws -> JSON {
        try await call(method, target, contentType: body == nil ? nil : "application/json", body?.write() ?? [])
    }

    /// Calls the API with a body of any type.
    ///
    /// - Throws: ``ServiceProblem`` with the service's error.
    func call(_ method: HTTPMethod, _ target: String, contentType: String?, _ body: [UInt8]) async throws -> JSON {
        let headers: HTTPFields = contentType.map { ["Content-Type": $0] } ?? [:]
        let (status, answer) = try await send(method, target, headers, body)
        let value = answer.isEmpty ? JSON.null : try JSON.parse(answer.rawSpan)
        guard (200..<300).contains(status) else { throw ServiceProblem(status: status, problem: value) }
        return value
    }

    /// Reads all pages of a list.
    ///
    /// - Parameters:
    ///   - target: the path, without a query.
    ///   - member: the member of each response that has the rows.
    /// - Returns: an object with the rows of all pages under the same member.
    /// - Throws: ``ServiceProblem`` with the problem of the service.
    func pages(_ target: String, _ member: String) async throws -> JSON {
        var (rows, next): ([JSON], String?) = ([], nil)
        repeat {
            let after = next.map { "&after=\(PercentEncoding.encode($0))" } ?? ""
            let page = try await call(.get, "\(target)?limit=1000\(after)")
            rows += page[member]?.array ?? []
            next = page["next"]?.string
        } while next != nil
        return [member: .array(rows)]
    }

    /// Calls the API and hands on its answer, however long, piece by piece as it comes.
    ///
    /// - Throws: ``ServiceProblem`` with the service's error.
    func copy(_ target: String, to sink: @escaping @Sendable ([UInt8]) -> Void) async throws {
        switch transport {
        case .socket(let client, let path):
            let request = Self.request(.get, target, to: path)
            let stream = try await client.open(request)
            var refusal: [UInt8] = []
            let status = stream.response.status.rawValue
            while let chunk = try await stream.next() {
                if status == 200 { sink(chunk) } else { refusal += chunk }
            }
            guard status == 200 else {
                throw ServiceProblem(status: status, problem: (try? JSON.parse(refusal.rawSpan)) ?? .null)
            }
        case .here(let service):
            let response = await service.router.respond(to: HTTPRequest(.get, target, peer: .local(userID: getuid())))
            guard response.status == .ok, case .stream(_, let produce) = response.body else {
                let refusal = try await response.body.collect(upTo: 1 << 20)
                throw ServiceProblem(status: response.status.rawValue, problem: (try? JSON.parse(refusal.rawSpan)) ?? .null)
            }
            try await produce(BodyWriter { sink($0) })
            await Self.seal(service)
        }
    }

    /// Seals the home's audit log if no server is running.
    func seal() async {
        if case .here(let service) = transport { await Self.seal(service) }
    }

    /// Seals what a command recorded, as the loop of a running server would. `audit verify` reports rows that cannot be sealed.
    private static func seal(_ service: CarrelService) async { try? await service.audit.finish() }

    /// Sends a request on the home's socket, with the server's time limit: it may read a long log or wrap many keys first.
    static func request(
        _ method: HTTPMethod,
        _ target: String,
        _ headers: HTTPFields = [:],
        _ body: [UInt8] = [],
        to path: String
    ) -> ClientRequest {
        var request = ClientRequest(method, "http://localhost\(target)", headers: headers, body: .bytes(body))
        request.unixSocketPath = path
        request.timeouts.total = .seconds(4 * 3600)
        request.timeouts.stall = request.timeouts.total
        return request
    }

    private func send(
        _ method: HTTPMethod,
        _ target: String,
        _ headers: HTTPFields,
        _ body: [UInt8]
    ) async throws -> (Int, [UInt8]) {
        switch transport {
        case .socket(let client, let path):
            let request = Self.request(method, target, headers, body, to: path)
            let response = try await client.send(request)
            return (response.status.rawValue, response.body)
        case .here(let service):
            let request = HTTPRequest(method, target, headers: headers, body: body, peer: .local(userID: getuid()))
            let response = await service.router.respond(to: request)
            let body = try await response.body.collect(upTo: 64 << 20)
            await Self.seal(service)
            return (response.status.rawValue, body)
        }
    }
}

/// A refusal of the service, for the command line.
struct ServiceProblem: ReportableError {
    let status: Int
    let problem: JSON

    var message: String { problem["detail"]?.string ?? problem["title"]?.string ?? "the server answered with status \(status)" }

    /// The code of the API, such as `request.not-found`; nil if the response has none.
    var reportedCode: String? { problem["code"]?.string }

    var exitStatus: ExitStatus {
        switch status {
        case 400, 404, 409, 422: .badInput
        case 401, 403: .noPermission
        case 503: .tryAgain
        case 507: .cannotCreate
        default: .failure
        }
    }
}
