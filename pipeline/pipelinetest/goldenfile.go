package pipelinetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/contextguru/contextguru/pipeline"
)

// golden is a parsed golden file.
type golden struct {
	comment []byte
	options map[string]bool
	config  string
	kept    []txtar.File // config, call and input sections, as they are
	inputs  []goldenInput
}

type goldenInput struct {
	name, text string // the name is empty or begins with a slash
	turn       int
	goldenCall
}

type goldenCall struct {
	Tool  string `json:"tool"`
	Args  string `json:"args"`
	Error bool   `json:"error"`
}

func parseGolden(text []byte) (*golden, error) {
	archive := txtar.Parse(text)
	g := &golden{comment: archive.Comment, options: map[string]bool{}}
	if err := g.parseOptions(string(archive.Comment)); err != nil {
		return nil, err
	}
	calls := map[string]goldenCall{}
	for _, f := range archive.Files {
		section, name, _ := strings.Cut(f.Name, "/")
		if name != "" {
			name = "/" + name
		}
		switch section {
		case "config":
			g.config = string(f.Data)
		case "call":
			var call goldenCall
			if err := yaml.UnmarshalStrict(f.Data, &call); err != nil {
				return nil, fmt.Errorf("section %q: %w", f.Name, err)
			}
			calls[name] = call
		case "input":
			input, err := g.parseInput(name, string(f.Data))
			if err != nil {
				return nil, fmt.Errorf("section %q: %w", f.Name, err)
			}
			g.inputs = append(g.inputs, input)
		case "output", "report":
			continue
		default:
			return nil, fmt.Errorf("unknown section %q", f.Name)
		}
		g.kept = append(g.kept, f)
	}
	if len(g.inputs) == 0 {
		return nil, errors.New("no input section")
	}
	for i := range g.inputs {
		g.inputs[i].goldenCall = calls[g.inputs[i].name]
	}
	return g, nil
}

func (g *golden) parseOptions(comment string) error {
	for line := range strings.Lines(comment) {
		names, found := strings.CutPrefix(line, "options:")
		if !found {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			switch name {
			case "escaped", "lossless", "bare":
				g.options[name] = true
			default:
				return fmt.Errorf("unknown option %q", name)
			}
		}
	}
	return nil
}

func (g *golden) parseInput(name, text string) (goldenInput, error) {
	in := goldenInput{name: name, text: text, turn: 1}
	if g.options["escaped"] {
		in.text = unescape(text)
	}
	if name == "" {
		return in, nil
	}
	number := strings.TrimRight(name[1:], "abcdefghijklmnopqrstuvwxyz")
	turn, err := strconv.Atoi(number)
	if err != nil || turn < 1 {
		return in, fmt.Errorf("%q is not the number of a turn", name[1:])
	}
	in.turn = turn
	return in, nil
}

// format writes the file with the outcomes of its inputs.
func (g *golden) format(outcomes []*pipeline.Outcome) []byte {
	archive := txtar.Archive{Comment: g.comment, Files: g.kept}
	var reports strings.Builder
	for i, o := range outcomes {
		in := &g.inputs[i]
		if v := o.Pick(!g.options["lossless"]); v != nil {
			text := v.Text
			if g.options["escaped"] {
				text = escape(text)
			}
			archive.Files = append(archive.Files, txtar.File{Name: "output" + in.name, Data: []byte(text)})
		}
		prefix := ""
		if in.name != "" {
			prefix = in.name[1:] + " "
		}
		reports.WriteString(report(prefix, o))
	}
	archive.Files = append(archive.Files, txtar.File{Name: "report", Data: []byte(reports.String())})
	return txtar.Format(&archive)
}

func unescape(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\e`, "\x1b", `\r`, "\r", `\0`, "\x00", "\\\n", "").Replace(text)
}

func escape(text string) string {
	text = strings.NewReplacer(`\`, `\\`, "\x1b", `\e`, "\r", `\r`, "\x00", `\0`).Replace(text)
	if !strings.HasSuffix(text, "\n") {
		text += "\\\n"
	}
	return text
}
