package pipelinetest

import (
	"strings"
	"testing"
)

// Config is what the settings of a component look like.
type Config struct {
	// Least is a floor.
	Least int      `json:"least"`
	Words []string `json:"words"` // Words are looked for.
}

type careless struct {
	hidden int
	Bare   bool
	Camel  int `json:"camelCase"` // No stop
	// Deep is a struct.
	Deep struct{} `json:"deep,omitzero"`
}

func TestSettingsFaults(t *testing.T) {
	t.Parallel()
	if faults := settingsFaults(Config{}, "."); len(faults) > 0 {
		t.Errorf("good settings: %q", faults)
	}
	got := strings.Join(settingsFaults(careless{}, "."), "\n")
	for _, want := range []string{
		`settings are called "careless"`, "hidden is not exported", `Bare has the json tag ""`, `Bare is explained by ""`,
		`Camel has the json tag "camelCase"`, `Camel is explained by "No stop\n"`, `Deep has the json tag "deep,omitzero"`, "Deep is a struct {}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for fault, defaults := range map[string]any{"settings are a <nil>": nil, "settings are a int": 7} {
		if got := settingsFaults(defaults, "."); len(got) != 1 || !strings.Contains(got[0], fault) {
			t.Errorf("%v: %q", defaults, got)
		}
	}
	if got := settingsFaults(Config{}, t.TempDir()); len(got) != 1 || !strings.Contains(got[0], "no struct Config") {
		t.Errorf("without source: %q", got)
	}
	_ = careless{hidden: 1}.hidden
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	g, err := parseGolden([]byte("What it shows.\noptions: escaped bare\n-- config --\na: 1\n-- call/2b --\ntool: read\nerror: true\n" +
		"-- input/1 --\na\\e\\r\\0\\\\\n-- input/2b --\nno end\\\n-- output/1 --\nold\n-- report --\nold\n"))
	if err != nil {
		t.Fatal(err)
	}
	if g.config != "a: 1\n" || !g.options["escaped"] || !g.options["bare"] || g.options["lossless"] {
		t.Errorf("config %q, options %v", g.config, g.options)
	}
	if a, b := g.inputs[0], g.inputs[1]; a.text != "a\x1b\r\x00\\\n" || a.turn != 1 || b.text != "no end" || b.turn != 2 || b.Tool != "read" || !b.Error {
		t.Errorf("inputs %+v", g.inputs)
	}
	for _, text := range []string{"plain\n", "no end", "\x1b[0m\r\x00\\e \\\n", ""} {
		if got := unescape(escape(text)); got != text {
			t.Errorf("%q is written as %q and read as %q", text, escape(text), got)
		}
	}
	for text, want := range map[string]string{
		"":                                  "no input section",
		"options: odd\n-- input --\n":       `unknown option "odd"`,
		"-- inputs --\n":                    `unknown section "inputs"`,
		"-- input/x --\n":                   `section "input/x": "x" is not the number of a turn`,
		"-- input/0 --\n":                   `section "input/0": "0" is not the number of a turn`,
		"-- call --\ntol: x\n-- input --\n": `section "call": error unmarshaling`,
	} {
		if _, err := parseGolden([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{ "a": [1, 2.0] }`, `{"a":[1,2.0]}`, true},
		{`["{ \"a\": 1 }"]`, `["{\"a\":1}"]`, true},
		{`[1.0]`, `[1]`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		{`["a  b"]`, `["a b"]`, false},
		{`[1] x`, `[1]`, false},
		{`[1`, `[1`, false},
	} {
		if err := SameJSON(c.a, c.b); (err == nil) != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
	}
}
