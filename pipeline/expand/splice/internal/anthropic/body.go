package anthropic

import (
	"github.com/contextguru/contextguru/pipeline/expand/round"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/codec"
	"github.com/contextguru/contextguru/pipeline/expand/splice/internal/scan"
)

// Body implements codec.Body.
type Body struct{}

// Read implements codec.Body.
func (Body) Read(body []byte, tool string) (round.Turn, bool) {
	list := scan.Path(body, "content")
	if !scan.Is(scan.Path(body, "type"), "message") || len(list) == 0 || list[0] != '[' {
		return round.Turn{}, false
	}
	s := codec.State{Most: 2 * len(body)}
	var t turn
	it := scan.Open(list, 0)
	for it.Next() {
		var c content
		c.begin(&s, it.Value)
		t.add(&s, &c, mine(it.Value, tool))
	}
	if it.Bad() {
		return round.Turn{}, false
	}
	r := t.result()
	r.ID = scan.Text(scan.Inner(scan.Path(body, "id")))
	r.Stop = scan.Text(scan.Inner(scan.Path(body, "stop_reason")))
	r.Usage = readUsage(scan.Path(body, "usage"))
	r.Complete = r.Stop != ""
	return r, true
}

func mine(block []byte, tool string) bool {
	return scan.Is(scan.Path(block, "type"), "tool_use") && scan.Is(scan.Path(block, "name"), tool)
}

// Merge implements codec.Body.
func (Body) Merge(bodies [][]byte, tool string, let bool) []byte {
	var (
		blocks  [][]byte
		left    bool
		output  int64
		last    = len(bodies) - 1
		merged  = bodies[last]
		message round.Usage
	)
	for i, body := range bodies {
		it := scan.Open(scan.Path(body, "content"), 0)
		for it.Next() {
			if mine(it.Value, tool) && (!let || i < last) {
				left = true
				continue
			}
			blocks = append(blocks, it.Value)
		}
		message = readUsage(scan.Path(body, "usage"))
		output += message.Output
	}
	if left || last > 0 {
		merged = scan.Set(merged, "content", scan.Join(nil, blocks))
	}
	if last > 0 {
		merged = scan.Set(merged, "usage", mergeUsage(scan.Path(merged, "usage"), message, message, output))
		if id := scan.Path(bodies[0], "id"); id != nil {
			merged = scan.Set(merged, "id", id)
		}
	}
	return merged
}
