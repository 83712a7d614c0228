package stack

// Stats is the answer of GET /stats, in its published form.
type Stats struct {
	Totals         Totals      `json:"totals"`
	Components     []Component `json:"components"`
	TopPassthrough []Component `json:"top_passthrough"`
}

// Totals are the sums over all requests.
type Totals struct {
	Requests     int64            `json:"requests"`
	Verdicts     map[string]int64 `json:"verdicts"`
	Reasons      map[string]int64 `json:"passthrough_reasons"`
	LosslessOnly map[string]int64 `json:"lossless_only"`
	Bytes        BeforeAfter      `json:"bytes"`
	TokensSent   BeforeAfter      `json:"tokens_sent"`
	TokensUnique BeforeAfter      `json:"tokens_unique"`
	Markers      int64            `json:"markers_sent"`
	MemoMisses   int64            `json:"memo_misses"`
}

// Component are the sums of one component.
type Component struct {
	Component   string           `json:"component"`
	Acts        int64            `json:"acts"`
	Passthrough int64            `json:"passthrough"`
	Faults      int64            `json:"faults"`
	Tokens      BeforeAfter      `json:"tokens"`
	Refusals    map[string]int64 `json:"refusals"`
}

// BeforeAfter is a sum before and after rewriting.
type BeforeAfter struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}
