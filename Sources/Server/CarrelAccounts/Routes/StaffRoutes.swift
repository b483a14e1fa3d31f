// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelMetrics
import CarrelWebAPI

/// `/admin/v1/session`, `/admin/v1/setup` and `/admin/v1/staff`: sign-in at the administrator's page, and roles.
package struct StaffRoutes {
    let staff: Staff
    let desk: AccountAdministration
    let callers: RequestAuthenticator
    let activity: Activity
    /// Whether the canned users exist, which the page has a console for.
    let hasCannedUsers: Bool
    /// The label of the button for the OpenID provider; nil without a provider.
    let signOnLabel: String?

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/session") { request, _ in try await show(request) }
        router.on(.post, "admin/v1/session") { request, _ in try await signIn(request) }
        router.on(.delete, "admin/v1/session") { request, _ in try await signOut(request) }
        router.on(.post, "admin/v1/setup") { request, _ in try await setUp(request) }
        router.on(.post, "admin/v1/setup-links") { request, _ in
            let actor = try await callers.require(request, .manageStaff)
            let token = try await staff.makeSetupLink(by: actor)
            return .json(
                ["path": .string(Self.path(ofLink: token)), "expiresIn": .integer(Staff.linkLife.components.seconds)],
                status: .created
            )
        }
        router.on(.get, "admin/v1/staff") { request, _ in
            try await callers.require(request, .manageStaff)
            let members = try await staff.members().map { member -> JSON in
                var object = AccountRoutes.json(member.account)
                object["role"] = .string(member.role.rawValue)
                object["createdAt"] = .string(member.createdAt.description)
                return .object(object)
            }
            return .json(["staff": .array(members)])
        }
        router.on(.get, "admin/v1/accounts/{account}/role") { request, parameters in
            try await callers.require(request, .readAccounts)
            let account = try await desk.find(parameters["account"])
            return .json(["role": .string(try await staff.role(of: account.id).rawValue)])
        }
        router.on(.put, "admin/v1/accounts/{account}/role") { request, parameters in
            let actor = try await callers.require(request, .manageStaff)
            let account = try await desk.find(parameters["account"])
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["role"])
            guard let role = Role(rawValue: try object.requiredString("role")), role.isStaff || role == .reader else {
                throw ServerError(.invalid, "role must be \"owner\", \"admin\", \"support\" or \"reader\"")
            }
            let token = try await staff.setRole(role, of: account, by: actor)
            var answer = token.map(AccountRoutes.json(resetLink:)) ?? [:]
            answer["role"] = .string(role.rawValue)
            return .json(.object(answer)).unstored
        }
    }

    /// The path of a setup link. Its token is in the fragment, which browsers do not send, so that no log contains it.
    package static func path(ofLink token: String) -> String { "/admin/#setup=\(token)" }

    /// Responds with the signed-in account, or else with whether an owner exists.
    private func show(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let caller = try await callers.caller(request) else {
            var answer: JSONObject = [
                "signedIn": false, "confidential": .bool(callers.isConfidential(request)),
                "hasOwner": .bool(try await staff.hasOwner()),
            ]
            if let signOnLabel { answer["signOn"] = .string(signOnLabel) }
            return .json(.object(answer))
        }
        return .json(.object(Self.json(caller, hasCannedUsers)))
    }

    private func signIn(_ request: HTTPRequest) async throws -> HTTPResponse {
        try callers.requirePage(request)
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["name", "password"])
        let (name, password) = (try object.requiredString("name"), try object.requiredString("password"))
        do {
            let (session, token) = try await staff.signIn(
                name,
                password,
                address: request.peer.description,
                requestID: request.id
            )
            activity.count(.browserSignIns)
            return answer(session, token, request)
        } catch let error as RuleError {
            activity.refuse(error.code.identifier)
            throw error
        }
    }

    private func setUp(_ request: HTTPRequest) async throws -> HTTPResponse {
        try callers.requirePage(request)
        let object = try await JSONBody.object(of: request, limit: 4096)
        try object.allowOnly(["link", "name", "password"])
        let (session, token) = try await staff.setUp(
            try object.requiredString("link"),
            name: try object.requiredString("name"),
            password: try object.requiredString("password"),
            requestID: request.id
        )
        activity.count(.browserSignIns)
        return answer(session, token, request)
    }

    private func signOut(_ request: HTTPRequest) async throws -> HTTPResponse {
        try callers.requirePage(request)
        let actor = try await callers.actor(request)
        for token in request.cookies(RequestAuthenticator.staffCookie).prefix(4) { try await staff.signOut(token, by: actor) }
        var response = HTTPResponse.empty(.noContent).unstored
        response.headers["Set-Cookie"] = Self.cookie("", maxAge: 0, request)
        return response
    }

    private func answer(_ session: StaffSession, _ token: String, _ request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse.json(.object(Self.json(.member(session), hasCannedUsers)), status: .created)
        response.headers["Set-Cookie"] = Self.cookie(token, maxAge: Int(StaffSession.life.components.seconds), request)
        return response
    }

    package static func cookie(_ value: String, maxAge: Int, _ request: HTTPRequest) -> String {
        SetCookie(
            RequestAuthenticator.staffCookie,
            value,
            path: "/admin",
            maxAge: maxAge,
            isSecure: request.scheme == "https",
            sameSite: .strict
        ).description
    }

    private static func json(_ caller: RequestAuthenticator.Caller, _ hasCannedUsers: Bool) -> JSONObject {
        var object: JSONObject = [
            "signedIn": true, "role": .string(caller.role.rawValue),
            "permissions": .array(Permission.allCases.filter(caller.role.may).map { .string($0.rawValue) }),
            "cannedUsers": .bool(hasCannedUsers),
        ]
        if case .member(let session) = caller {
            object["account"] = .object(AccountRoutes.json(session.account))
            object["expiresAt"] = .string(session.expiresAt.description)
        }
        return object
    }
}
