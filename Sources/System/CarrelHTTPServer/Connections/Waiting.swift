// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The state of a suspended exchange, so that another thread can release it.
struct Waiting: Sendable {
    let exchange: any PendingExchange
    let task: Task<Void, Never>?
    let upload: UploadBody?
    let stream: StreamedBody?

    /// Handles a lost client: notifies the handler, and releases the connection.
    func abandon() {
        if exchange.markAbandoned() {
            task?.cancel()
            upload?.fail(HTTPError(.clientClosedRequest, "http.cancelled"))
        }
        stream?.close()  // which may not have been there the first time
        exchange.wake()
    }
}
