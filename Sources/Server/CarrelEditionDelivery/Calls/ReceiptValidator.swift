// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelEntitlementSources
import CarrelEntitlements
import CarrelHTTP
import CarrelReceipts
import CarrelSubscription
import CarrelWebAPI
import CarrelXML

/// `POST /itunes_edition_credentials?productid=ID`: for apps without accounts. The body is the store's receipt; the response is
/// an `edition_credentials` response, or an error at the root with a number of the store's own validator, which is not called
/// here.
struct ReceiptValidator {
    let source: ReceiptSource
    let service: SubscriptionService

    private static let bodyLimit = 1 << 20
    private static let parameters = ["productid", "product_id"]

    /// The numbers of the App Store's validator (`verifyReceipt`, "status").
    private enum Status: Int {
        case malformed = 21_002
        case notAuthenticated = 21_003
        case expired = 21_006
        case sandboxHere = 21_007
        case productionHere = 21_008
    }

    func add(to router: inout Router) {
        router.on(.post, "itunes_edition_credentials{/}", acceptsForms: true, acceptsOtherOrigins: true) { request, _ in
            SubscriptionRoutes.unstored(try await answer(request))
        }
        router.setFieldsOfProblems(at: "itunes_edition_credentials", SubscriptionRoutes.unstored)
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard source.receipts.settings.verifier != nil else { throw Receipts.off }
        let bytes = try await request.body.collect(upTo: Self.bodyLimit)
        guard let checked = try await check(bytes) else { return refusal(.malformed) }
        guard checked.contains(where: { (try? $0.get()) != nil }) else { return refusal(Self.status(of: checked)) }
        guard let holdings = try await source.holdings(checked) else { return refusal(.notAuthenticated) }
        let asked = Self.parameters.lazy.compactMap { request.query[$0] }.first { !$0.isEmpty }
        let productID = asked ?? holdings.lazy.flatMap(\.purchases).first?.productID ?? ""
        let caller = AuditActor.unauthenticated(request.id)
        let answer = try await service.credentials(for: productID, caller: caller) { _ in
            // As of now: the store may just have told us of a refund.
            guard let holdings = try await source.holdings(checked) else { return .notRecognised }
            return try await source.decision(on: productID, holdings)
        }
        if case .refused("expired", _) = answer { return refusal(.expired) }
        return Self.xml(answer.write())
    }

    /// Checks the bytes from the store: signed transactions, or an app's receipt as is or in base 64; nil for anything else.
    private func check(_ bytes: [UInt8]) async throws -> [Receipts.Checked]? {
        if bytes.first == Self.sequence { return try await source.receipts.check(receipt: bytes) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let texts = ReceiptSource.texts(in: text)
        if !texts.isEmpty { return try await source.receipts.check(texts) }
        guard let receipt = Base64.decode(text.filter { !$0.isWhitespace }), receipt.first == Self.sequence else { return nil }
        return try await source.receipts.check(receipt: receipt)
    }

    /// The first byte of every receipt (ITU-T X.690 §8.9).
    private static let sequence: UInt8 = 0x30

    private static func status(of checked: [Receipts.Checked]) -> Status {
        guard case .failure(let error)? = checked.first else { return .notAuthenticated }
        switch (error.code, error.environment) {
        case (.malformed, _): return .malformed
        case (.environment, .sandbox?): return .sandboxHere
        case (.environment, .production?): return .productionHere
        default: return .notAuthenticated
        }
    }

    private func refusal(_ status: Status) -> HTTPResponse {
        let patterns = source.receipts.settings.products.plans.map(\.pattern)
        let prefixes = patterns.filter { $0.hasSuffix("*") }.map { $0.dropLast() }
        var writer = XMLWriter()
        writer.start("error", ["status": "\(status.rawValue)", "exception": "", "validationurl": ""])
        writer.element("subs_prefix", text: prefixes.joined(separator: ","))
        writer.element("subs_list", text: patterns.filter { !$0.hasSuffix("*") }.joined(separator: ","))
        return Self.xml(writer.finish())
    }

    private static func xml(_ bytes: [UInt8]) -> HTTPResponse { .bytes(bytes, type: "text/xml; charset=utf-8") }
}
