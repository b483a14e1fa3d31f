// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP

extension Exchange {
    /// Counts and logs an exchange that has ended.
    func record(wasSent: Bool) {
        let nanoseconds = Monotonic.nanoseconds() - startTime
        let status = reply?.status ?? (request == nil ? .badRequest : .clientClosedRequest)
        let bytes = method == "HEAD" ? 0 : reply?.sentBytes ?? 0
        let route = match?.route
        worker.requests.record(
            route: route?.pattern,
            method: method,
            status: status.rawValue,
            nanoseconds,
            bytes
        )
        guard let log = worker.core.log else { return }
        let duration = Duration.nanoseconds(nanoseconds)
        log(
            AccessRecord(
                time: .now() - duration,
                id: id,
                peer: peer,
                method: method,
                route: route?.pattern,
                path: request.flatMap { request in match?.loggedPath(of: request) } ?? "-",
                status: status,
                bytes: bytes,
                duration: duration,
                isWhole: wasSent
            )
        )
    }
}
