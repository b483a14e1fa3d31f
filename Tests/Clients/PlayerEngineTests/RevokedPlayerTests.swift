// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelLicensing
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelTesting
import CarrelTokens
import Testing

private let day = Duration.seconds(86_400)

/// A device with a bought license, linked to an account.
private struct OwnedDevice {
    let world: PlayerWorld
    let engine: PlayerEngine
    let alice: Account
    let session: String
    let player: String
    let license: String

    init() async throws {
        world = try await PlayerWorld()
        alice = try await world.service.accounts.findOrCreate(named: "alice")
        session = try await world.service.accounts.issueSession(for: alice)
        let folder = world.folder("reader")
        engine = try world.engine(folder, try await world.vault(folder))
        player = try await engine.personalize(server: world.url, session: session).player
        license = try await engine.process(try await world.action()).license
    }

    /// Lets time pass on both sides, with the server's housekeeping, and asks the server for what is new.
    func wait(days: Int) async throws {
        world.wait(day * days)
        while try await world.service.housekeeping.run() > 0 {}
        try await engine.updateSecurityData()
    }

    var reason: ActionResult.Reason? {
        get async throws { try await engine.check("cid:film").result.reason }
    }

    func list() async throws -> Revocations {
        let keys = try await world.service.authority.keys().document
        return try Revocations(try await world.service.authority.revocations(), keys: keys)
    }
}

struct `A device that was revoked` {
    enum Cause: String, CaseIterable { case staff, reader, device, password }

    @Test(arguments: Cause.allCases)
    func `stays revoked after its certificate has ended, and its keys are not accepted as a new player`(cause: Cause) async throws
    {
        let device = try await OwnedDevice()
        let (service, alice) = (device.world.service, device.alice)
        #expect(try await device.reason == nil)
        switch cause {
        case .staff: _ = try await service.players.change(device.player, .revoke, by: .operator)
        case .reader:
            let actor = AuditActor(alice.id)
            _ = try await service.players.change(device.player, .revoke, of: alice.id, by: actor)
        case .device:
            let slot = try #require(try await service.players.find(device.player).device)
            try await service.devices.revoke(slot, of: alice, isOwner: true, by: AuditActor(alice.id))
        case .password: try await service.desk.change(alice.id, .init(password: "battery staple horse"), by: .operator)
        }
        try await device.engine.updateSecurityData()
        #expect(try await device.reason == .revoked)
        let named = try await device.list()
        #expect(named.players == [device.player] && named.serials.isEmpty && named.licenses.isEmpty, "once")
        #expect(try await service.licenses.list(of: device.player, after: nil, limit: 9).map(\.endedBy) == ["player"])
        for days in [91, 40, 1000] {
            try await device.wait(days: days)
            #expect(try await device.reason == .revoked, "\(days) days later")
        }
        #expect(try await service.players.list(after: nil, limit: 9).isEmpty)
        #expect(try await device.engine.revokedLicenses(of: [device.license]) == [device.license])
        let again = await #expect(throws: PlayerError.self) {
            try await device.engine.personalize(server: device.world.url, isForced: true)
        }
        #expect(again?.serverCode == "personalization.revoked")
        #expect(try await device.engine.expungeExpiredLicenses() == 1)
    }

    @Test func `is listed until the end of its last license, and no longer`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        let end = world.clock.now.wholeSecond + day * 100
        _ = try await engine.process(try await world.action { $0.rights = .rental(periodEnd: end, playDuration: 7200) })
        let player = try #require(await engine.identity?.player)
        _ = try await world.service.players.change(player, .revoke, by: .operator)
        func players() async throws -> Set<String> {
            let keys = try await world.service.authority.keys().document
            return try Revocations(try await world.service.authority.revocations(), keys: keys).players
        }
        world.wait(day * 99)
        while try await world.service.housekeeping.run() > 0 {}
        #expect(try await players() == [player])
        world.wait(day * 32)
        while try await world.service.housekeeping.run() > 0 {}
        #expect(try await players().isEmpty)
    }
}

struct `A device that is suspended` {
    @Test(arguments: [false, true])
    func `stays suspended after its certificate has ended, until it resumes`(isAccount: Bool) async throws {
        let device = try await OwnedDevice()
        let service = device.world.service
        func suspend(_ isSuspended: Bool) async throws {
            if isAccount {
                try await service.desk.change(device.alice.id, .init(isSuspended: isSuspended), by: .operator)
            } else {
                _ = try await service.players.change(device.player, isSuspended ? .suspend : .resume, by: .operator)
            }
        }
        try await suspend(true)
        try await device.engine.updateSecurityData()
        #expect(try await device.reason == .revoked)
        for days in [91, 40, 300] {
            try await device.wait(days: days)
            #expect(try await device.reason == .revoked, "\(days) days later")
        }
        try await suspend(false)
        try await device.engine.updateSecurityData()
        #expect(try await device.reason == nil)
        #expect(try await device.engine.personalize(server: device.world.url, isForced: true).player == device.player)
    }

    @Test func `stops though its certificate had ended before the suspension`() async throws {
        let device = try await OwnedDevice()
        try await device.wait(days: 95)
        #expect(try await device.reason == nil)
        try await device.world.service.desk.change(device.alice.id, .init(isSuspended: true), by: .operator)
        try await device.engine.updateSecurityData()
        #expect(try await device.reason == .revoked)
        // a year later the player is there still: its account has a license on it
        try await device.wait(days: 365)
        #expect(try await device.reason == .revoked)
        try await device.world.service.desk.change(device.alice.id, .init(isSuspended: false), by: .operator)
        try await device.engine.updateSecurityData()
        #expect(try await device.reason == nil)
    }
}

struct `A license with a rule that this player does not know` {
    private func reason(_ change: (inout BusinessRules) -> Void) async throws -> ActionResult.Reason? {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        _ = try await engine.process(try await world.action(change))
        return try await engine.check("cid:film").result.reason
    }

    @Test func `does not play`() async throws {
        #expect(try await reason { $0.unknownOutputBehavior = .allow } == nil)
        #expect(try await reason { $0.outputControlOverride = .init(imageConstraintLevel: 0) } == nil)
        #expect(try await reason { $0.extensions = [.init(type: "wudo", isCritical: true, payload: [])] } == nil)
        #expect(try await reason { $0.extensions = [.init(type: "wudo", isCritical: true, payload: [0, 0, 0, 0])] } == nil)
        let unknown = ActionResult.Reason.unsupportedObligation
        #expect(try await reason { $0.unknownOutputBehavior = .sdOnly } == unknown)
        #expect(try await reason { $0.unknownOutputBehavior = .disallow } == unknown)
        #expect(try await reason { $0.outputControlFlags = 0xffff_ffff } == unknown)
        #expect(try await reason { $0.outputControlOverride = .init(imageConstraintLevel: 3) } == unknown)
        for isCritical in [false, true] {
            let rule = BusinessRules.Extension(type: "wudo", isCritical: isCritical, payload: [1])
            #expect(try await reason { $0.extensions = [rule] } == unknown)
        }
        #expect(try await reason { $0.extensions = [.init(type: "abcd", isCritical: true, payload: [])] } == unknown)
    }
}
