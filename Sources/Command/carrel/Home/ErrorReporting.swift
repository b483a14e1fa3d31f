// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
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

/// A domain whose failures end the command with exit statuses of their own.
package protocol ReportableDomain: ErrorDomain {
    /// The exit status for a failure.
    static func exitStatus(_ code: CodedFailure<Self>.Code) -> ExitStatus
    /// The remedy, if it is known.
    static func hint(_ code: CodedFailure<Self>.Code) -> String?
}

extension CodedFailure: ReportableError where Domain: ReportableDomain {
    package var exitStatus: ExitStatus { Domain.exitStatus(code) }
    package var hint: String? { Domain.hint(code) }
}

extension HTTPServerErrorDomain: ReportableDomain {
    static let adviceOnPorts = "choose another port with --port; 0 picks a free one"

    package static func exitStatus(_ code: HTTPServerError.Code) -> ExitStatus {
        switch code {
        case .listen, .resources: .unavailable
        default: .badSettings
        }
    }

    package static func hint(_ code: HTTPServerError.Code) -> String? { code == .listen ? adviceOnPorts : nil }
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
