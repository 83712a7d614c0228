package components_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest"
)

// corpus returns the texts of real tool outputs by file, from the folder
// CONTEXT_GURU_DATA names or the one beside the repository.
func corpus(t *testing.T) map[string]string {
	t.Helper()
	root := os.Getenv("CONTEXT_GURU_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "data")
	}
	root = filepath.Join(root, "tool-outputs")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no tool outputs in", root)
	}
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(root, name)
		texts[relative] = string(text)
		return err
	})
	if err != nil || len(texts) == 0 {
		t.Fatalf("%d tool outputs in %s: %v", len(texts), root, err)
	}
	return texts
}

func TestCorpusOfToolOutputs(t *testing.T) {
	t.Parallel()
	texts := corpus(t)
	pipelines := map[string]func() *pipeline.Pipeline{"all": func() *pipeline.Pipeline { return chain(t) }}
	for _, spec := range components.All() {
		pipelines[spec.Name] = func() *pipeline.Pipeline { return pipeline.New(pipelinetest.Settings(t, spec)) }
	}
	for name, fresh := range pipelines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acted, before, after := 0, 0, 0
			for file, text := range texts {
				transcript := pipelinetest.Texts(text, text)
				outcomes := pipelinetest.Run(t, fresh(), transcript)
				if diff := pipelinetest.DiffOutcomes(outcomes, pipelinetest.Run(t, fresh(), transcript)); diff != "" {
					t.Errorf("%s: decided differently the second time:\n%s", file, diff)
				}
				pipelinetest.CheckNeverWorse(t, transcript, outcomes, pipelinetest.Words{})
				pipelinetest.CheckRestore(t, transcript, outcomes, pipelinetest.Keys(t), sameText)
				pipelinetest.CheckIdempotent(t, fresh(), transcript, true)
				if v := outcomes[0].Pick(true); v != nil {
					checkErrorsStay(t, file, text, v.Text)
				}
				for _, o := range outcomes {
					if o.Pick(true) != nil {
						acted++
					}
					before += o.Original.N
					after += o.Tokens(true)
				}
			}
			t.Logf("%d of %d outputs, every file sent twice: %d -> %d tokens (%.1f %% saved)",
				acted, 2*len(texts), before, after, 100*float64(before-after)/float64(before))
		})
	}
}

var (
	terminalCode = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
	admitted     = regexp.MustCompile(`(?m)^\.\.\. \(\d+ lines? omitted\).*, (?:(\d+) of them reports? |which reports )`)
)

// checkErrorsStay wants every different line that the judge calls an error to
// be in the view, or to be admitted by a note.
func checkErrorsStay(t *testing.T, file, text, view string) {
	t.Helper()
	shown := map[string]bool{}
	var cut []string
	for line := range strings.Lines(view) {
		line = strings.TrimRight(line, "\r\n")
		shown[line] = true
		if strings.Contains(line, "...[cut ") {
			cut = append(cut, line)
		}
	}
	missing, example := map[string]bool{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(terminalCode.ReplaceAllString(line, ""), "\r\n")
		if pipelinetest.ErrorLine(line) && !shown[line] && !shown[strings.TrimSpace(line)] && !cutOpenly(line, cut) {
			missing[line], example = true, line
		}
	}
	told := 0
	for _, found := range append(admitted.FindAllStringSubmatch(view, -1), cutLine.FindAllStringSubmatch(view, -1)...) {
		if strings.Contains(found[0], "...[cut ") && !strings.Contains(found[0], ", with ") {
			continue
		}

		n, err := strconv.Atoi(found[1])
		if err != nil {
			n = 1
		}
		told += n
	}
	// A compacted document is one line; its literals are checked elsewhere.
	if len(missing) > told && pipelinetest.SameJSON(text, view) != nil {
		t.Errorf("%s: %d lines with errors are hidden, %d are told of, for example %.200q", file, len(missing), told, example)
	}
}

// cutLine is what stands for the middle of a line.
var cutLine = regexp.MustCompile(`\.\.\.\[cut \d+ chars(?: of line \d+)?(?:, with (?:an error|(\d+) mentions of errors))?\]\.\.\.`)

// cutOpenly reports whether one of the cut lines holds a line, or is what is
// left of it and shows an error.
func cutOpenly(line string, cut []string) bool {
	for _, view := range cut {
		if shows(view, strings.TrimSpace(line)) {
			return true
		}
		rest, found := line, true
		for i, piece := range cutLine.Split(view, -1) {
			at := strings.Index(rest, piece)
			if found = at >= 0 && (i > 0 || at == 0); !found {
				break
			}
			rest = rest[at+len(piece):]
		}
		if found && pipelinetest.ErrorLine(cutLine.ReplaceAllString(view, " ")) {
			return true
		}
	}
	return false
}

// shows reports whether a view has the part of a line that reports an error,
// blanks aside, which a document loses.
func shows(view, line string) bool {
	const part = 40
	view = strings.ReplaceAll(view, " ", "")
	for at := 0; at < len(line); at += part / 2 {
		if piece := line[at:min(at+part, len(line))]; pipelinetest.ErrorLine(piece) && strings.Contains(view, strings.ReplaceAll(piece, " ", "")) {
			return true
		}
	}
	return false
}
