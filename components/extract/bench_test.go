package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline"
)

func BenchmarkExtract(b *testing.B) {
	var log, colour, noisy strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&log, "2024-05-01T12:%02d:%02dZ INFO request finished path=/api/items/%d status=200 duration=%dms\n", i/60%60, i%60, i, i%37)
		fmt.Fprintf(&colour, "\x1b[32mok\x1b[0m   package/number/%d\t\x1b[2m0.0%ds\x1b[0m of all the packages there are in it\n", i, i%10)
		fmt.Fprintf(&noisy, "Receiving objects: %d%%\rReceiving objects: %d%%\nwarning: the same thing again\nwarning: the same thing again\n\n\n", i%50, 50+i%50)
	}
	for name, text := range map[string]string{"log": log.String(), "colour": colour.String(), "noisy": noisy.String()} {
		b.Run(name, func(b *testing.B) {
			component := step(b, `{}`).Component
			s := pipeline.Segment{Text: text, Tokens: 10_000, Args: []byte(`{"command":"make all"}`)}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := component.Rewrite(b.Context(), pipeline.View{}, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
