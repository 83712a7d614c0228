package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/contextguru/contextguru/test/stack/chat"
)

// outputBytes is the usual size of one tool output in the generated
// conversations. Real agents' outputs that are resent again and again lie
// between 2 and 30 KB.
const outputBytes = 6 << 10

// workload makes the bodies of one measurement.
type workload struct {
	rnd   *rand.Rand
	words []string
	conv  *chat.Conversation
	n     int
}

func newWorkload(seed uint64) *workload { return newWorkloadIn(chat.OpenAI, "gpt-4o", seed) }

func newWorkloadIn(d chat.Dialect, model string, seed uint64) *workload {
	w := &workload{rnd: rand.New(rand.NewPCG(seed, 1)), words: strings.Fields(words)}
	w.conv = chat.New(d, model, "You are a coding agent.").User("Find out why the build is slow and fix it.")
	return w
}

// grow adds turns until the body has at least the given size.
func (w *workload) grow(size int) ([]byte, error) {
	for {
		body, err := w.conv.Body(false)
		if err != nil || len(body) >= size {
			return body, err
		}
		for missing := size - len(body); missing > 0; missing -= outputBytes {
			w.turn(min(outputBytes, missing))
		}
	}
}

// turn adds one call and its output of about the given size.
func (w *workload) turn(size int) {
	w.n++
	id := fmt.Sprintf("call_%06d", w.n)
	var text string
	switch w.n % 4 {
	case 0:
		text = w.json(size)
	case 1:
		text = w.log(size)
	default:
		text = w.source(size)
	}
	w.conv.Calls("", chat.Call{ID: id, Name: "bash", Args: fmt.Sprintf(`{"command":"step %d"}`, w.n)}).
		Results(chat.Result{ID: id, Text: text})
}

// extend is the next request of an agent: one small turn more.
func (w *workload) extend() ([]byte, error) {
	w.turn(600)
	return w.conv.Body(false)
}

// words are what identifiers and messages are made of: real text is made of
// words that tokenizers know, and random letters would cost several times as
// much to count.
const words = "add all append array assert async await base block body bool boot buffer build byte cache call cancel change channel check child class clean client " +
	"clone close code column command commit compile complete config connect const context copy count create cursor data date debug decode default delete depth " +
	"detail device digest direct disk dispatch document domain download driver drop edit element empty enable encode engine entry error event except execute exit " +
	"expect export failed fetch field file filter find first flag flush folder format frame function future gateway generate group handle handler hash header height " +
	"hidden host image import include index info init inner input insert install instance integer item iterate join keep kernel label language layer layout left length " +
	"level library limit line link list listen load local lock logger loop main manager match member memory merge message method metric missing mode model module mount " +
	"name network next node number object offset open operation option order output package page parent parse patch path pending point pool port prefix process profile " +
	"project property provider query queue random range read ready record region register release remote remove rename render replace report request require reset resource " +
	"response restart result retry return right role root route running sample save scan schema scope search second section select server service session setup shard " +
	"shared signal simple single size skip socket sort source span stack start state status step stop storage stream string struct style submit success suffix switch sync " +
	"system table target task template test text thread time timeout token total trace transform tree type union unit unlock update upload user value vector verify version view wait warning window worker write zone"

func (w *workload) word() string { return w.words[w.rnd.IntN(len(w.words))] }

func (w *workload) source(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "func %s(%s int) error {\n\tif %s > %d {\n\t\treturn %s(%q)\n\t}\n\treturn nil\n}\n\n",
			w.word(), w.word(), w.word(), w.rnd.IntN(1000), w.word(), w.word())
	}
	return b.String()
}

func (w *workload) log(size int) string {
	var b strings.Builder
	for b.Len() < size {
		line := fmt.Sprintf("2026-03-%02dT10:%02d:%02dZ INFO %s: %s %s took %dms\n", 1+w.rnd.IntN(28), w.rnd.IntN(60), w.rnd.IntN(60), w.word(), w.word(), w.word(), w.rnd.IntN(5000))
		for range 1 + w.rnd.IntN(3) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (w *workload) json(size int) string {
	var b strings.Builder
	b.WriteString("[\n")
	for b.Len() < size {
		fmt.Fprintf(&b, "  {\n    \"id\": %d,\n    \"name\": %q,\n    \"tags\": [\n      %q,\n      %q\n    ]\n  },\n", w.rnd.IntN(1e6), w.word(), w.word(), w.word())
	}
	b.WriteString("  {}\n]\n")
	return b.String()
}
