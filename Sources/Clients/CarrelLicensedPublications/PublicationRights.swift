// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelLicenseKeys
import CarrelPlayer
import CarrelPublication
import CarrelRights

/// The rights that the obligations of licenses leave to the reader of a publication: with several, the most restrictive of each.
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
        var texts: [String] = []
        for obligation in all(.watermark) {
            guard let text = obligation.parameters["payload"]?.string, !texts.contains(text) else { continue }
            texts.append(text)
        }
        watermark = texts.isEmpty ? nil : texts.joined(separator: " · ")
        forbidsExport = !all(.noExport).isEmpty
    }

    /// Whether nothing is limited, shown or forbidden.
    var isUnconditional: Bool { copyLimit == nil && printLimit == nil && watermark == nil && !forbidsExport }
}

/// The rights of the licenses of a publication while they last. A use counts under each license that limits it.
struct LicenseRights: UserRights {
    private let access: LicenseAccess

    init(_ access: LicenseAccess) { self.access = access }

    private var lasts: Bool { access.endReason == nil }

    /// The rights of each license that lasts, by its obligations now.
    private var metered: [MeteredUserRights] {
        access.lastingUses.map { use in
            let conditions = ReadingConditions(use.obligations)
            return MeteredUserRights(
                publication: use.license,
                copy: conditions.copyLimit,
                print: conditions.printLimit,
                store: LicenseRightsStore(engine: access.engine)
            )
        }
    }

    var isUnlimited: Bool { metered.allSatisfy(\.isUnlimited) }

    func remaining(_ right: CountedRight) async throws(UserRightsError) -> Int? {
        guard lasts else { return 0 }
        var least: Int?
        for rights in metered {
            guard let left = try await rights.remaining(right) else { continue }
            least = min(least ?? left, left)
        }
        return least
    }

    /// The rights of the licenses that limit a right, the least remaining first: if one refuses a use, none has counted it.
    private func limited(_ right: CountedRight) async throws(UserRightsError) -> [MeteredUserRights] {
        var found: [(rights: MeteredUserRights, left: Int)] = []
        for rights in metered {
            if let left = try await rights.remaining(right) { found.append((rights, left)) }
        }
        return found.sorted { $0.left < $1.left }.map { $0.rights }
    }

    /// Whether all licenses that limit a right allow a use.
    private func allow(_ right: CountedRight, _ use: (MeteredUserRights) async -> Bool) async -> Bool {
        guard lasts, let all = try? await limited(right) else { return false }
        for rights in all { guard await use(rights) else { return false } }
        return true
    }

    var canCopy: Bool { get async { await allow(.copy) { await $0.canCopy } } }
    func canCopy(_ text: String) async -> Bool { await allow(.copy) { await $0.canCopy(text) } }
    func copy(_ text: String, requestID: String?) async -> Bool {
        await allow(.copy) { await $0.copy(text, requestID: requestID) }
    }
    var canPrint: Bool { get async { await allow(.print) { await $0.canPrint } } }
    func canPrint(pageCount: Int) async -> Bool {
        guard pageCount > 0 else { return false }
        return await allow(.print) { await $0.canPrint(pageCount: pageCount) }
    }
    func print(pageCount: Int, requestID: String?) async -> Bool {
        guard pageCount > 0 else { return false }
        return await allow(.print) { await $0.print(pageCount: pageCount, requestID: requestID) }
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
