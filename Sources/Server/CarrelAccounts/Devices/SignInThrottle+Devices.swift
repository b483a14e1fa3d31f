// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
package import CarrelThrottling

extension SignInThrottle {
    /// The key under which an attempt counts as a known device's, if the account has signed in on it before.
    ///
    /// For Carrel's own accounts the list of devices decides, unless staff revoked the device since; for names of upstream
    /// systems ``unlistedDevice(_:of:in:)``.
    ///
    /// - Parameters:
    ///   - device: the hash of the device's identifier.
    ///   - name: the account's name, as typed.
    ///   - account: the id of our account of that name; nil if there is none.
    ///   - transaction: the transaction.
    /// - Returns: the key; nil for an unknown device.
    /// - Throws: the database's error.
    package func knownDevice(
        _ device: [UInt8],
        of name: String,
        account: String?,
        in transaction: any Transaction
    ) throws -> [UInt8]? {
        guard let account else { return try unlistedDevice(device, of: name, in: transaction) }
        let listed = try DeviceStore.device(keyHash: device, of: account, in: transaction)
        return listed?.wasFreedByStaff == false ? device : nil
    }
}
