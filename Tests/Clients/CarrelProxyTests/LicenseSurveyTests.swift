// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelMedia
import Testing

@testable import CarrelPresentation

struct `A survey of the license of a source` {
    private static func track(_ place: Int, width: Int? = 640, height: Int? = 360) -> OfferedTrack {
        var track = OfferedTrack(kind: .video, place: place)
        (track.width, track.height) = (width, height)
        return track
    }

    private static func licensed(_ maxPixels: Int?) -> ContentKeyAnswer {
        var grant = ContentKeyGrant(key: Secret([UInt8](repeating: 1, count: 16)))
        grant.maxPixels = maxPixels
        grant.isLicensed = true
        return .granted(grant)
    }

    @Test func `continues after a key without a license, or one on its way`() async {
        for first in [ContentKeyAnswer.granted(ContentKeyGrant(key: Secret([UInt8](repeating: 2, count: 16)))), .pending] {
            var survey = LicenseSurvey { $0 == [.track(0)] ? first : Self.licensed(1000) }
            await survey.add(Self.track(0), keys: [[.track(0)]])
            await survey.add(Self.track(1), keys: [[.track(1)]])
            let hasSettled = survey.settle()
            #expect(hasSettled)
            #expect(survey.withheld[.video]?.keys.sorted() == [1])
        }
    }

    @Test func `looks at every key of a track`() async {
        var survey = LicenseSurvey { $0 == [.track(0)] ? Self.licensed(nil) : .unknown }
        await survey.add(Self.track(0), keys: [[.track(0)], [.track(1)]])
        let hasSettled = survey.settle()
        #expect(hasSettled)
        #expect(survey.withheld[.video]?[0]?.contains("does not have its key") == true)
    }

    @Test func `withholds what it does not look for`() async {
        var survey = LicenseSurvey { _ in Self.licensed(nil) }
        for place in 0..<257 { await survey.add(Self.track(place), keys: [[.track(UInt32(place))]]) }
        let hasSettled = survey.settle()
        #expect(hasSettled)
        #expect(survey.withheld[.video]?.keys.sorted() == [256])
    }

    @Test func `withholds pictures of no size, and of a size that no number holds`() async {
        var survey = LicenseSurvey { _ in Self.licensed(1_000_000) }
        await survey.add(Self.track(0), keys: [[.track(0)]])
        await survey.add(Self.track(1, width: nil), keys: [[.track(0)]])
        await survey.add(Self.track(2, width: .max, height: .max), keys: [[.track(0)]])
        await survey.add(Self.track(3, width: 0), keys: [[.track(0)]])
        let hasSettled = survey.settle()
        #expect(hasSettled)
        #expect(survey.withheld[.video]?.keys.sorted() == [1, 2, 3])
    }
}
