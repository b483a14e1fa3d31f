// SPDX-License-Identifier: Apache-2.0

import CMicroHTTPD
import CarrelHTTP
import Glibc

/// libmicrohttpd's handle of a connection, for as long as the library has it.
///
/// Exchanges, tasks and bodies may outlive the connection, so they share this object, and ``end()`` takes the handle from all of them: each
/// call is without effect from then on. Other threads only resume a suspended connection, which the library does not close.
@safe
final class MHDConnection: @unchecked Sendable {  // its variables are the daemon's thread's, but for a resumption (see above)
    private var raw: OpaquePointer?
    /// The request whose response is not sent yet. The library forgets to complete some of them: the connection's end completes those.
    var exchange: (any PendingExchange)?
    /// Whether the client may still be sending: it would lose the response if the kernel reset the connection.
    var lingers = false

    init(_ raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    /// The library is about to free the connection.
    func end() {
        unsafe raw = nil
    }

    /// Stops looking at the socket. Only inside a callback of this connection.
    func suspend() {
        guard let raw = unsafe raw else { return }
        unsafe MHD_suspend_connection(raw)
    }

    /// Looks at the socket again. Once for each suspension, from any thread.
    func resume() {
        guard let raw = unsafe raw else { return }
        unsafe MHD_resume_connection(raw)
    }

    /// Hands over a response; the library takes its own reference to it.
    func queue(_ response: OpaquePointer, _ status: HTTPStatus) -> MHD_Result {
        guard let raw = unsafe raw else { return .NO }
        return unsafe MHD_queue_response(raw, UInt32(status.rawValue), response)
    }

    /// Bytes from the method to the end of the header; 0 before all of it has come.
    var headByteCount: Int {
        guard let raw = unsafe raw else { return 0 }
        return unsafe cmhd_header_size(raw)
    }

    /// Sends bytes directly, if the library no longer accepts a response, and shuts down our direction. Only on the daemon's
    /// thread, with nothing of another response left to send.
    ///
    /// - Returns: whether all were sent.
    func sendLast(_ bytes: [UInt8]) -> Bool {
        guard let raw = unsafe raw else { return false }
        let count = unsafe bytes.withUnsafeBytes { unsafe cmhd_send(raw, $0.baseAddress, $0.count) }
        unsafe shutdown(cmhd_descriptor(raw), Int32(SHUT_WR))
        return count == bytes.count
    }

    /// The client's certificate from the handshake, on a listener that requests it.
    var clientCertificate: ClientCertificate? {
        guard let raw = unsafe raw else { return nil }
        var (count, status) = (0, UInt32(0))
        guard let start = unsafe cmhd_peer_certificate(raw, &count, &status) else { return nil }
        guard status == 0, 1...ClientCertificate.maxByteCount ~= count else { return .untrusted }
        return unsafe .verified(Array(UnsafeBufferPointer(start: start, count: count)))
    }

    /// The header fields as sent.
    ///
    /// - Parameter layout: the layout of the request line.
    /// - Returns: the fields.
    /// - Throws: 400 if the head contains bytes that the library hides.
    func head(_ layout: HeadLayout) throws(HTTPError) -> RequestGuard {
        guard layout.hasPlainLine else {
            throw HTTPError(.badRequest, "http.request-line", "one blank parts the method, the target and the version")
        }
        var head = PlacedHead(layout: layout)
        if let raw = unsafe raw {
            unsafe withUnsafeMutablePointer(to: &head) { head in
                _ = unsafe MHD_get_connection_values_n(raw, .HEADER_KIND, collectField, head)
            }
        }
        guard head.layout.isWhole(byteCount: headByteCount) else {
            throw HTTPError(.badRequest, "http.field", "a header line is folded, has a NUL, or ends in a bare line feed")
        }
        return head.fields
    }
}

/// The fields of a header and their positions.
private struct PlacedHead {
    var fields = RequestGuard()
    var layout: HeadLayout
}

private func collectField(
    _ context: UnsafeMutableRawPointer?,
    _ kind: MHD_ValueKind,
    _ name: UnsafePointer<CChar>?,
    _ nameCount: Int,
    _ value: UnsafePointer<CChar>?,
    _ valueCount: Int
) -> MHD_Result {
    guard let context = unsafe context else { return .NO }
    let name = unsafe UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameCount)
    let value = unsafe UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount)
    let head = unsafe context.assumingMemoryBound(to: PlacedHead.self)
    unsafe head.pointee.fields.add(name: name.bytes, value: value.bytes)
    unsafe head.pointee.layout.add(
        name: HeadLayout.Part(start: UInt(bitPattern: name.baseAddress), count: name.count),
        value: HeadLayout.Part(start: UInt(bitPattern: value.baseAddress), count: value.count)
    )
    return .YES
}
