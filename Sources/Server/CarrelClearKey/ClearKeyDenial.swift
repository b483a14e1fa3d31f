// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelWebAPI

/// The denial of a request for keys, with a problem type of DASH-IF (Content Protection and Security §4.5).
struct ClearKeyDenial: HTTPProblemConvertible {
    /// The types of problems.
    enum Kind: String {
        /// The client may not have the keys, and another token would not change it.
        case notAuthorized = "https://dashif.org/drm-problems/not-authorized"
        /// The client should get another token and try again.
        case insufficientProof = "https://dashif.org/drm-problems/insufficient-proof-of-authorization"
    }

    let kind: Kind
    let reason: RuleError

    init(_ kind: Kind, _ reason: RuleError) {
        self.kind = kind
        self.reason = reason
    }

    var problem: HTTPError {
        var problem = reason.problem
        (problem.status, problem.type) = (.forbidden, kind.rawValue)
        return problem
    }
}
