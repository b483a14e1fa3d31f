import CarrelHTTP

/// Bodies that were asked for in one round of a worker's daemon, to be made side by side.
///
/// The first exchange of a gathering suspends its connection and resumes it at once, so that the daemon comes back to it in its
/// next round, when all that was ready in this one has been heard; the others wait. Who comes back and finds few waits for one
/// more round: the clients answered in the last one may be about to ask again.
final class Gathering {  // the worker's thread's
    /// One body on its way: a draft, then made or failed.
    @safe
    final class Member {
        fileprivate let exchange: Exchange
        let source: any GroupedBodySource
        let buffer: WriteBuffers.Buffer
        let length: Int
        private(set) var isMade = false
        private(set) var error: (any Error)?

        init(_ exchange: Exchange, _ source: any GroupedBodySource, _ buffer: WriteBuffers.Buffer, length: Int) {
            self.exchange = exchange
            self.source = source
            self.buffer = buffer
            self.length = length
        }

        /// The body, or what will be it.
        var bytes: UnsafeMutableRawBufferPointer {
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<length])
        }

        fileprivate func end(_ error: (any Error)?) {
            self.error = error
            isMade = true
        }
    }

    /// As many as gain from company; more would only wait longer.
    private static let enough = 16

    /// As few as are worth another round.
    private static let few = 4

    private var members: [Member] = []
    private var hasWaitedAgain = false

    /// Takes a draft in. Returns whether its exchange is the one to come back first.
    func add(_ member: Member) -> Bool {
        members.append(member)
        if members.count == Self.enough { make() }
        return members.count == 1
    }

    /// The first is back. Returns false when it shall wait once more; otherwise all is made.
    func comeBack() -> Bool {
        if members.count < Self.few, !members.isEmpty, !hasWaitedAgain {
            hasWaitedAgain = true
            return false
        }
        make()
        return true
    }

    /// Makes all that was gathered and wakes those who wait for it.
    func make() {
        var rest = members
        members = []
        hasWaitedAgain = false
        while let first = rest.first {
            let group = first.source.group
            let isAlike = { (member: Member) in member.source.group === group }
            let alike = rest.filter(isAlike)
            rest.removeAll(where: isAlike)
            var failure: (any Error)?
            do { try group.finish(alike.map { unsafe BodyDraft($0.source, bytes: $0.bytes) }) } catch { failure = error }
            for member in alike {
                member.end(failure)
                member.exchange.wake()
            }
        }
    }
}
