// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelListening
import CarrelWebAPI

/// `/v1/account/…`: the data and actions of an account's owner on their own page. Guests have no such page, and apps that know
/// only an app password do not see it.
struct OwnerRoutes {
    let accounts: Accounts
    let desk: AccountAdministration
    let check: PasswordCheck
    let devices: Devices
    let appPasswords: AppPasswords
    let subscriptions: Subscriptions
    let history: ListeningHistory
    let export: PersonalExport
    let erasure: Erasure
    let register: PersonalRegister
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        on(.get, "", of: &router) { _, session, _ in
            let record = try await accounts.signInRecord(of: session.account)
            return .json([
                "id": .string(session.account.id), "name": .string(session.account.name),
                "hasPassword": .bool(record?.password != nil), "kept": register.kept,
            ])
        }
        on(.get, "/devices", of: &router) { _, session, _ in
            .json(["devices": .array(try await devices.list(of: session.account).map(AccountRoutes.json))])
        }
        on(.patch, "/devices/{device}", of: &router) { request, session, parameters in
            let actor = Self.actor(session, request)
            return try await AccountRoutes.rename(parameters["device"], of: session.account, request, by: actor, in: devices)
        }
        on(.delete, "/devices/{device}", of: &router) { request, session, parameters in
            let actor = Self.actor(session, request)
            try await devices.revoke(parameters["device"], of: session.account, isOwner: true, by: actor)
            return .empty(.noContent)
        }
        on(.get, "/sessions", of: &router) { _, session, _ in
            let list = try await accounts.sessions.list(of: session.account)
            return .json([
                "sessions": .array(
                    list.map {
                        var object = AccountRoutes.json($0).object ?? [:]
                        object["current"] = .bool($0.family == session.family)
                        return .object(object)
                    }
                )
            ])
        }
        on(.delete, "/sessions", of: &router) { request, session, _ in
            let actor = Self.actor(session, request)
            let count = try await accounts.sessions.endOthers(than: session.family, of: session.account, by: actor)
            return .json(["ended": .integer(count)])
        }
        on(.delete, "/sessions/{session}", of: &router) { request, session, parameters in
            let actor = Self.actor(session, request)
            try await accounts.sessions.end(parameters["session"], of: session.account, isOwner: true, by: actor)
            return .empty(.noContent)
        }
        on(.get, "/app-passwords", of: &router) { _, session, _ in
            let list = try await appPasswords.list(of: session.account)
            return .json(["appPasswords": .array(list.map { .object(AccountRoutes.json($0)) })])
        }
        on(.post, "/app-passwords", of: &router) { request, session, _ in
            try await AccountRoutes.create(request, for: session.account, by: Self.actor(session, request), in: appPasswords)
        }
        on(.delete, "/app-passwords/{password}", of: &router) { request, session, parameters in
            try await appPasswords.revoke(parameters["password"], of: session.account, by: Self.actor(session, request))
            return .empty(.noContent)
        }
        on(.get, "/holdings", of: &router) { _, session, _ in
            .json(PlanRoutes.json(try await subscriptions.entitlement(of: session.account)))
        }
        on(.get, "/history", of: &router) { _, session, _ in
            .json(["titles": .array(try await history.list(of: session.account).map(\.json))])
        }
        on(.get, "/history.csv", of: &router) { _, session, _ in history.table(of: session.account) }
        on(.post, "/password", of: &router) { request, session, _ in try await changePassword(request, session) }
        on(.get, "/export", of: &router) { request, session, _ in
            try await export.response(of: session.account, by: Self.actor(session, request))
        }
        on(.post, "/erase", of: &router) { request, session, _ in try await erase(request, session) }
    }

    private func on(
        _ method: HTTPMethod,
        _ path: String,
        of router: inout Router,
        _ body: @escaping @Sendable (HTTPRequest, Session, PathParameters) async throws -> HTTPResponse
    ) {
        router.on(method, "v1/account\(path)") { request, parameters in
            try await body(request, try await callers.owner(request), parameters).unstored
        }
    }

    private static func actor(_ session: Session, _ request: HTTPRequest) -> AuditActor {
        AuditActor(session.account.id, requestID: request.id)
    }

    private func changePassword(_ request: HTTPRequest, _ session: Session) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 8192)
        try object.allowOnly(["current", "new"])
        let password = try object.requiredString("new")
        let record = try await checked(try object.requiredString("current"), "account.password", session, request)
        try await desk.changePassword(to: password, keeping: session, checked: record, by: Self.actor(session, request))
        return .empty(.noContent)
    }

    /// Requires the name, and the password if there is one: a session left open on a shared computer is not enough.
    private func erase(_ request: HTTPRequest, _ session: Session) async throws -> HTTPResponse {
        let object = try await JSONBody.object(of: request, limit: 8192)
        try object.allowOnly(["name", "password"])
        let name = try object.requiredString("name")
        guard name == session.account.name else { throw ServerError(.invalid, "this is not the name of your account") }
        if try await accounts.signInRecord(of: session.account)?.password != nil {
            _ = try await checked(try object.string("password") ?? "", "account.erase", session, request)
        }
        try await erasure.erase(session.account.id, named: name, by: Self.actor(session, request))
        return .empty(.noContent, headers: ["Set-Cookie": SignInRoutes.endedCookie(request)])
    }

    /// Returns the account's record if the password is right.
    ///
    /// - Throws: 403 `account.password` for a wrong password, 429 `account.throttled` after too many.
    private func checked(
        _ password: String,
        _ action: String,
        _ session: Session,
        _ request: HTTPRequest
    ) async throws -> SignInRecord {
        var attempt = PasswordCheck.Attempt(
            name: session.account.name,
            password: password,
            address: request.peer.description,
            requestID: request.id
        )
        attempt.action = action
        switch try await check.run(attempt) {
        case .right(let record, _): return record
        case .wrong: throw HTTPError(.forbidden, "account.password", "this is not your password")
        case .throttled(let wait):
            throw HTTPError(
                .tooManyRequests,
                "account.throttled",
                "too many attempts: try again in \(PasswordCheck.words(for: wait))",
                headers: ["Retry-After": String(max(1, wait.components.seconds))]
            )
        }
    }
}
