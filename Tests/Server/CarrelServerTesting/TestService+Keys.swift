// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelJSON
import CarrelHome
import CarrelServer
import CarrelWebAPI
import Testing

extension TestService {
    /// The path of an absolute address.
    package func path(of address: String) -> String {
        "/" + address.split(separator: "/", omittingEmptySubsequences: false).dropFirst(3).joined(separator: "/")
    }

    /// The key at the address in a playlist.
    package func key(of address: String) async throws -> [UInt8] {
        let answer = try await send(.get, path(of: address))
        #expect(answer.status == 200)
        return answer.body
    }
}

extension TestService {
    /// Adds a master key where a rotation needs that as a step of its own.
    package func addMasterKey(always: Bool = false) async throws {
        guard always || Engine.current == .postgres else { return }
        let answer = try await call(.post, "/admin/v1/master-key/add", body: [:], peer: .local(userID: 0))
        guard answer.status == 200 else { throw ServerError(.conflict, "\(answer.json)") }
    }
}

extension TestService {
    /// The id of an account.
    package func account(_ name: String) async throws -> String {
        try await service.accounts.find(named: name)?.id ?? ""
    }
}
