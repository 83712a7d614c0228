package command_test

import (
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/internal/command"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]command.Command{
		`{"command":" make  test\n"}`:                            {Text: "make test"},
		`{"command":"make test","timeout":5,"description":"x"}`:  {Text: "make test"},
		`{"cmd":["bash","-lc","make test"],"workdir":"/srv"}`:    {Text: "make test", Dir: "/srv"},
		`{"cmd":["make","test"]}`:                                {Text: "make test"},
		`{"command":"cd /srv && make test"}`:                     {Text: "make test", Dir: "/srv"},
		`{"command":"cd '/srv/' && cd a && make","cwd":"/else"}`: {Text: "make", Dir: "/srv/a"},
		`{"command":"cd a && make","dir_path":"sub"}`:            {Text: "make", Dir: "sub/a"},
		`{"command":"cd /srv; make"}`:                            {Text: "cd /srv; make"},
		`{"command":"run 'a  b'  c"}`:                            {Text: "run 'a  b'  c"},
		`{"command":"python <<E\n  a\nE"}`:                       {Text: "python <<E\n  a\nE"},
		`{"command":"view","path":"a.py"}`:                       {},
		`{"command":17}`:                                         {},
		`{"command":[]}`:                                         {},
		`{"command":""}`:                                         {},
		`{}`:                                                     {},
		`{"command"`:                                             {},
		``:                                                       {},
		`{"command":"` + strings.Repeat("x", 1<<17) + `"}`:       {},
	} {
		got, ok := command.Of([]byte(args))
		if got != want || ok != (want.Text != "") {
			t.Errorf("%.80s: %+v, %v, want %+v", args, got, ok, want)
		}
	}
}

func TestShows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"cat x":                        true,
		"/bin/cat x":                   true,
		"sudo LC_ALL=C grep -rn x .":   true,
		"rg x":                         true,
		"git log":                      true,
		"make cat":                     false,
		"python show.py":               false,
		"FLAGS=-v make":                false,
		"go test ./... | grep -v PASS": false,
		"A=1":                          false,
	} {
		if got := (command.Command{Text: text}).Shows(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestSearches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, args string
		want       bool
	}{
		{"Grep", `{"pattern":"x","path":"."}`, true},
		{"mcp__files__search_files", `{}`, true},
		{"fs.grep_search", `{}`, true},
		{"search_file_content", `{}`, true},
		{"Bash", `{"command":"grep -rn x ."}`, true},
		{"Bash", `{"command":"cd /srv && git grep x"}`, true},
		{"Bash", `{"command":"git log"}`, false},
		{"Bash", `{"command":"make | grep error"}`, false},
		{"web_search", `{"query":"x"}`, false},
		{"Read", `{"file_path":"x"}`, false},
	} {
		if got := command.Searches(c.tool, []byte(c.args)); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.tool, c.args, got, c.want)
		}
	}
}
