package mask

import (
	"encoding/json"

	"github.com/contextguru/contextguru/components/internal/wrapper"
	"github.com/contextguru/contextguru/pipeline"
)

// outlook is what all outputs are masked by.
type outlook struct {
	// firstKept is the index of the first output that stays for its age.
	firstKept int
	// referred holds the outputs that others refer to, and the last that does.
	referred map[int]int
}

func (m masker) look(v pipeline.View) outlook {
	var turns []int
	referred, reads := map[int]int{}, map[string]int{}
	for o := range v.Outputs() {
		turns = append(turns, o.Turn)
		file := fileOf(o.Args)
		if file == "" {
			continue
		}
		read, known := reads[file]
		if known && o.Tokens < maxReference {
			if text, ok := v.Text(o); ok && wrapper.RefersBack(text) {
				referred[read] = o.Index
				continue
			}
		}
		reads[file] = o.Index
	}
	first := len(turns)
	for kept := 0; kept < m.KeepRecent && first > 0; {
		for turn := turns[first-1]; first > 0 && turns[first-1] == turn; first-- {
			kept++
		}
	}
	return outlook{first, referred}
}

const (
	// maxReference is the size of the longest answer that may be a reference, in
	// tokens; it is a sentence or two.
	maxReference = 100
	// maxArgs is the longest call of a reading that is looked into.
	maxArgs = 1 << 14
)

// fileOf returns the file a call names.
func fileOf(args []byte) string {
	var call struct {
		FilePath string `json:"file_path"`
		Path     string `json:"path"`
		File     string `json:"filePath"`
	}
	if len(args) > maxArgs || json.Unmarshal(args, &call) != nil {
		return ""
	}
	return call.FilePath + call.Path + call.File
}
