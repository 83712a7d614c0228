package splice_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/pipeline/expand/splice"
)

func seed(f *testing.F, add func(p uint8, form bool, rounds []string)) {
	f.Helper()
	for i, p := range speakers {
		for _, sc := range scenes {
			var events, bodies []string
			for n, blocks := range sc.rounds {
				events = append(events, strings.Join(p.stream(reply(n, blocks...)), ""))
				bodies = append(bodies, p.body(reply(n, blocks...)))
			}
			if p.stream(answer{}) != nil {
				add(uint8(i), true, events)
			}
			add(uint8(i), false, bodies)
		}
	}
}

func fuzzed(p uint8, stream bool) (*splice.Stream, error) {
	sp := speakers[int(p)%len(speakers)]
	cfg := splice.Config{Dialect: sp.dialect(), Tool: tool, Limits: splice.Limits{Event: 4000, Held: 20000}}
	if stream && sp != (gemini{array: true}) {
		cfg.Form = splice.SSE
	}
	return splice.New(cfg)
}

// Any bytes in any cuts: without a call of ours they come back as they are.
func FuzzIdentical(f *testing.F) {
	seed(f, func(p uint8, form bool, rounds []string) {
		for _, r := range rounds {
			f.Add(p, form, uint8(p), []byte(strings.ReplaceAll(r, tool, "other")))
		}
	})
	f.Fuzz(func(t *testing.T, p uint8, form bool, cut uint8, stream []byte) {
		s, err := fuzzed(p, form)
		if err != nil {
			t.Skip()
		}
		var out []byte
		for piece := range slices.Chunk(stream, 1+int(cut)) {
			piece = bytes.Clone(piece)
			out = append(out, s.Write(piece)...)
			clear(piece)
		}
		last, turn := s.End()
		out = append(out, last...)
		if turn == nil && !bytes.Contains(stream, []byte(tool)) && !bytes.Equal(out, stream) {
			t.Errorf("%q\nbecame\n%q", stream, out)
		}
		if turn != nil && !bytes.Contains(stream, []byte(`\`)) && !bytes.Contains(stream, []byte(tool)) {
			t.Errorf("%q is a call", stream)
		}
	})
}

// Rounds of any bytes: no panic, bounded output, and a turn that can be sent on
// is JSON.
func FuzzRounds(f *testing.F) {
	seed(f, func(p uint8, form bool, rounds []string) {
		f.Add(p, form, uint8(7), uint8(len(rounds)), []byte(strings.Join(rounds, "\x00")))
		f.Add(p, form, uint8(90), uint8(0), []byte(strings.Join(rounds, "\x00")))
	})
	f.Fuzz(func(t *testing.T, p uint8, form bool, cut, how uint8, all []byte) {
		s, err := fuzzed(p, form)
		if err != nil {
			t.Skip()
		}
		size, rounds := 0, 0
		for stream := range bytes.SplitSeq(all, []byte{0}) {
			rounds++
			for piece := range slices.Chunk(stream, 1+int(cut)) {
				size += len(s.Write(piece))
			}
			out, turn := s.End()
			size += len(out)
			if turn == nil {
				break
			}
			if turn.Assistant != nil && !json.Valid(bytes.ToValidUTF8(turn.Assistant, []byte("?"))) {
				t.Errorf("%q", turn.Assistant)
			}
			s.Continue()
		}
		if how%2 == 0 {
			s.End()
			size += len(s.Finish())
		}
		size += len(s.Fail("reason"))
		if s.Finish() != nil || s.Fail("x") != nil {
			t.Error("more behind the end")
		}
		// Numbers grow by some digits for each event, and what is made up is short.
		if most := 8*len(all) + 4000*rounds; size > most {
			t.Errorf("%d bytes became %d", len(all), size)
		}
	})
}
