// SPDX-License-Identifier: Apache-2.0

import CDBus
import CarrelThreads
import Glibc

/// A private connection to a message bus. One thread at a time.
///
/// Messages are taken from the connection's queue, so no function of this program is called by libdbus.
@safe
struct BusConnection: ~Copyable {
    private let connection: OpaquePointer
    private let limit: Duration
    /// Whether a signal of a service came since it was last asked for.
    private var hasSignal = false

    /// Messages of one reading, at most: a service that sends without end does not block the thread.
    private static let messageLimit = 1000

    private init(_ connection: OpaquePointer, _ limit: Duration) {
        unsafe self.connection = connection
        self.limit = limit
        // otherwise the end of the bus ends this process
        unsafe dbus_connection_set_exit_on_disconnect(connection, 0)
    }

    /// Connects to a bus.
    ///
    /// - Parameters:
    ///   - address: the bus; nil for the system bus.
    ///   - limit: the longest wait for a reply.
    /// - Returns: the connection; nil if there is no bus.
    static func open(_ address: String?, _ limit: Duration) -> BusConnection? {
        guard dbus_threads_init_default() != 0 else { return nil }
        guard let connection = unsafe dbus_connection_open_private(address ?? systemAddress, nil) else { return nil }
        var bus = unsafe BusConnection(connection, limit)
        guard bus.register() else { return nil }
        return bus
    }

    deinit {
        unsafe dbus_connection_close(connection)
        unsafe dbus_connection_unref(connection)
    }

    private static var systemAddress: String {
        let variable = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) } ?? ""
        return variable.isEmpty ? "unix:path=/run/dbus/system_bus_socket" : variable
    }

    /// Sends `Hello`, as `dbus_bus_register` does without a time limit of its caller.
    private mutating func register() -> Bool {
        let call = unsafe dbus_message_new_method_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "Hello")
        guard let reply = unsafe send(call) else { return false }
        var iterator = unsafe DBusMessageIter()
        guard unsafe dbus_message_iter_init(reply.message, &iterator) != 0, let name = unsafe Self.text(&iterator) else {
            return false
        }
        return unsafe dbus_bus_set_unique_name(connection, name) != 0
    }

    var isConnected: Bool { unsafe dbus_connection_get_is_connected(connection) != 0 }

    /// The file that becomes readable when a message comes; -1 without one.
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        return unsafe dbus_connection_get_unix_fd(connection, &descriptor) != 0 ? descriptor : -1
    }

    /// Subscribes to changes of a service's properties, and to its start and end.
    func subscribe(to service: DesktopService) {
        let name = service.rawValue
        // a null error: the rule is sent, and its reply is not waited for
        unsafe dbus_bus_add_match(
            connection,
            "type='signal',sender='\(name)',interface='\(DBUS_INTERFACE_PROPERTIES)',member='PropertiesChanged'",
            nil
        )
        unsafe dbus_bus_add_match(
            connection,
            "type='signal',sender='\(DBUS_SERVICE_DBUS)',member='NameOwnerChanged',arg0='\(name)'",
            nil
        )
        unsafe dbus_connection_flush(connection)
    }

    /// Reads what has come.
    ///
    /// - Returns: whether a signal of a service was among it, or among what came since the last call.
    mutating func takeSignals() -> Bool {
        unsafe dbus_connection_read_write(connection, 0)
        _ = takeMessages(until: 0)
        defer { hasSignal = false }
        return hasSignal
    }

    /// Removes messages from the queue.
    ///
    /// - Parameter serial: the number of a call; 0 for none.
    /// - Returns: the reply to the call, with which it ends.
    private mutating func takeMessages(until serial: UInt32) -> BusReply? {
        for _ in 0..<Self.messageLimit {
            guard let message = unsafe dbus_connection_pop_message(connection) else { break }
            let reply = unsafe BusReply(message)
            switch unsafe dbus_message_get_type(message) {
            case DBUS_MESSAGE_TYPE_SIGNAL:
                // sent by the bus after Hello
                let isOwn = unsafe dbus_message_is_signal(message, DBUS_INTERFACE_DBUS, "NameAcquired") != 0
                if !isOwn { hasSignal = true }
            case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR:
                // a late reply to an earlier call is dropped
                if serial != 0, unsafe dbus_message_get_reply_serial(message) == serial { return reply }
            default: break
            }
        }
        return nil
    }

    /// The numbers and truth values among the properties of an object.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - path: the object.
    ///   - interface: the interface of the properties.
    /// - Returns: the values by name; empty if there is no answer in time.
    mutating func properties(of service: DesktopService, _ path: String, _ interface: String) -> [String: UInt32] {
        let call = unsafe dbus_message_new_method_call(service.rawValue, path, DBUS_INTERFACE_PROPERTIES, "GetAll")
        guard let call = unsafe call else { return [:] }
        unsafe dbus_message_set_auto_start(call, service.mayStart ? 1 : 0)
        var arguments = unsafe DBusMessageIter()
        unsafe dbus_message_iter_init_append(call, &arguments)
        let isComplete = unsafe interface.withCString { text in
            var text: UnsafePointer<CChar>? = unsafe text
            return unsafe dbus_message_iter_append_basic(&arguments, CInt(cdbus_type_string), &text) != 0
        }
        guard isComplete else {
            unsafe dbus_message_unref(call)
            return [:]
        }
        guard let reply = unsafe send(call) else { return [:] }
        return reply.numbers
    }

    /// Sends a call, waits for its reply, and releases the call.
    ///
    /// libdbus's own function for this first waits without a limit until the call is written, which a bus that does not answer never allows.
    private mutating func send(_ call: OpaquePointer?) -> BusReply? {
        guard let call = unsafe call else { return nil }
        defer { unsafe dbus_message_unref(call) }
        var serial: UInt32 = 0
        guard unsafe dbus_connection_send(connection, call, &serial) != 0 else { return nil }
        let end = ContinuousClock.now + limit
        while true {
            if let reply = takeMessages(until: serial) {
                guard unsafe dbus_message_get_type(reply.message) == DBUS_MESSAGE_TYPE_METHOD_RETURN else { return nil }
                return reply
            }
            let left = end - .now
            guard left > .zero, isConnected else { return nil }
            unsafe dbus_connection_read_write(connection, max(1, Int32(clamping: Int64(left / .milliseconds(1)))))
        }
    }

    /// The text at an iterator, which may be of any type.
    fileprivate static func text(_ iterator: inout DBusMessageIter) -> String? {
        guard unsafe dbus_message_iter_get_arg_type(&iterator) == CInt(cdbus_type_string) else { return nil }
        var text: UnsafePointer<CChar>?
        unsafe dbus_message_iter_get_basic(&iterator, &text)
        return unsafe text.map { unsafe String(cString: $0) }
    }
}

