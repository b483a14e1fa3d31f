// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelServer

/// The catalog of a home, managed by its server or, if none is running, by this process.
///
/// Servers may stop and start during an ingest: each call goes to the process that has the database at that moment.
actor HomeCatalog {
    private let options: HomeOptions
    private var client: HomeClient

    /// - Parameters:
    ///   - options: the home, which is created if it is missing.
    ///   - console: reports a created home.
    /// - Throws: the home's error.
    init(_ options: HomeOptions, _ console: Console) async throws {
        self.options = options
        client = try await HomeClient(options, creating: console)
    }

    /// Calls the API. The call must be harmless if it is repeated.
    func call(_ target: String, contentType: String = "application/json", _ body: [UInt8]) async throws -> JSON {
        do {
            return try await client.call(.post, target, contentType: contentType, body)
        } catch is HTTPClientError {
            do {
                client = try await HomeClient(options)
                return try await client.call(.post, target, contentType: contentType, body)
            } catch let error as HTTPClientError {
                throw ServerGone(home: options.home, reason: "\(error)")
            } catch let error as UsageError {
                throw ServerGone(home: options.home, reason: error.message)
            }
        }
    }
}

/// The server of a home stopped during a command that uses it.
struct ServerGone: ReportableError {
    let home: String
    let reason: String

    var message: String { "the server of the home \(home) stopped, and its catalog cannot be reached: \(reason)" }
    var hint: String? { "run this command again when the server is back; titles already in the catalog are skipped" }
    var exitStatus: ExitStatus { .tryAgain }
}
