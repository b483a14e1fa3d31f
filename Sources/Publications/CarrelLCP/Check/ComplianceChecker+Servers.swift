// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelPublication

extension ComplianceChecker {
    /// Checks that the links of a license lead to the expected resources.
    func checkLinks(_ license: LicenseDocument, _ report: inout ComplianceReport) async {
        let status = license.links.first(withRelation: "status")
        if let status {
            report.add("links.status-https", status.href.hasPrefix("https://") ? nil : "the status is not asked for over https")
        }
        guard !isOffline else { return report.skip("links", "no server is asked") }
        for (relation, type) in [("hint", "text/html"), ("status", StatusDocument.mediaType)] {
            guard let link = license.links.first(withRelation: relation) else { continue }
            report.add("links.\(relation)", await fault(link.href, type: link.mediaType?.essence ?? type))
        }
        if let link = license.links.first(withRelation: "publication") {
            report.add("links.publication", await publicationFault(link))
        }
    }

    private func fault(_ url: String, type: String) async -> String? {
        do throws(HTTPClientError) {
            var request = ClientRequest(url, headers: ["Accept": "\(type), */*;q=0.1"])
            request.maxRedirects = 5
            let response = try await client.send(request)
            guard response.status == .ok else { return "the server answered \(response.status.rawValue)" }
            let actualType = response.headers["Content-Type"].flatMap { MediaType($0) }?.essence ?? "nothing"
            return actualType == type ? nil : "it has the media type \(actualType) instead of \(type)"
        } catch {
            return "it cannot be had: \(error)"
        }
    }

    /// Reads the publication once, without keeping it.
    private func publicationFault(_ link: LicenseLink) async -> String? {
        var request = ClientRequest(link.href)
        request.maxRedirects = 5
        request.timeouts.total = .seconds(3600)
        request.maxResponseBytes = 1 << 40
        var digest = Optional(SHA256.Stream())
        var count: Int64 = 0
        var (status, type) = (HTTPStatus.ok, "nothing")
        do {
            let stream = try await client.open(request)
            status = stream.response.status
            type = stream.response.headers["Content-Type"].flatMap { MediaType($0) }?.essence ?? type
            guard status == .ok else {
                stream.cancel()
                return "the server answered \(status.rawValue)"
            }
            while let chunk = try await stream.next() {
                count += Int64(chunk.count)
                digest?.update(chunk.rawSpan)
            }
        } catch {
            return "it cannot be had: \(error)"
        }
        if let expected = link.mediaType?.essence, type != expected {
            return "it has the media type \(type) instead of \(expected)"
        }
        if let length = link.length, length.byteCount != count { return "it has \(count) bytes instead of \(length.byteCount)" }
        if let hash = link.hash, digest.take()?.finish() != hash { return "it has another SHA-256 than the license says" }
        return nil
    }

    /// Checks that the status document is valid and matches the license.
    func checkStatus(_ license: LicenseDocument, _ report: inout ComplianceReport) async {
        guard let link = license.links.first(withRelation: "status") else {
            return report.skip("status", "the license has no status at its provider")
        }
        guard !isOffline else { return report.skip("status", "no server is asked") }
        let server = LicenseServer(client: client, deviceName: "Carrel compliance check", languages: [], timeout: .seconds(10))
        let status: StatusDocument
        do throws(LCPError) {
            status = try await server.status(at: link)
        } catch {
            return report.add("status.document", error.message)
        }
        report.add("status.document", status.id == license.id ? nil : "it is of another license")
        let fresh = status.licenseLink(profiles)
        report.add("status.license", fresh == nil ? "there is no link to the license" : nil)
        if let fresh { report.add("status.fresh-license", await freshFault(fresh, license, status, server)) }
        let times = (status.licenseUpdated, status.statusUpdated)
        report.add(
            "status.times",
            times.0 == nil || times.1 == nil ? "it does not say when license and status were changed" : nil
        )
        await checkRegistration(status, server, &report)
        await checkRenewal(link, server, &report)
        await checkReturn(link, server, &report)
    }

    private func freshFault(
        _ link: LicenseLink,
        _ license: LicenseDocument,
        _ status: StatusDocument,
        _ server: LicenseServer
    ) async -> String? {
        do throws(LCPError) {
            let fresh = try await server.license(at: link).verified(by: profiles).document
            if fresh.id != license.id { return "it is another license" }
            if let updated = status.licenseUpdated, fresh.lastChange != updated {
                return "it was changed at another time than the status document says"
            }
            return nil
        } catch {
            return error.message
        }
    }

