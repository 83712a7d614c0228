// Package tokens counts the tokens of a text in o200k_base and cl100k_base,
// the byte-pair encodings of OpenAI's models. It counts only: no token ids.
//
// A text is cut into pieces by the pattern of the encoding (split.go), and a
// piece that is not a token itself is merged pair by pair (merge.go). The
// result is that of OpenAI's tiktoken, encode_ordinary, for every text whose
// pieces have at most 1 KB; a piece is a word with what is written to it, a
// run of punctuation or of white space. The ranks come with the module
// github.com/pkoukk/tiktoken-go-loader.
//
// Differences and choices:
//
//   - Special tokens (<|endoftext|> and the like) are text.
//   - A byte that is not valid UTF-8 counts as U+FFFD, each one by itself, as
//     in []rune(text) and in tiktoken-go.
//   - The case folding of a contraction is Unicode's, as in tiktoken:
//     tiktoken-go is off for an apostrophe before a long s (see TestLongS).
//   - Letters, marks, numbers and white space are those of the Unicode version
//     of the Go release (15.0 for Go 1.26). A letter that is younger counts as
//     a symbol, which can move a piece boundary by one character.
//
// # Long pieces
//
// The work per byte grows with the length of a piece, so that a text made for
// it could hold a processor. Pieces over 1 KB are cut into chunks of 768 bytes
// and the count is marked Estimated. Equal chunks of a text are merged once;
// when more than 64 KB of different ones have been merged, only every eighth
// is and stands for the seven after it. Measured against tiktoken 0.14.0 on 29
// kinds of such texts, the sum is off by less than 1 % (TestHostileCounts). An
// estimate depends on the text and nothing else: every process gets the same.
//
// # Adding counts
//
// A text may be cut behind a line end that an ASCII letter or digit follows:
// no piece reaches over such a place, so that the counts of the parts add up
// exactly to that of the whole as long as none is Estimated.
//
// # Cost
//
// Measured on 2 cores of an AMD EPYC virtual machine, Go 1.26.8, best of 3:
//
//	go test -run xxx -bench 'Count|AtLeast|Load' -benchtime 500ms -count 3 ./pipeline/tokens
//
//	100 KB of   o200k_base           cl100k_base
//	english     0.71 ms  144 MB/s    0.69 ms  148 MB/s
//	logs        0.87 ms  118 MB/s    0.94 ms  109 MB/s
//	code        0.66 ms  155 MB/s    0.68 ms  150 MB/s
//	json        0.76 ms  135 MB/s    0.79 ms  129 MB/s
//	cjk         2.79 ms   37 MB/s    2.62 ms   39 MB/s
//	load        20 ms, 4.7 MB kept   11 ms, 2.6 MB kept
//
// AtLeast knows 1000 tokens of 1 MB of English after 18 µs. A count does not
// allocate. Each count that runs at the same time has pooled scratch space of
// 0.3 MB. 1 MB made to be slow takes at most about 12 times as long as 1 MB of
// English (TestHostileTime, which allows 40).
package tokens
