package toon

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/rawjson"
	"github.com/contextguru/contextguru/pipeline/tokens"
)

func TestPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "word": 1, "two words": 2, "a1b": 3, `{"a":"b"}`: 5, "a: b": 3, "a: 1": 4, "a:\n  b": 4, "a:\n1": 3, "a   b": 3, "日本語": 1, "a ": 2, "a  \n": 2,
	} {
		if got := pieces([]byte(text)); got != want {
			t.Errorf("%q has %d pieces, want %d", text, got, want)
		}
	}
}

// The estimate has to agree with the tokens of a real encoding wherever the
// difference matters.
func TestPiecesAgreeWithTokens(t *testing.T) {
	t.Parallel()
	counter, err := tokens.New().For(tokens.Encoding{Name: tokens.O200kBase})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	adopted, declined := 0, 0
	for range 2000 {
		doc := []byte(plainDocument(r))
		text, ok := encode(doc, true)
		if !ok {
			t.Fatalf("%s has no table", doc)
		}
		compact := rawjson.AppendCompact(nil, doc)
		before, after := counter.Count(string(compact)).Tokens, counter.Count(string(text)).Tokens
		slack := max(2, before/50)
		switch {
		case pieces(text) <= pieces(compact):
			adopted++
			if after > before+slack {
				t.Errorf("%d tokens adopted in place of %d:\n%s\n%s", after, before, text, compact)
			}
		default:
			declined++
			if after < before-before/8 {
				t.Errorf("%d tokens declined in place of %d:\n%s\n%s", after, before, text, compact)
			}
		}
	}
	t.Logf("%d adopted, %d declined", adopted, declined)
	if adopted < 200 || declined < 200 {
		t.Errorf("%d adopted, %d declined", adopted, declined)
	}
}

// plainDocument writes an object of the sort APIs return: some members, some
// nested, and a table of one to six rows.
func plainDocument(r *rand.Rand) string {
	words := strings.Fields("user name first last city Berlin street amount total created updated status active gold silver order item price economy business flight email note the quick brown fox")
	value := func() string {
		switch r.IntN(5) {
		case 0:
			return strconv.Itoa(r.IntN(1000))
		case 1:
			return []string{"true", "false", "null"}[r.IntN(3)]
		case 2:
			return fmt.Sprintf(`"20%02d-05-1%dT10:00:00"`, r.IntN(30), r.IntN(10))
		default:
			return `"` + words[r.IntN(len(words))] + strings.Repeat(" "+words[r.IntN(len(words))], r.IntN(3)) + `"`
		}
	}
	object := func(names []int) string {
		members := make([]string, len(names))
		for i, n := range names {
			members[i] = fmt.Sprintf("%q:%s", words[n]+[]string{"", "_id", "_" + words[i]}[n%3], value())
		}
		return strings.Join(members, ",")
	}
	columns := r.Perm(15)[:1+r.IntN(5)]
	rows := make([]string, 1+r.IntN(6))
	for i := range rows {
		rows[i] = "{" + object(columns) + "}"
	}
	doc := fmt.Sprintf(`"table":[%s]`, strings.Join(rows, ","))
	for i := range r.IntN(6) {
		doc = fmt.Sprintf(`%s,"member %d":{%s}`, doc, i, object(r.Perm(15)[:r.IntN(4)]))
	}
	return "{" + doc + "," + object(r.Perm(15)[:1+r.IntN(8)]) + "}"
}
