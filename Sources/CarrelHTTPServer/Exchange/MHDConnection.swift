import CMicroHTTPD
import CarrelHTTP
import Glibc

/// libmicrohttpd's handle of a connection. Valid from the request's first callback to its last, and while suspended.
@safe
struct MHDConnection: @unchecked Sendable {  // suspending and resuming is all that other threads do, and that is allowed
    let raw: OpaquePointer

    init(_ raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    /// Stops looking at the socket. Only inside a callback of this connection.
    func suspend() {
        unsafe MHD_suspend_connection(raw)
    }

    /// Looks at the socket again. Once for each suspension, from any thread.
    func resume() {
        unsafe MHD_resume_connection(raw)
    }

    /// Bytes from the method to the end of the header; 0 before all of it has come.
    var headByteCount: Int { unsafe cmhd_header_size(raw) }

    /// Sends bytes past the library, where it takes no response any more, and ends our direction. Only on the daemon's thread, with nothing
    /// of another response left to send.
    ///
    /// - Returns: whether the socket took all of them.
    func sendLast(_ bytes: [UInt8]) -> Bool {
        let count = unsafe bytes.withUnsafeBytes { unsafe cmhd_send(raw, $0.baseAddress, $0.count) }
        unsafe shutdown(cmhd_descriptor(raw), Int32(SHUT_WR))
        return count == bytes.count
    }

    /// The certificate that the client showed in the handshake, on a listener that asks for one.
    var clientCertificate: ClientCertificate? {
        var (count, status) = (0, UInt32(0))
        guard let start = unsafe cmhd_peer_certificate(raw, &count, &status) else { return nil }
        guard status == 0, 1...ClientCertificate.maxByteCount ~= count else { return .untrusted }
        return unsafe .verified(Array(UnsafeBufferPointer(start: start, count: count)))
    }

    /// The header fields as sent.
    ///
    /// - Parameter layout: where the request's line lies.
    /// - Returns: the fields.
    /// - Throws: 400 where the head holds bytes that the library does not show.
    func head(_ layout: HeadLayout) throws(HTTPError) -> RequestGuard {
        guard layout.hasPlainLine else {
            throw HTTPError(.badRequest, "http.requestLine", "one blank parts the method, the target and the version")
        }
        var head = PlacedHead(layout: layout)
        unsafe withUnsafeMutablePointer(to: &head) { head in
            _ = unsafe MHD_get_connection_values_n(raw, .HEADER_KIND, collectField, head)
        }
        guard head.layout.isWhole(byteCount: headByteCount) else {
            throw HTTPError(.badRequest, "http.field", "a header line is folded, has a NUL, or ends in a bare line feed")
        }
        return head.fields
    }
}

/// The fields of a header and where they lie.
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
