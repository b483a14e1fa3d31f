// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAuthority
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelVault
import CarrelWebAPI

/// `/account/link`: the page on which a reader types the code of a device, sees which device it is, and links or refuses it. It works
/// without scripts.
struct LinkRoutes {
    let links: LinkCodes
    let callers: RequestAuthenticator
    let signIn: SignInRoutes

    private static let formLimit = 4096

    func add(to router: inout Router) {
        router.on(.get, "account/link") { request, _ in try await form(request, "") }
        router.on(.get, "account/link/{code}", secret: ["code"]) { request, parameters in
            try await form(request, parameters["code"])
        }
        router.on(.post, "account/link", acceptsForms: true) { request, _ in try await answer(request) }
    }

    private func form(_ request: HTTPRequest, _ code: String) async throws -> HTTPResponse {
        guard try await callers.session(request) != nil else { return try signIn.page(then: request) }
        return try Self.form(code)
    }

    private static func form(_ code: String, _ problem: String? = nil, status: HTTPStatus = .ok) throws -> HTTPResponse {
        var parts: [String: WebPage.Markup] = ["name": .plain(String(code.prefix(16)))]
        parts["problem"] = problem.map { .problem($0) }
        return try WebPage.door("link-device", parts, status: status)
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let session = try await callers.session(request) else { return try signIn.page(then: request) }
        let form = try await request.form(upTo: Self.formLimit)
        let (code, address) = (form["code"] ?? "", request.peer.description)
        do {
            guard let answer = form["answer"] else {
                guard let waiting = try await links.waiting(code, for: session.account, from: address) else {
                    return try Self.form(code, Self.unknown, status: .notFound)
                }
                return try Self.confirmation(waiting, code, session.account, from: address)
            }
            guard ["yes", "no"].contains(answer) else { throw ServerError(.invalid, "answer must be yes or no") }
            let player = try await links.decide(
                code,
                isApproved: answer == "yes",
                for: session.account,
                session: session.family,
                from: address,
                requestID: request.id
            )
            guard let player else { return try Self.form(code, Self.unknown, status: .notFound) }
            let name = Self.name(of: player)
            let (title, sentence) =
                answer == "yes"
                ? ("Device linked", "\(name) is linked to your account. It notices within a few seconds.")
                : ("Device refused", "\(name) was not linked to your account.")
            return try WebPage.door("link-done", ["name": .plain(title), "problem": .notice(sentence)])
        } catch let error as RuleError {
            guard let sentence = Self.sentences[error.code.identifier] else { throw error }
            let problem = error.problem
            var response = try Self.form(code, sentence, status: problem.status)
            response.headers["Retry-After"] = problem.headers["Retry-After"]
            return response
        }
    }

    private static func confirmation(
        _ waiting: LinkCodes.Waiting,
        _ code: String,
        _ account: Account,
        from address: String
    ) throws -> HTTPResponse {
        let player = waiting.player
        let isHere = waiting.isSameNetwork(as: address)
        var parts: [String: WebPage.Markup] = [
            "name": .plain(account.name), "next": .hidden("code", code),
            "facts": .facts([
                ("Device", isolated(player.name, or: "without a name")),
                ("App", isolated("\(player.app) \(player.build)", or: "without a name")),
                ("Its keys", words(for: player.level)), ("Known since", day(player.createdAt)),
                ("Asked", day(waiting.askedAt)),
                (
                    "Network",
                    isHere ? "\(waiting.network), the same as yours now" : "\(waiting.network), not the one you are in now"
                ),
            ]),
        ]
        if player.account == account.id { parts["problem"] = .notice("This device is linked to your account already.") }
        return try WebPage.door("link-confirm", parts)
    }

    private static func name(of player: Player) -> String {
        isolated(player.name, or: isolated(player.app, or: "A device without a name"))
    }

    /// A name that a device chose, between isolates (UAX #9): its direction does not change the reading of the text next to it.
    private static func isolated(_ text: String, or other: String) -> String {
        let text = Devices.cleaned(text)
        return text.isEmpty ? other : "\u{2068}\(text)\u{2069}"
    }

    private static func words(for level: VaultLevel) -> String {
        switch level {
        case .hardware: "in a security chip"
        case .os: "kept by the system"
        case .passphrase: "in a file with a passphrase"
        case .none: "not protected"
        }
    }

    /// A time as people read it, to the minute.
    private static func day(_ instant: Instant) -> String {
        "\(instant.description.prefix(16).replacing("T", with: " at ")) UTC"
    }

    private static let unknown = "No device waits with this code. Check the letters; a code works once and for ten minutes."
    /// Refusals that the reader can do something about, as sentences.
    private static let sentences = [
        "link.throttled": "Too many codes were typed. Try again in a minute.",
        "personalization.device-limit":
            "Your account has no place for another device. Remove one on your account's page, then type the code again.",
        "personalization.linked": "This device is linked to another account. It has to be removed there first.",
        "personalization.revoked": "This device was revoked and cannot be linked.",
        "personalization.suspended": "This device is suspended and cannot be linked.",
        "personalization.account": "Your account is suspended. Ask your library or shop.",
        "link.not-personalized": "The device's certificate has ended. Start the app again, then ask for another code.",
    ]
}
