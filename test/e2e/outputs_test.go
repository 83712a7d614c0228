package e2e

import (
	"fmt"
	"strings"

	"github.com/contextguru/contextguru/test/stack/chat"
)

// testLog is what a verbose test run prints: mostly lines that say the same.
func testLog(cases int) string {
	var b strings.Builder
	for i := range cases {
		fmt.Fprintf(&b, "=== RUN   TestStore/case_%03d\n    store_test.go:%d: opened shard %d of %d in %d µs\n--- PASS: TestStore/case_%03d (0.0%ds)\n",
			i, 100+i, i%8, 8, 200+i*7%97, i, i%9)
	}
	b.WriteString("--- FAIL: TestStore/case_999 (0.31s)\n    store_test.go:412: got \"naïve\", want \"ünïcode → ok\"\nFAIL\nexit status 1\n")
	return b.String()
}

// records is a JSON document with one shape of record, indented: an output that
// gets an edit even where no marker may be left.
func records(first, n int) string {
	var b strings.Builder
	b.WriteString("[\n")
	for i := first; i < first+n; i++ {
		fmt.Fprintf(&b, "  {\n    \"id\": %d,\n    \"serial\": 1234567890123456789%04d,\n    \"name\": \"pod-%d\",\n    \"status\": \"Running\",\n    \"ratio\": 1.50,\n    \"note\": null\n  }", i, i, i)
		if i+1 < first+n {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]")
	return b.String()
}

// sourceFile is a program text.
func sourceFile(functions int) string {
	var b strings.Builder
	b.WriteString("package shard\n\nimport \"errors\"\n\n")
	for i := range functions {
		fmt.Fprintf(&b, "// Open%d opens shard %d.\nfunc Open%d(path string) error {\n\tif path == \"\" {\n\t\treturn errors.New(\"shard %d: empty path\")\n\t}\n\treturn nil\n}\n\n", i, i, i, i)
	}
	return b.String()
}

// work is a whole conversation: outputs of many kinds, several in one turn, a
// file read twice, failures, line ends of every kind, and texts that look like
// our own markers.
func work(d chat.Dialect) *chat.Conversation {
	run := func(id, command string) chat.Call {
		return chat.Call{ID: id, Name: "run", Args: `{"command":"` + command + `"}`}
	}
	c := chat.New(d, model(d), "You are a coding agent. <Be brief> & precise.")
	c.User("Fix the failing test. 🛠")
	c.Calls("I run the tests.", run("c01", "go test -v ./...")).Results(chat.Result{ID: "c01", Text: testLog(300)})
	c.Calls("", run("c02", "cat shard.go"), run("c03", "kubectl get pods -o json")).
		Results(chat.Result{ID: "c02", Text: sourceFile(150)}, chat.Result{ID: "c03", Text: records(0, 120)})
	c.Calls("Small things.", run("c04", "ls"), run("c05", "false"), run("c06", "true")).
		Results(chat.Result{ID: "c04", Text: "go.mod\ngo.sum\n"}, chat.Result{ID: "c05", Text: "exit status 1", Failed: true}, chat.Result{ID: "c06", Text: ""})
	c.Assistant("I have a guess.").User("Go on.")
	c.Calls("", run("c07", "cat shard.go")).Results(chat.Result{ID: "c07", Text: sourceFile(150)})
	c.Calls("", run("c08", "cat marker.txt"), run("c09", "type dos.txt")).
		Results(chat.Result{ID: "c08", Text: "<<cg:abcdefghijklmnopqrst>> and <<cg:0000>>\n" + testLog(200)},
			chat.Result{ID: "c09", Text: strings.ReplaceAll(testLog(150), "\n", "\r\n")})
	c.Calls("", run("c10", "go test -v ./...")).Results(chat.Result{ID: "c10", Text: testLog(301)})
	c.Calls("", run("c11", "progress")).Results(chat.Result{ID: "c11", Text: "0 %\r10 %\r\x1b[32m100 %\x1b[0m\ndone\x00\n" + strings.Repeat("same line\n", 900)})
	return c.Assistant("Fixed.").User("Thanks!")
}
