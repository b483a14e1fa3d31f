// SPDX-License-Identifier: Apache-2.0

public import CarrelPublication
public import FoundationEssentials

extension Resource {
    /// Reads the bytes of a range that exist.
    ///
    /// - Parameter range: byte positions in the resource as a reader sees it, decrypted and unpacked.
    /// - Returns: at most as many bytes as the range has.
    /// - Throws: `ResourceError`.
    public func readData(_ range: Range<Int64>) async throws(ResourceError) -> Data { Data(try await read(range)) }

    /// Reads the whole of something small, such as a picture.
    ///
    /// - Parameter limit: bytes at most.
    /// - Returns: all bytes.
    /// - Throws: `resource.too-large` if there are more; otherwise as ``readData(_:)``.
    public func readData(upTo limit: Int) async throws(ResourceError) -> Data { Data(try await read(upTo: limit)) }
}
