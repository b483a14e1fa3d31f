// SPDX-License-Identifier: Apache-2.0

import CSecret
import CarrelBytes
import CarrelCrypto
import CarrelVault

/// A connection to the Secret Service of the session bus, with an encrypted session. One thread at a time.
@safe
final class SecretServiceClient {
    private let service: UnsafeMutableRawPointer
    private let allowsPrompt: Bool
    private let timeout: Duration
    /// For how long a user may look at a prompt.
    private let promptTimeout: Duration

    private static let attribute = "carrel-vault"
    private static let schema = "org.carrel.Vault"

    init(allowsPrompt: Bool, timeout: Duration, promptTimeout: Duration) throws(SecretFailure) {
        self.allowsPrompt = allowsPrompt
        self.timeout = timeout
        self.promptTimeout = promptTimeout
        let bus = try unsafe call(timeout) { unsafe g_bus_get_sync(CInt(csecret_bus_session), $0, &$1) }
        guard let bus = unsafe bus else { throw .failed("there is no session bus") }
        defer { unsafe g_object_unref(bus) }
        // Otherwise the end of the bus would end this process.
        unsafe g_dbus_connection_set_exit_on_close(bus, 0)
        let service = try unsafe call(timeout) {
            unsafe secret_service_open_sync(secret_service_get_type(), nil, UInt32(csecret_open_session), $0, &$1)
        }
        guard let service = unsafe service else { throw .failed("there is no Secret Service") }
        unsafe self.service = service
    }

    deinit {
        unsafe g_object_unref(service)
    }

    /// The secret of a vault; nil if the keyring has none.
    ///
    /// - Parameter id: the vault's.
    /// - Returns: the secret, whatever its length.
    /// - Throws: ``SecretFailure``.
    func secret(of id: [UInt8]) throws(SecretFailure) -> Secret? {
        let attributes = unsafe attributes(id)
        defer { unsafe g_hash_table_unref(attributes) }
        let items = try unsafe call(timeout) {
            unsafe secret_service_search_sync(service, nil, attributes, UInt32(csecret_search_all), $0, &$1)
        }
        defer { unsafe g_list_free_full(items, g_object_unref) }
        guard let item = unsafe items?.pointee.data else { return nil }
        if unsafe secret_item_get_locked(item) != 0 { try unsafe unlock(item) }
        try unsafe call(timeout) { _ = unsafe secret_item_load_secret_sync(item, $0, &$1) }
        guard let value = unsafe secret_item_get_secret(item) else { throw .locked }
        // libsecret keeps the value in its own memory, which it wipes.
        defer { unsafe secret_value_unref(value) }
        var count = 0
        guard let start = unsafe secret_value_get(value, &count) else { return nil }
        return unsafe Secret(copying: RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: count))
    }

    /// Keeps the secret of a new vault in the default keyring.
    func store(_ secret: Secret, of id: [UInt8]) throws(SecretFailure) {
        let collection = try unsafe call(timeout) {
            unsafe secret_collection_for_alias_sync(service, "default", UInt32(csecret_collection_none), $0, &$1)
        }
        guard let collection = unsafe collection else {
            throw .vault(
                VaultError(
                    .unavailable,
                    "there is no default keyring",
                    recommendation: "make a keyring with the desktop's own program"
                )
            )
        }
        defer { unsafe g_object_unref(collection) }
        if unsafe secret_collection_get_locked(collection) != 0 { try unsafe unlock(collection) }
        let attributes = unsafe attributes(id)
        defer { unsafe g_hash_table_unref(attributes) }
        let value = unsafe secret.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                return unsafe secret_value_new(start, bytes.count, "application/octet-stream")
            }
        }
        defer { unsafe secret_value_unref(value) }
        let item = try unsafe call(timeout) {
            let flags = UInt32(csecret_item_create_none)
            return unsafe secret_item_create_sync(collection, nil, attributes, "Carrel", value, flags, $0, &$1)
        }
        unsafe g_object_unref(item)
    }

    /// Asks the user to unlock an item or a collection, if that is allowed.
    private func unlock(_ object: UnsafeMutableRawPointer) throws(SecretFailure) {
        guard allowsPrompt else { throw .locked }
        var list = unsafe GList(data: object, next: nil, prev: nil)
        let count = try unsafe call(promptTimeout) {
            var unlocked: UnsafeMutablePointer<GList>?
            let count = unsafe secret_service_unlock_sync(service, &list, $0, &unlocked, &$1)
            unsafe g_list_free_full(unlocked, g_object_unref)
            return count
        }
        guard count > 0 else { throw .vault(VaultError(.refused, "the keyring stays locked: the prompt was dismissed")) }
    }

    private func attributes(_ id: [UInt8]) -> UnsafeMutableRawPointer {
        let table = unsafe g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)
        for (name, value) in [("xdg:schema", Self.schema), (Self.attribute, Hex.encode(id))] {
            _ = unsafe g_hash_table_insert(table, g_strdup(name), g_strdup(value))
        }
        return unsafe table
    }
}

/// Calls a function of GLib that reports an error, and cancels it after a time.
private func call<Value>(
    _ timeout: Duration,
    _ function: (UnsafeMutableRawPointer, inout UnsafeMutablePointer<GError>?) -> Value
) throws(SecretFailure) -> Value {
    try unsafe Deadline.limit(timeout) { cancellable throws(SecretFailure) in
        var error: UnsafeMutablePointer<GError>?
        let value = unsafe function(cancellable, &error)
        if unsafe error != nil { throw unsafe SecretFailure(error) }
        return value
    }
}
