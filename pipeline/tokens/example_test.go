package tokens_test

import (
	"fmt"

	"github.com/contextguru/contextguru/pipeline/tokens"
)

func Example() {
	counters := tokens.New() // one per process
	for _, model := range []string{"gpt-4o", "gpt-4", "claude-opus-4-5"} {
		counter, err := counters.ForModel(model)
		if err != nil {
			fmt.Println(err)
			return
		}
		text := "The quick brown fox jumps over the lazy dog, doesn't it? 敏捷的棕色狐狸"
		fmt.Println(model, counter.Encoding().Name, counter.Count(text), counter.AtLeast(text, 10))
	}
	// Output:
	// gpt-4o o200k_base {21 false} true
	// gpt-4 cl100k_base {28 false} true
	// claude-opus-4-5 o200k_base {21 true} true
}
