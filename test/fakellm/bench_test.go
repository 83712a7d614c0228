package fakellm_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/test/fakellm"
)

// discard is a ResponseWriter without a network.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) Flush()                      {}

// BenchmarkServer shows what the stand-in itself costs, so that benchmarks
// that use it can tell.
func BenchmarkServer(b *testing.B) {
	long := `{"model":"m","messages":[` + strings.Repeat(`{"role":"tool","content":"`+strings.Repeat(`line of output, \"quoted\" and more\n`, 50)+`"},`, 11000) + `{}]}`
	for name, body := range map[string]string{"json": chatJSON, "20MB": long, "2000events": chatSSE} {
		b.Run(name, func(b *testing.B) {
			turn := fakellm.Turn{Times: -1}
			if name == "2000events" {
				turn = fakellm.Turn{Times: -1, DeltaRunes: 4, Blocks: []fakellm.Block{fakellm.Text(strings.Repeat("word", 1997))}}
			}
			s := fakellm.New(fakellm.WithDigestsOnly(), fakellm.WithHistory(1), fakellm.WithScript(turn))
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			sent := []byte(body)
			for b.Loop() {
				s.ServeHTTP(discard{http.Header{}}, httptest.NewRequest(http.MethodPost, chatPath, bytes.NewReader(sent)))
			}
		})
	}
}
