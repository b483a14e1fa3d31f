// SPDX-License-Identifier: Apache-2.0

import CCurl
import CarrelBytes
import Glibc

// What libcurl calls on the loop's thread. Functions at file scope, because a closure could carry an actor's isolation.

private func transfer(_ context: UnsafeMutableRawPointer) -> Transfer {
    unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

func receiveHeadLine(
    _ bytes: UnsafeMutablePointer<CChar>,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer
) -> Int {
    let line = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(bytes), byteCount: size * count)
    return unsafe transfer(context).receiveHeadLine(line) ? size * count : ccurl_write_error
}

func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer
) -> Int {
    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return switch unsafe transfer(context).receiveBody(part) {
    case .took: size * count
    case .pause: ccurl_write_pause
    case .stop: ccurl_write_error
    }
}

func provideBody(
    _ bytes: UnsafeMutablePointer<CChar>,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer
) -> Int {
    let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return switch unsafe transfer(context).upload.provide(into: room) {
    case .wrote(let count): count
    case .pause: ccurl_read_pause
    case .abort: ccurl_read_abort
    }
}

func rewindBody(_ context: UnsafeMutableRawPointer, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    let isRewound = unsafe origin == SEEK_SET && transfer(context).upload.rewind(to: Int64(offset))
    return isRewound ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

func openSocket(
    _ context: UnsafeMutableRawPointer,
    _ purpose: curlsocktype,
    _ address: UnsafePointer<curl_sockaddr>
) -> curl_socket_t {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe ccurl_address_bytes(address, &bytes)
    guard unsafe transfer(context).mayConnect(to: Array(bytes.prefix(Int(count)))) else { return CURL_SOCKET_BAD }
    let target = unsafe address.pointee
    return socket(target.family, target.socktype | O_CLOEXEC, target.protocol)
}

/// Called before each request is sent, on a new or a reused connection.
func judgeConnection(
    _ context: UnsafeMutableRawPointer,
    _ peer: UnsafeMutablePointer<CChar>,
    _ own: UnsafeMutablePointer<CChar>,
    _ peerPort: Int32,
    _ ownPort: Int32
) -> Int32 {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe ccurl_parse_address(peer, &bytes)
    let isAllowed = unsafe transfer(context).maySend(to: Array(bytes.prefix(Int(count))))
    return isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
