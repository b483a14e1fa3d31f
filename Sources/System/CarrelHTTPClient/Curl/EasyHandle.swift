// SPDX-License-Identifier: Apache-2.0

import CCurl

/// A libcurl easy handle: one request at a time. Its owner configures it, then it is the loop's until it is finished.
@safe
final class EasyHandle: @unchecked Sendable {  // handed from the request's task to the loop and back, never used by both
    static let initialized: Bool = curl_global_init(Int(ccurl_global_default)) == CURLE_OK

    let raw: UnsafeMutableRawPointer
    private(set) var fields: UnsafeMutablePointer<curl_slist>?
    let errorBuffer: UnsafeMutablePointer<CChar>

    init?() {
        guard Self.initialized, let raw = unsafe curl_easy_init() else { return nil }
        unsafe self.raw = unsafe raw
        unsafe fields = nil
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        setBufferSize()
    }

    deinit {
        unsafe curl_easy_cleanup(raw)
        unsafe curl_slist_free_all(fields)
        unsafe errorBuffer.deallocate()
    }

    /// Back to how it was made, for the next request.
    func reset() {
        unsafe curl_easy_reset(raw)
        unsafe curl_slist_free_all(fields)
        unsafe fields = nil
        unsafe errorBuffer.pointee = 0
        setBufferSize()
    }

    /// Asks for large reads. libcurl refuses for a handle that still has its buffer, as after a shared HTTP/2 connection; it does
    /// no harm then.
    private func setBufferSize() {
        unsafe ccurl_set_long(raw, CURLOPT_BUFFERSIZE, 128 << 10)
    }

    func set(_ option: CURLoption, _ value: Int) {
        let result = unsafe ccurl_set_long(raw, option, value)
        assert(result == CURLE_OK, "libcurl refused option \(option.rawValue) with \(result.rawValue)")
    }

    func set(_ option: CURLoption, _ value: Bool) {
        set(option, value ? 1 : 0)
    }

    func set(_ option: CURLoption, size value: Int64) {
        let result = unsafe ccurl_set_offset(raw, option, curl_off_t(value))
        assert(result == CURLE_OK, "libcurl refused option \(option.rawValue) with \(result.rawValue)")
    }

    /// False when libcurl refuses the text.
    @discardableResult
    func set(_ option: CURLoption, _ value: String?) -> Bool {
        if let value { return unsafe ccurl_set_text(raw, option, value) == CURLE_OK }
        return unsafe ccurl_set_text(raw, option, nil) == CURLE_OK
    }

    /// False when libcurl refuses the bytes.
    func set(_ option: CURLoption, bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe ccurl_set_bytes(raw, option, start, bytes.count) == CURLE_OK
        }
    }

    /// Adds a header line after libcurl's own.
    func addField(line: String) -> Bool {
        guard let longer = unsafe curl_slist_append(fields, line) else { return false }
        unsafe fields = unsafe longer
        return true
    }

    /// Has the next attempt make a connection of its own, within the rest of the time.
    func connectAnew(within time: Duration) {
        set(CURLOPT_FRESH_CONNECT, true)
        set(CURLOPT_TIMEOUT_MS, Self.milliseconds(time))
    }

    /// libcurl's text for the last failure. It may hold parts of the URL, so it is not for errors in general.
    var errorText: String { unsafe String(cString: errorBuffer) }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        unsafe ccurl_get_long(raw, info, &value)
        return value
    }

    func size(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        unsafe ccurl_get_offset(raw, info, &value)
        return Int64(value)
    }
}