/// The reply to a call.
@safe
private struct BusReply: ~Copyable {
    let message: OpaquePointer

    init(_ message: OpaquePointer) { unsafe self.message = message }

    deinit { unsafe dbus_message_unref(message) }

    /// The numbers of a dictionary of variants by name (`a{sv}`).
    var numbers: [String: UInt32] {
        var iterator = unsafe DBusMessageIter()
        guard unsafe dbus_message_iter_init(message, &iterator) != 0,
            unsafe dbus_message_iter_get_arg_type(&iterator) == CInt(cdbus_type_array)
        else { return [:] }
        var (entries, values) = unsafe (DBusMessageIter(), [String: UInt32]())
        unsafe dbus_message_iter_recurse(&iterator, &entries)
        while unsafe dbus_message_iter_get_arg_type(&entries) == CInt(cdbus_type_dict_entry) {
            var (entry, variant) = unsafe (DBusMessageIter(), DBusMessageIter())
            unsafe dbus_message_iter_recurse(&entries, &entry)
            if let name = unsafe BusConnection.text(&entry), unsafe dbus_message_iter_next(&entry) != 0,
                unsafe dbus_message_iter_get_arg_type(&entry) == CInt(cdbus_type_variant)
            {
                unsafe dbus_message_iter_recurse(&entry, &variant)
                let type = unsafe dbus_message_iter_get_arg_type(&variant)
                // a boolean is an unsigned number of 32 bits too (dbus_bool_t)
                if type == CInt(cdbus_type_uint32) || type == CInt(cdbus_type_boolean) {
                    var value: UInt32 = 0
                    unsafe dbus_message_iter_get_basic(&variant, &value)
                    values[name] = value
                }
            }
            guard unsafe dbus_message_iter_next(&entries) != 0 else { break }
        }
        return values
    }
}
