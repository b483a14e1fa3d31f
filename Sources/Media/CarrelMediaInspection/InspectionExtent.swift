// SPDX-License-Identifier: Apache-2.0

/// How much of a media file an inspection reads.
package enum InspectionExtent: Sendable, Hashable {
    /// All that the facts need: of a transport stream, every packet.
    case whole
    /// Headers and indexes, and of long media without them the beginning and the end: for files that are far away.
    case ends
}
