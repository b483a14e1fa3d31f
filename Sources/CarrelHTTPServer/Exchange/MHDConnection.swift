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
    func headers() -> HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(12)
        unsafe withUnsafeMutablePointer(to: &fields) { fields in
            _ = unsafe MHD_get_connection_values_n(raw, .HEADER_KIND, collectField, fields)
        }
        return fields
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
    let fields = unsafe context.assumingMemoryBound(to: HTTPFields.self)
    unsafe fields.pointee.append(text(name, nameCount), text(value, valueCount))
    return .YES
}

private func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
    guard let start = unsafe start else { return "" }
    return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
}
