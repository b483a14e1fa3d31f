import CCommonPasswords
import CarrelBytes
import CarrelCrypto

/// The passwords that are guessed first, whatever their case. Only the starts of their hashes are kept.
enum CommonPasswords {
    static func contains(_ password: String) -> Bool {
        let wanted = Array(SHA256.hash(Array(password.lowercased().utf8).rawSpan).prefix(8))
        let hashes = unsafe UnsafeBufferPointer(start: ccommonpasswords_hashes, count: ccommonpasswords_count)
        var (low, high) = (0, hashes.count / 8)
        while low < high {
            let middle = (low + high) / 2
            let found = unsafe Array(hashes[middle * 8..<middle * 8 + 8])
            if found == wanted { return true }
            if found.lexicographicallyPrecedes(wanted) { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
