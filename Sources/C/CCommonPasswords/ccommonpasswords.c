// SPDX-License-Identifier: Apache-2.0

// The hashes are of words from two lists, made by scripts/common-passwords. One is in the public domain (john-data); the other is
// zxcvbn's, under the MIT license:
//
// Copyright 2012-2013 Dropbox, Inc.; 2016 Daniel Wolf
//
// Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
// (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
// merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
// furnished to do so, subject to the following conditions:
//
// The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.
//
// THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
// OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
// LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
// CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
#include "ccommonpasswords.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char hashes[] = {
#embed "hashes.bin"
};

const unsigned char *const ccommonpasswords_hashes = hashes;
const long ccommonpasswords_count = sizeof hashes;
