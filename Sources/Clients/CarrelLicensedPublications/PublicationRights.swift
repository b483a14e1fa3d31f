// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelLicenseKeys
import CarrelPlayer
import CarrelPublication
import CarrelRights

/// The rights that the obligations of a license leave to the reader of a publication.
struct ReadingConditions: Sendable {
    /// Unicode scalars that may be copied, in all; nil without a limit.
    let copyLimit: Int?
    /// Pages that may be printed, in all; nil without a limit.
    let printLimit: Int?
    /// A text for every shown page; nil for none.
    let watermark: String?
    let forbidsExport: Bool

    init(_ obligations: [Obligation]) {
        func all(_ kind: Obligation.Kind) -> [Obligation] { obligations.filter { $0.type == kind.rawValue } }
        // a limit that cannot be read allows nothing
        func limit(_ kind: Obligation.Kind, _ name: String) -> Int? {
            all(kind).map { max(0, $0.parameters[name]?.int ?? 0) }.min()
        }
        copyLimit = limit(.copyLimit, "characters")
        printLimit = all(.noPrint).isEmpty ? limit(.printLimit, "pages") : 0
        let texts = all(.watermark).compactMap { $0.parameters["payload"]?.string }
        watermark = texts.isEmpty ? nil : texts.joined(separator: " · ")
        forbidsExport = !all(.noExport).isEmpty
    }
}

/// The rights of a license while it lasts.
struct LicenseRights: UserRights {
    private let metered: MeteredUserRights
    private let access: LicenseAccess

    init(_ conditions: ReadingConditions, license: String, _ access: LicenseAccess) {
        self.access = access
        metered = MeteredUserRights(
            publication: license,
            copy: conditions.copyLimit,
            print: conditions.printLimit,
            store: LicenseRightsStore(engine: access.engine)
        )
    }

    private var lasts: Bool { access.endReason == nil }

    var isUnlimited: Bool { metered.isUnlimited }

    func remaining(_ right: CountedRight) async throws(UserRightsError) -> Int? {
        lasts ? try await metered.remaining(right) : 0
    }

    var canCopy: Bool { get async { lasts ? await metered.canCopy : false } }
    func canCopy(_ text: String) async -> Bool { lasts ? await metered.canCopy(text) : false }
    func copy(_ text: String, requestID: String?) async -> Bool {
        lasts ? await metered.copy(text, requestID: requestID) : false
    }
    var canPrint: Bool { get async { lasts ? await metered.canPrint : false } }
    func canPrint(pageCount: Int) async -> Bool { lasts ? await metered.canPrint(pageCount: pageCount) : false }
    func print(pageCount: Int, requestID: String?) async -> Bool {
        lasts ? await metered.print(pageCount: pageCount, requestID: requestID) : false
    }
}

/// The used rights of licenses, in the player's store of licenses.
private struct LicenseRightsStore: UserRightsStore {
    let engine: PlayerEngine

    func used(_ right: CountedRight, of publication: String) async throws(UserRightsError) -> Int {
        do throws(PlayerError) {
            return try await engine.usedAmount(of: right.rawValue, license: publication)
        } catch {
            throw UserRightsError(.unavailable, error.message)
        }
    }

    func use(
        _ amount: Int,
        of right: CountedRight,
        publication: String,
        limit: Int,
        requestID: String?,
        content: [UInt8]?
    ) async throws(UserRightsError) -> Bool {
        guard amount >= 0 else { throw UserRightsError(.invalidAmount, "an amount cannot be negative") }
        if amount == 0 { return true }
        let outcome: RightUse
        do throws(PlayerError) {
            outcome = try await engine.use(
                amount,
                of: right.rawValue,
                license: publication,
                limit: limit,
                requestID: requestID,
                content: content
            )
        } catch {
            throw UserRightsError(.unavailable, error.message)
        }
        switch outcome {
        case .granted: return true
        case .refused: return false
        case .differentRequest:
            throw UserRightsError(.differentRequest, "the request was made before, for something else")
        }
    }
}
