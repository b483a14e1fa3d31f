import CMicroHTTPD
import CarrelHTTP

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

    /// The header fields as sent.
    func head() -> RequestGuard {
        var head = RequestGuard()
        unsafe withUnsafeMutablePointer(to: &head) { head in
            _ = unsafe MHD_get_connection_values_n(raw, .HEADER_KIND, collectField, head)
        }
        return head
    }
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
    let head = unsafe context.assumingMemoryBound(to: RequestGuard.self)
    unsafe head.pointee.add(name: name.bytes, value: value.bytes)
    return .YES
}
