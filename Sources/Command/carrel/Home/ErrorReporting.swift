// SPDX-License-Identifier: Apache-2.0

package import CarrelCommandLine
package import CarrelHTTPServer
import CarrelHome
import CarrelServer
package import CarrelStore

// Messages, hints and exit statuses of the libraries' errors on a terminal.

extension ServerError: ReportableError {
    var hint: String? {
        switch code {
        case .homeMissing: "check --home and CARREL_HOME; 'carrel init' creates a home, as do serve, ingest and restore"
        case .installation:
            "nothing was changed: check --home and --database, or restore the database of these media ('carrel restore'); to start "
                + "with an empty catalog, move the media folder away"
        default: nil
        }
    }

    var exitStatus: ExitStatus {
        switch code {
        case .home: .cannotCreate
        case .homeMissing: .noInput
        case .masterKey, .installation: .badSettings
        case .notFound: .noInput
        case .invalid: .badInput
        case .unauthenticated, .forbidden: .noPermission
        default: .failure
        }
    }
}

extension HTTPServerError: ReportableError {
    package var exitStatus: ExitStatus {
        switch code {
        case .listen, .resources: .unavailable
        default: .badSettings
        }
    }

    package var hint: String? { code == .listen ? Self.adviceOnPorts : nil }

    static let adviceOnPorts = "choose another port with --port; 0 picks a free one"
}

extension StoreError: ReportableError {
    package var exitStatus: ExitStatus {
        switch code {
        case .full: .cannotCreate
        case .busy: .tryAgain
        case .corrupt, .damaged, .newer, .migration: .badInput
        case .notFound: .noInput
        case .unavailable: .unavailable
        default: .failure
        }
    }
}

/// The disk of a home has no room for the database.
struct DiskFull: ReportableError {
    let home: Home

    var message: String { "the disk of \(home.directory) is full" }
    var hint: String? { "free disk space there, then run this command again" }
    var exitStatus: ExitStatus { .cannotCreate }
}
