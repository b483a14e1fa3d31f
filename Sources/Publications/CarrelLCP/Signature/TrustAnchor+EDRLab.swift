// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension TrustAnchor {
    /// The two test roots of EDRLab, which sign the certificates of test licenses: `CN=EDRLab Readium LCP test CA`, of 2016 and
    /// of 23 March 2026, under one name and with two keys. The keys come from the certificates in the public repository
    /// `edrlab/lcp-server` (`pkg/check/data/cacert-edrlab-test.pem`, commits e6748e2 and f265bcc).
    public static let edrlabTestRoots: [TrustAnchor] = [
        TrustAnchor(name: "EDRLab test root of 2016", base64: test2016),
        TrustAnchor(name: "EDRLab test root of 2026", base64: test2026),
    ]

    private init(name: String, base64: String) {
        guard let bytes = Base64.decode(base64) else { preconditionFailure("\(name) is not base 64") }
        self.init(name: name, subjectPublicKeyInfo: bytes)
    }

    private static let test2016 = """
        MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEA38X73giEgJhg4V3GY/qunFw980A6/5ERuH56gZta8RTdZ7ISNDm0jDcHFffHNw9rMHsEOqhW\
        vuCDUWpKxeDm7T7YkO07Yv6mFn+Na3s//MeTPgxXnGvEiLn+Fotrt9dBKKZUJuCV90J72seyP4r5fgbUsw2NYeG5APXTz66f7xmvHYdKyGGnJSfVBFv4\
        uI8kJK8t+gXxim6DjGGYqKjyXzhSCIkk29J7xxEbLGktjKG1gAop0UcC+zIoeJlFf7/VYa8t4zfsH8TCgPif83LGOqfR1YCIRJJsgyB+P78PpizHFEOG\
        BUHiDikQUSx2HCxzlEDTSA8NoCQCvxv63znlt87v7WAqZIU/D1q4XeMzPk3XoKXhZInZzUr2BZSq6I1oSYrLctx7g/gV0OgK44pCI+HQmHNgTGVVB+dB\
        RMJdWaZ3UAMkjAnHjl/LekV+I6m74W8l46kfza+UmjfBuoB3pl/+S1nTmuQ/HVMDhm0I0e4oC0MvuFDXn47xafGefzaP7yw/92YsGrvsBY3Bl7PVHaai\
        oCM31igLu+7z1W9L1Lw3MzlOB0ceGwd3gG+ICOpngWByq6KICKbXgzn3KOPM4cHojBmrMx8AVOK8pVv7Hlf9peSLp7BjUUpVbU+M+cS+5J+X3GMuWbUr\
        Sa6zimUiVmh/tzL5m7IMD6pWWDDQKIsCAwEAAQ==
        """

    private static let test2026 = """
        MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEAgl/BgLNDAZ7w6SjdxWFnnn6TNuo7sW8y/S/Zkz/IWTI1Csp07iEgKzgNSLVgXXNJv2bFMq0i\
        b1SB+X9VqcG8oadslDaqVyIBSs833GUzhnauQaGcSqgu5mwgh8ibu08ORx7FPip4vevmuXx3kb1sjx0YS3ia6yg6fQfhBr1yMq8J10vrBnn+oiSEQG+A\
        19K7iHO0YEd4EZxVoELAZuj19TUrf9gEk7H2iZz0LWRLffoBij6aAXY4hqISLpGTpdNytDTH27NBLMuMnjMur/058ifOiha++b/t9wOSS0Rjou6cTLzl\
        SFjt4WUpVrNSdnQBXuaseIuenAPTVfOy8gj+rtf5zvEODjAkvbiYLacQy8TwtpqKqgPPSVBIwuir16kHNLJH+LmCjvEiNxJOi64/MspeqClMPQ02gbv8\
        ClFpSbtAJpmgypzmNAKH424VbVxqqZtZQFsh7MkgSme5S2NXyNXGXDoxNkPwPuEiMHcsEIw8/aolpgBym7k8bGXAfobDySSilhBd0dFNX+PX+2ycPYuu\
        WglU4qQJrR/3E2Am7GMZT8NsTF3wCarkqrbUpqhWhj05xr2GMZNNSv0n/fhW3y4/L2QvrxWjNx9Gn9kXr8RNLp+usi6ZLJyH4yJTuDV+Ivfg1OHubmxL\
        Gflf/w0eLMITVuosoV/w1w20VVw+eZ0CAwEAAQ==
        """
}
