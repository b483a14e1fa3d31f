// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelPlayer
public import CarrelReader

/// The events of key delivery as traces. A key, a token or a ticket is in none of them.
struct KeyDeliveryLog: Sendable {
    static let channel = Trace.Channel("key-delivery")

    private let listener: (@Sendable (Trace) -> Void)?

    init(_ listener: (@Sendable (Trace) -> Void)?) { self.listener = listener }

    /// Writes an event of a key.
    func write(_ message: StaticString, _ identifier: ContentKeyIdentifier? = nil, _ fields: [Trace.Field] = []) {
        guard let listener else { return }
        var all: [Trace.Field] = []
        if let keyID = identifier?.keyID { all.append(.init("kid", .keyID(keyID))) }
        listener(Trace(Self.channel, .now(), message, all + fields))
    }

    /// Writes an event of a license.
    func write(_ message: StaticString, _ identifier: ContentKeyIdentifier? = nil, license: String) {
        write(message, identifier, [.init("license", .keyID(license))])
    }

    /// Writes the ids of a request: of the key and, with Apple's addresses, of the initialization vector.
    func writeInfo(_ request: ContentKeyRequest) {
        var fields: [Trace.Field] = [.init("request", .number(request.id)), .init("kind", .name(request.kind.rawValue))]
        for address in request.identifier.addresses {
            if let vector = FairPlayKeyAddress(address)?.initializationVector {
                fields.append(.init("iv", .keyID(Hex.encode(vector))))
            } else {
                fields.append(.init("address", .url(address)))
            }
        }
        write("key request info", request.identifier, fields)
    }

    /// Writes the status and the `X-AxDRM-…` fields of a response.
    func writeResponse(_ identifier: ContentKeyIdentifier, status: Int, fields: [(name: String, value: String)]) {
        write("content key response received", identifier, [.init("status", .number(status))])
        for field in fields where field.name.lowercased().hasPrefix("x-axdrm-") {
            write("response field", identifier, [.init("name", .name(field.name)), .init("value", .name(field.value))])
        }
    }
}

extension Trace.Value {
    /// A public id, in groups of at most 20 characters so that it is shown whole.
    static func keyID(_ id: String) -> Trace.Value {
        var parts: [String] = []
        var rest = Substring(id.filter { $0 != "-" })
        while !rest.isEmpty {
            parts.append(String(rest.prefix(8)))
            rest = rest.dropFirst(8)
        }
        return .name(parts.joined(separator: "."))
    }
}

extension Trace {
    /// Creates the trace of a step of a player.
    ///
    /// ```swift
    /// let engine = try PlayerEngine(folder: folder, vault: vault, app: app) { trace(Trace($0, time: .now())) }
    /// ```
    ///
    /// - Parameters:
    ///   - transaction: the step.
    ///   - time: the time of the step.
    public init(_ transaction: PlayerTransaction, time: Instant) {
        let channel = Channel("player")
        switch transaction {
        case .began(let kind): self.init(channel, time, "transaction begun", [.init("kind", .name(kind.rawValue))])
        case .progress(let kind, let step, let done, let total):
            self.init(
                channel,
                time,
                "transaction step done",
                [
                    .init("kind", .name(kind.rawValue)), .init("step", .name(step)), .init("done", .number(done)),
                    .init("total", .number(total)),
                ]
            )
        case .call(let method, let url, let status, let duration):
            self.init(
                channel,
                time,
                "call to the service ended",
                [.init("method", .name(method)), .init("url", .url(url))]
                    + (status.map { [.init("status", .number($0))] } ?? []) + [.init("duration", .duration(duration))]
            )
        case .ended(let kind, let error):
            self.init(
                channel,
                time,
                error == nil ? "transaction done" : "transaction failed",
                [.init("kind", .name(kind.rawValue))] + (error.map { [.init("error", .code(of: $0))] } ?? [])
            )
        }
    }
}
