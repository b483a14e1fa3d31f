// SPDX-License-Identifier: Apache-2.0

import CarrelSubscription

/// A response that is read must be the same after it is written and read again.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let answer = try? SignInAnswer.parse(bytes), (try? SignInAnswer.parse(answer.write())) != answer {
        fatalError("the answer to signing in is another when written")
    }
    if let answer = try? SubscriptionAnswer.parse(bytes), (try? SubscriptionAnswer.parse(answer.write())) != answer {
        fatalError("the answer about a subscription is another when written")
    }
    if let answer = try? CredentialsAnswer.parse(bytes), (try? CredentialsAnswer.parse(answer.write())) != answer {
        fatalError("the answer with credentials is another when written")
    }
    return 0
}