    private func checkRegistration(
        _ status: StatusDocument,
        _ server: LicenseServer,
        _ report: inout ComplianceReport
    ) async {
        guard registers else { return report.skip("status.register", "no device is to be registered") }
        guard let link = status.links.first(withRelation: "register") else {
            return report.add("status.register", "there is no link to register at")
        }
        do throws(LCPError) {
            let device = Random.uuid()
            let first = try await server.register(link, device: device)
            report.add("status.register", first.status == .active ? nil : "the license is not active afterwards")
            let second = try await server.register(link, device: device)
            let isSame = first.events.count == second.events.count && first.statusUpdated == second.statusUpdated
            report.add("status.register-twice", isSame ? nil : "the same device was counted twice")
        } catch {
            report.add("status.register", error.message)
        }
        let nameless = LicenseServer(client: client, deviceName: "", languages: [], timeout: .seconds(10))
        do throws(LCPError) {
            _ = try await nameless.register(link, device: Random.uuid())
            report.add("status.register-nameless", "a device without a name was taken")
        } catch {
            report.add("status.register-nameless", error.problem?.status == 400 ? nil : error.message)
        }
    }

    /// Whether more time is given, and the license and its status say so afterwards (LSD 1.0 §3.4).
    private func checkRenewal(_ link: LicenseLink, _ server: LicenseServer, _ report: inout ComplianceReport) async {
        guard renews else { return report.skip("status.renew", "the license is not to be renewed") }
        do throws(LCPError) {
            let before = try await server.status(at: link)
            guard let renewal = before.links.first(withRelation: "renew") else {
                return report.add("status.renew", "there is no link to renew at")
            }
            guard renewal.mediaType?.essence != "text/html" else {
                return report.skip("status.renew", "the provider renews on a page of its own")
            }
            let end = try await end(before, server)
            await Self.nextSecond()
            let after = try await server.renew(renewal, device: Random.uuid(), until: before.potentialEnd)
            report.add(
                "status.renew",
                after.status == .active || after.status == .ready ? nil : "the license is \(after.status.rawValue)"
            )
            report.add("status.renew-times", Self.timesFault(before, after, ofLicense: true))
            let later = try await self.end(after, server)
            let isLonger = if let end { later.map { $0 > end } ?? true } else { later == nil }
            report.add("status.renew-end", isLonger ? nil : "the license does not end later than before")
        } catch {
            report.add("status.renew", error.message)
        }
    }

    /// Whether the license can be given back, and its status says so afterwards (LSD 1.0 §3.5).
    private func checkReturn(_ link: LicenseLink, _ server: LicenseServer, _ report: inout ComplianceReport) async {
        guard givesBack else { return report.skip("status.return", "the license is not to be given back") }
        do throws(LCPError) {
            let before = try await server.status(at: link)
            guard let giving = before.links.first(withRelation: "return") else {
                return report.add("status.return", "there is no link to give it back at")
            }
            await Self.nextSecond()
            let after = try await server.giveBack(giving, device: Random.uuid())
            let isOver = after.status == .returned || after.status == .cancelled
            report.add("status.return", isOver ? nil : "the license is \(after.status.rawValue)")
            report.add("status.return-times", Self.timesFault(before, after, ofLicense: false))
            let now = try await server.status(at: link)
            report.add("status.return-kept", now.status == after.status ? nil : "asked again, it is \(now.status.rawValue)")
        } catch {
            report.add("status.return", error.message)
        }
    }

    /// Servers may tell times in whole seconds.
    private static func nextSecond() async { try? await Task.sleep(for: .seconds(1)) }

    /// The license's current end on the server; nil if it does not end.
    private func end(_ status: StatusDocument, _ server: LicenseServer) async throws(LCPError) -> Instant? {
        guard let link = status.licenseLink(profiles) else { throw LCPError(.malformedStatus, "there is no link to the license") }
        return try await server.license(at: link).verified(by: profiles).document.rights.end
    }

    /// Returns a fault if a status document does not report a change.
    private static func timesFault(_ before: StatusDocument, _ after: StatusDocument, ofLicense: Bool) -> String? {
        func isLater(_ time: KeyPath<StatusDocument, Instant?>) -> Bool {
            after[keyPath: time].map { new in before[keyPath: time].map { new > $0 } ?? true } ?? false
        }
        if !isLater(\.statusUpdated) { return "it does not say that the status was changed" }
        return ofLicense && !isLater(\.licenseUpdated) ? "it does not say that the license was changed" : nil
    }
}
